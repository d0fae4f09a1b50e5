// The pipeline: blocks in order -> workers -> rows in order.
//
// Workers read blocks as if each stood inside the list of events, at a border. The calling thread takes their rows
// in the order of the file as long as that was true; where it was not (the first block, the last, another document,
// damage at a border), it feeds the block's text to the Documents itself. So the outcome is that of reading in one go,
// with any number of threads.
#include <condition_variable>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>

#include "base/parallel.h"
#include "import/chrome_json/block.h"
#include "import/chrome_json/chrome_json.h"
#include "import/chrome_json/document.h"
#include "import/chrome_json/exact_tables.h"
#include "import/chrome_json/scan.h"

namespace stepscope::chrome_json {
namespace {

// Text in which nothing ends (a string without its quote in a file without any other) is given up at this size.
constexpr std::size_t kLongestUnfinished = 64 << 20;

struct Task {
  Block block;
  BlockRows rows;
  ListResult result;
  bool is_read = false;  // rows and result are there
  bool is_queued = false;
};

void read_block(Task& task, Fragment& spare) {
  task.rows = BlockRows();
  lend_columns(task.rows.fragment, spare);
  task.result =
      read_event_list(task.block.begin(), task.block.end(), task.block.offset, task.block.text_end, task.rows);
  take_columns_back(task.rows.fragment, spare);
}

// Threads that read blocks. With none, wait_for() reads.
class Workers {
 public:
  explicit Workers(unsigned count) {
    try {
      try {
        for (unsigned i = 0; i < count; ++i) threads_.emplace_back([this] { run(); });
      } catch (const std::system_error&) {
        // A limit of the system: those that started do the work; with none, wait_for() does.
      }
    } catch (const std::system_error&) {
      // A limit of the system: those that started do the work, or wait_for() does.
    }
  }
  ~Workers() {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    wake_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  void submit(Task& task) {
    task.is_read = false;
    task.is_queued = !threads_.empty();
    if (!task.is_queued) return;
    {
      const std::lock_guard lock(mutex_);
      queue_.push_back(&task);
    }
    wake_.notify_one();
  }

  void wait_for(Task& task) {
    if (task.is_queued) {
      std::unique_lock lock(mutex_);
      done_.wait(lock, [&] { return task.is_read; });
    } else {
      read_block(task, spare_);
      task.is_read = true;
    }
  }

 private:
  void run() {
    Fragment spare;
    std::unique_lock lock(mutex_);
    for (;;) {
      wake_.wait(lock, [this] { return stop_ || !queue_.empty(); });
      if (stop_) return;
      Task& task = *queue_.front();
      queue_.pop_front();
      lock.unlock();
      read_block(task, spare);
      lock.lock();
      task.is_read = true;
      done_.notify_one();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_, done_;
  std::deque<Task*> queue_;
  bool stop_ = false;
  Fragment spare_;
  std::vector<std::thread> threads_;
};

class FileReader {
 public:
  FileReader(ByteSource& source, const std::string& path, const ReadOptions& options, std::size_t block_bytes)
      : source_(source), options_(options), blocks_(source, block_bytes), documents_(path) {}

  Result<std::vector<Trace>> read() {
    const unsigned threads = options_.threads == 0 ? available_threads() : options_.threads;
    if (Status done = read_blocks(threads); !done) return done.error();
    if (!unfinished_.empty()) feed_again(TextEnd::kFile);
    source_.add_notes(documents_.file_notes());
    return documents_.finish(blocks_.text_bytes(), options_.threads);
  }

 private:
  Status read_blocks(unsigned threads) {
    std::deque<std::unique_ptr<Task>> in_flight, idle;
    Workers workers(threads > 1 ? threads : 0);
    const std::size_t ahead = threads > 1 ? 2 * threads + 2 : 1;
    for (bool more = true; more || !in_flight.empty();) {
      while (more && in_flight.size() < ahead) {
        if (idle.empty()) idle.push_back(std::make_unique<Task>());
        std::unique_ptr<Task> task = std::move(idle.back());
        idle.pop_back();
        Result<bool> got = blocks_.next(task->block);
        if (!got) return got.error();
        more = *got;
        if (!more) break;
        workers.submit(*task);
        in_flight.push_back(std::move(task));
      }
      if (in_flight.empty()) break;
      Task& task = *in_flight.front();
      workers.wait_for(task);
      consume(task);
      idle.push_back(std::move(in_flight.front()));
      in_flight.pop_front();
      if (options_.progress) options_.progress(source_.stored_bytes_read(), source_.stored_bytes_total());
    }
    return Done{};
  }

  void consume(Task& task) {
    const Block& block = task.block;
    if (!unfinished_.empty()) return feed_unfinished(block);
    std::size_t done = 0;
    if (documents_.in_event_list()) {
      done = static_cast<std::size_t>(task.result.stop - block.begin());
      documents_.take(std::move(task.rows), task.result.end, block.offset + done);
    }
    const bool needs_more = documents_.in_event_list() && task.result.end == ListEnd::kNeedMore && done > 0;
    if (done < block.size && !needs_more) {
      done += documents_.feed({block.begin() + done, block.size - done}, block.offset + done, block.text_end);
    }
    if (done < block.size) keep_unfinished({block.begin() + done, block.size - done}, block.offset + done);
  }

  void keep_unfinished(std::string_view text, std::uint64_t offset) {
    unfinished_.assign(text);
    unfinished_offset_ = offset;
    try_at_bytes_ = text.size();
  }

  // Tries again only when the text has doubled, so that a huge event costs no more than twice its size.
  void feed_unfinished(const Block& block) {
    unfinished_.append(block.begin(), block.size);
    if (unfinished_.size() >= 2 * try_at_bytes_ || block.text_end == TextEnd::kFile) feed_again(block.text_end);
  }

  void feed_again(TextEnd text_end) {
    const std::size_t size = unfinished_.size();
    unfinished_.append(kTextPadding, '\0');
    std::size_t done = documents_.feed({unfinished_.data(), size}, unfinished_offset_, text_end);
    unfinished_.resize(size);
    if (done == 0 && size >= kLongestUnfinished) {
      documents_.drop(unfinished_, unfinished_offset_);
      done = size;
    }
    unfinished_.erase(0, done);
    unfinished_offset_ += done;
    try_at_bytes_ = unfinished_.size();
  }

  ByteSource& source_;
  const ReadOptions& options_;
  BlockSource blocks_;
  Documents documents_;
  std::string unfinished_;
  std::uint64_t unfinished_offset_ = 0;
  std::size_t try_at_bytes_ = 0;
};

}  // namespace

bool recognises(std::string_view prefix) {
  std::size_t at = prefix.starts_with("\xef\xbb\xbf") ? 3 : 0;
  while (at < prefix.size() && (is_space(prefix[at]) || prefix[at] == '\0')) ++at;
  if (at < prefix.size() && prefix[at] == '{') return true;
  if (at < prefix.size() && prefix[at] == '[') {  // lists of anything but objects are no traces
    do ++at;
    while (at < prefix.size() && is_space(prefix[at]));
    return at == prefix.size() || prefix[at] == '{' || prefix[at] == ']';
  }
  return prefix.find("\"traceEvents\"") != std::string_view::npos || prefix.find("{\"ph\":") != std::string_view::npos;
}

Result<std::vector<Trace>> read(ByteSource& source, const std::string& path, const ReadOptions& options) {
  return read_in_blocks(source, path, options, kBlockBytes);
}

Result<std::vector<Trace>> read_in_blocks(ByteSource& source, const std::string& path, const ReadOptions& options,
                                          std::size_t block_bytes) {
  return FileReader(source, path, options, block_bytes).read();
}

}  // namespace stepscope::chrome_json

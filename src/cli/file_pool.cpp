// One file a worker, since files are independent and a worker of its own wastes nothing at the ends of files; with
// fewer files than cores each file gets several threads.
//
// Memory: a trace takes half a byte for each byte of JSON and its facts a third (docs/performance.md); gzip shrinks
// traces to a tenth or less (13 and 9 measured, at its levels 6 and 1). A file starts when its estimate fits into what
// is left of 80 % of the memory available at the start; one that alone is too large waits until it is alone. So 1,024
// ranks of 200 MB need no more than a few of them do.
#include "cli/file_pool.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <optional>

#include "base/parallel.h"
#include "cli/console.h"

namespace stepscope {
namespace {

constexpr double kMemoryOfText = 0.5 + 1.0 / 3;
constexpr double kTextOfGzip = 13;
constexpr std::uint64_t kReadingBytes = std::uint64_t{32} << 20;  // windows and buffers of one reader
constexpr double kUsedOfAvailable = 0.8;

std::uint64_t stored_size(const std::string& path) {
  std::error_code failed;
  const std::uintmax_t size = std::filesystem::file_size(path, failed);
  return failed ? 0 : size;
}

// Lets a file in when there is memory for it.
class MemoryGate {
 public:
  explicit MemoryGate(std::uint64_t limit_bytes) : limit_bytes_(limit_bytes) {}
  void enter(std::uint64_t bytes) {
    std::unique_lock lock(mutex_);
    left_.wait(lock, [&] { return inside_count_ == 0 || used_bytes_ + bytes <= limit_bytes_; });
    ++inside_count_;
    used_bytes_ += bytes;
  }
  void leave(std::uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    --inside_count_;
    used_bytes_ -= bytes;
    left_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable left_;
  std::uint64_t limit_bytes_, used_bytes_ = 0;
  std::size_t inside_count_ = 0;
};

// "reading 1,024 files: 312 done, 210 of 693 MB (30 %), 55 MB/s, 9 s left", wiped when reading ends.
class PoolProgress {
 public:
  explicit PoolProgress(const std::vector<std::string>& files)
      : is_shown_(Console::stderr_is_terminal()), file_count_(files.size()), read_bytes_(files.size()) {
    for (const std::string& file : files) total_bytes_ += stored_size(file);
  }
  PoolProgress(const PoolProgress&) = delete;
  PoolProgress& operator=(const PoolProgress&) = delete;
  ~PoolProgress() {
    if (is_drawn_) draw("\r\x1b[K");
  }

  void update(std::size_t index, std::uint64_t stored_bytes) {
    if (!is_shown_) return;
    const std::lock_guard lock(mutex_);
    done_bytes_ += stored_bytes - read_bytes_[index];
    read_bytes_[index] = stored_bytes;
    show();
  }
  void end(std::size_t index, std::uint64_t stored_bytes) {
    update(index, stored_bytes);
    const std::lock_guard lock(mutex_);
    ++done_count_;
  }

 private:
  void show() {
    using Seconds = std::chrono::duration<double>;
    const auto now = std::chrono::steady_clock::now();
    const double elapsed = Seconds(now - start_).count();
    // Half a second: less is over before it can be read.
    if (elapsed < 0.5 || Seconds(now - last_).count() < 0.1) return;
    last_ = now;
    const double done = static_cast<double>(done_bytes_), total = static_cast<double>(total_bytes_);
    std::string text = fmt::format("\rreading {} files: {} done, {:.0f} of {:.0f} MB, {:.0f} MB/s", file_count_,
                                   done_count_, done / 1e6, total / 1e6, done / 1e6 / elapsed);
    if (done > 0 && total > done) text += ", " + time_left(elapsed * (total - done) / done) + " left";
    draw(text + "\x1b[K");
    is_drawn_ = true;
  }
  static std::string time_left(double seconds) {
    if (seconds < 100) return fmt::format("{:.0f} s", seconds);
    return seconds < 6000 ? fmt::format("{:.0f} min", seconds / 60) : fmt::format("{:.1f} h", seconds / 3600);
  }
  static void draw(const std::string& text) {
    // Progress that cannot be shown is no reason to stop.
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
  }

  std::mutex mutex_;
  bool is_shown_, is_drawn_ = false;
  std::size_t file_count_, done_count_ = 0;
  std::uint64_t total_bytes_ = 0, done_bytes_ = 0;
  std::vector<std::uint64_t> read_bytes_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now(), last_ = start_;
};

// A number in a file of the kernel's, after `key` if one is given.
std::optional<std::uint64_t> number_in(const char* path, std::string_view key = {}) {
  std::ifstream file(path);
  std::string word;
  while (!key.empty() && file >> word && word != key) {
  }
  std::uint64_t number = 0;
  if (file >> number) return number;
  return std::nullopt;
}

}  // namespace

std::uint64_t estimate_memory_bytes(const std::string& path) {
  const std::uint64_t stored = stored_size(path);
  std::ifstream file(path, std::ios::binary);
  const bool is_gzip = file.get() == 0x1f && file.get() == 0x8b;
  const double text = static_cast<double>(stored) * (is_gzip ? kTextOfGzip : 1);
  return kReadingBytes + static_cast<std::uint64_t>(text * kMemoryOfText);
}

std::uint64_t available_memory_bytes() {
  constexpr std::uint64_t kUnknown = std::uint64_t{4} << 30;
  const auto machine_kb = number_in("/proc/meminfo", "MemAvailable:");
  std::uint64_t available = machine_kb ? *machine_kb * 1024 : kUnknown;
  // In a container this is the container's own group; "max" is no number.
  const auto limit = number_in("/sys/fs/cgroup/memory.max"), used = number_in("/sys/fs/cgroup/memory.current");
  if (limit && used) available = std::min(available, *limit > *used ? *limit - *used : 0);
  return available;
}

void for_each_file(const std::vector<std::string>& files, unsigned jobs,
                   const std::function<void(const FileTurn&)>& work) {
  const unsigned cores = available_threads();
  const auto workers = static_cast<unsigned>(std::min<std::size_t>(jobs == 0 ? cores : jobs, files.size()));
  if (workers == 0) return;
  const unsigned threads = std::max(1U, cores / workers);
  MemoryGate gate(static_cast<std::uint64_t>(static_cast<double>(available_memory_bytes()) * kUsedOfAvailable));
  PoolProgress progress(files);
  parallel_for(files.size(), workers, [&](std::size_t index) {
    const bool is_file = files[index] != "-";
    const std::uint64_t needed = is_file ? estimate_memory_bytes(files[index]) : kReadingBytes;
    gate.enter(needed);
    work({index, threads, [&](std::uint64_t stored_bytes) { progress.update(index, stored_bytes); }});
    progress.end(index, is_file ? stored_size(files[index]) : 0);
    gate.leave(needed);
  });
}

}  // namespace stepscope

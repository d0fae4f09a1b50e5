// A bounded ring of windows between the reading thread and the user.
#include "import/bytes/threaded_source.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace stepscope {
namespace {

constexpr std::size_t kWindowBytes = 1 << 20;
constexpr std::size_t kWindowsAhead = 4;

class ThreadedSource final : public ByteSource {
 public:
  explicit ThreadedSource(std::unique_ptr<ByteSource> inner)
      : inner_(std::move(inner)), total_(inner_->stored_bytes_total()) {}
  ~ThreadedSource() override {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    room_.notify_all();
    if (reader_.joinable()) reader_.join();
  }

  bool start() {
    try {
      reader_ = std::thread([this] { run(); });
    } catch (const std::system_error&) {
      return false;
    }
    return true;
  }
  std::unique_ptr<ByteSource> take_inner() { return std::move(inner_); }

  Result<std::size_t> read(char* into, std::size_t size) override {
    if (used_ == current_.size() && !next_window()) {
      if (error_) return *error_;
      return std::size_t{0};
    }
    const std::size_t part = std::min(size, current_.size() - used_);
    std::memcpy(into, current_.data() + used_, part);
    used_ += part;
    return part;
  }
  std::uint64_t stored_bytes_read() const override { return stored_bytes_.load(std::memory_order_relaxed); }
  std::optional<std::uint64_t> stored_bytes_total() const override { return total_; }
  void add_notes(Notes& notes) const override { inner_->add_notes(notes); }

 private:
  bool next_window() {
    std::unique_lock lock(mutex_);
    if (current_.capacity() > 0) spare_.push_back(std::move(current_));
    current_.clear();
    used_ = 0;
    filled_.wait(lock, [this] { return !windows_.empty() || ended_; });
    if (windows_.empty()) return false;
    current_ = std::move(windows_.front());
    windows_.pop_front();
    room_.notify_one();
    return true;
  }

  std::vector<char> take_spare() {
    std::unique_lock lock(mutex_);
    room_.wait(lock, [this] { return windows_.size() < kWindowsAhead || stop_; });
    if (spare_.empty()) return {};
    std::vector<char> window = std::move(spare_.back());
    spare_.pop_back();
    return window;
  }

  void run() {
    for (bool more = true; more;) {
      std::vector<char> window = take_spare();
      window.resize(kWindowBytes);
      Result<std::size_t> got = read_fully(*inner_, window.data(), window.size());
      stored_bytes_.store(inner_->stored_bytes_read(), std::memory_order_relaxed);
      const std::lock_guard lock(mutex_);
      more = got.has_value() && *got == kWindowBytes && !stop_;
      if (got) {
        window.resize(*got);
        if (!window.empty()) windows_.push_back(std::move(window));
      } else {
        error_ = got.error();
      }
      ended_ = !more;
      filled_.notify_one();
    }
  }

  std::unique_ptr<ByteSource> inner_;
  std::optional<std::uint64_t> total_;
  std::atomic<std::uint64_t> stored_bytes_{0};
  std::vector<char> current_;
  std::size_t used_ = 0;

  std::mutex mutex_;
  std::condition_variable filled_, room_;
  std::deque<std::vector<char>> windows_;
  std::vector<std::vector<char>> spare_;
  std::optional<Error> error_;
  bool ended_ = false;
  bool stop_ = false;
  std::thread reader_;
};

}  // namespace

std::unique_ptr<ByteSource> read_beside(std::unique_ptr<ByteSource> inner) {
  auto beside = std::make_unique<ThreadedSource>(std::move(inner));
  if (beside->start()) return beside;
  return beside->take_inner();  // no thread to be had: read in the caller's
}

}  // namespace stepscope

// A file descriptor, perhaps behind zlib, and the life of its temporary name.
//
// The compressor's level is 3: it makes a recording of PyTorch 13 times smaller at 410 MB/s, where zlib's usual 6 makes
// it 17 times smaller at 195 and torch's own 9 18 times at 56 (zlib 1.2.13, one core of an EPYC). Data is not forced to
// the disk (fsync): the promise is about killed programs and full disks, not about power cuts, and a training process
// must not wait for a disk.
#include "export/text_sink.h"

#define ZLIB_CONST  // next_in takes const bytes
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <system_error>
#include <utility>

namespace stepscope {
namespace {

Error system_error(const std::string& path, int number) {
  ErrorCode code = ErrorCode::kIo;
  if (number == ENOENT || number == ENOTDIR) code = ErrorCode::kNotFound;
  if (number == EACCES || number == EPERM || number == EROFS) code = ErrorCode::kPermission;
  return {code, "cannot be written: " + std::generic_category().message(number), path};
}

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }

  [[nodiscard]] bool is_open() const { return number_ >= 0; }
  // 0, or errno.
  [[nodiscard]] int write(std::string_view text) const {
    while (!text.empty()) {
      const ssize_t done = ::write(number_, text.data(), text.size());
      if (done < 0 && errno == EINTR) continue;
      if (done < 0) return errno;
      text.remove_prefix(static_cast<std::size_t>(done));
    }
    return 0;
  }
  // Network file systems report only here that there was no room.
  [[nodiscard]] int close() { return ::close(std::exchange(number_, -1)) == 0 || errno == EINTR ? 0 : errno; }

 private:
  int number_;
};

class Compressor {
 public:
  Compressor() {
    constexpr int kLevel = 3;
    constexpr int kGzipWindow = 15 + 16;
    constexpr int kMemoryLevel = 9;
    is_ready_ = deflateInit2(&stream_, kLevel, Z_DEFLATED, kGzipWindow, kMemoryLevel, Z_DEFAULT_STRATEGY) == Z_OK;
  }
  Compressor(const Compressor&) = delete;
  Compressor& operator=(const Compressor&) = delete;
  ~Compressor() {
    if (is_ready_) deflateEnd(&stream_);
  }

  // 0, or errno.
  [[nodiscard]] int write(std::string_view text, bool is_last, const Descriptor& file) {
    if (!is_ready_) return ENOMEM;
    do {
      const std::size_t taken = std::min<std::size_t>(text.size(), std::size_t{1} << 30);  // zlib counts in 32 bits
      stream_.next_in = reinterpret_cast<const Bytef*>(text.data());
      stream_.avail_in = static_cast<uInt>(taken);
      text.remove_prefix(taken);
      if (const int wrong = drain(is_last && text.empty() ? Z_FINISH : Z_NO_FLUSH, file); wrong != 0) return wrong;
    } while (!text.empty());
    return 0;
  }

 private:
  int drain(int flush, const Descriptor& file) {
    do {
      stream_.next_out = reinterpret_cast<Bytef*>(bytes_.data());
      stream_.avail_out = static_cast<uInt>(bytes_.size());
      if (deflate(&stream_, flush) == Z_STREAM_ERROR) return EIO;
      if (const int wrong = file.write({bytes_.data(), bytes_.size() - stream_.avail_out}); wrong != 0) return wrong;
    } while (stream_.avail_out == 0);
    return 0;
  }

  z_stream stream_{};
  bool is_ready_ = false;
  std::array<char, std::size_t{256} << 10> bytes_{};
};

Status fill(Descriptor& file, const std::string& path, const std::function<Status(const TextSink&)>& write) {
  const std::unique_ptr<Compressor> compressor = path.ends_with(".gz") ? std::make_unique<Compressor>() : nullptr;
  const TextSink sink = [&](std::string_view piece) -> Status {
    const int wrong = compressor ? compressor->write(piece, false, file) : file.write(piece);
    if (wrong != 0) return system_error(path, wrong);
    return Done{};
  };
  if (Status written = write(sink); !written) return written;
  int wrong = compressor ? compressor->write({}, true, file) : 0;
  if (wrong == 0) wrong = file.close();
  if (wrong != 0) return system_error(path, wrong);
  return Done{};
}

// Where a link at `path` points, so that the file is replaced and not the link.
std::string resolved(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr), &std::free);
  return real ? std::string(real.get()) : path;
}

// Unique among the processes of all machines that share the folder as far as names can be: process, time, count.
std::string temporary_name(const std::string& path) {
  static std::atomic<unsigned> count{0};
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return path + ".tmp-" + std::to_string(::getpid()) + "-" + std::to_string(now.tv_nsec) + "-" +
         std::to_string(count.fetch_add(1));
}

// Temporary files that exist or are about to. A handler of signals reads this at any moment, so it is a few atomic
// pointers and no lock; a file that finds no place is only not removed by a signal.
std::array<std::atomic<const char*>, 16> unfinished;

class UnfinishedFile {
 public:
  explicit UnfinishedFile(const std::string& path) : path_(std::make_unique<char[]>(path.size() + 1)) {
    path.copy(path_.get(), path.size());
    for (std::atomic<const char*>& place : unfinished) {
      const char* free = nullptr;
      if (!place.compare_exchange_strong(free, path_.get())) continue;
      place_ = &place;
      return;
    }
  }
  UnfinishedFile(const UnfinishedFile&) = delete;
  UnfinishedFile& operator=(const UnfinishedFile&) = delete;
  ~UnfinishedFile() {
    const char* own = path_.get();
    // Taken away: a handler is at it, perhaps in another thread, and the process ends.
    if (place_ != nullptr && !place_->compare_exchange_strong(own, nullptr)) (void)path_.release();
  }

 private:
  std::unique_ptr<char[]> path_;
  std::atomic<const char*>* place_ = nullptr;
};

}  // namespace

void remove_unfinished_files() noexcept {
  for (std::atomic<const char*>& place : unfinished) {
    if (const char* path = place.exchange(nullptr); path != nullptr) (void)::unlink(path);
  }
}

Status write_text_file(const std::string& path, const std::function<Status(const TextSink&)>& write) {
  struct stat found {};
  const bool exists = ::stat(path.c_str(), &found) == 0;
  if (exists && S_ISDIR(found.st_mode)) return system_error(path, EISDIR);
  if (exists && !S_ISREG(found.st_mode)) {
    Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    return file.is_open() ? fill(file, path, write) : Status(system_error(path, errno));
  }
  // Renaming asks only the folder for permission; a file that is protected stays.
  if (exists && ::access(path.c_str(), W_OK) != 0) return system_error(path, errno);
  const std::string final_path = exists ? resolved(path) : path;
  const std::string temporary = temporary_name(final_path);
  const UnfinishedFile unfinished_file(temporary);  // before it exists, so that no moment is missed
  constexpr mode_t kModeBeforeUmask = 0666;
  Descriptor file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kModeBeforeUmask));
  if (!file.is_open()) return system_error(path, errno);
  Status written = fill(file, path, write);
  if (written && std::rename(temporary.c_str(), final_path.c_str()) != 0) written = system_error(path, errno);
  if (!written) ::unlink(temporary.c_str());
  return written;
}

}  // namespace stepscope

// Records to chunks to the file, with everything that can go wrong on the way: see capture_file.h.
//
// write(2) on a descriptor of our own: no stream buffers that a fork could write twice, no locks. A chunk that could
// not be written whole is cut off again, so that a full disk leaves whole chunks; the space that this frees is tried
// for the end record. SIGXFSZ, which a file-size limit sends, is held back around the write: it would kill the
// training. fsync was rejected: it stalls for seconds on network disks, and a killed process's pages are written all
// the same.
#include "capture/capture_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <new>
#include <utility>

#include "base/string_pool.h"
#include "wire/chunk.h"
#include "wire/record_encoder.h"

namespace stepscope {
namespace {

// Of max_file_bytes, for what a capped capture still has to say: its ledger, remarks, windows and the end.
constexpr std::uint64_t kReservedBytes = 64 << 10;
// Texts kept to know them again. Past it all are forgotten and written anew: memory stays flat in a run that makes new
// names for days, and the file has some of them twice.
constexpr std::size_t kMostInternedBytes = std::size_t{32} << 20;

Error system_error(const std::string& path, const char* what, int number) {
  const ErrorCode code = number == EEXIST                      ? ErrorCode::kInvalidArgument
                         : number == EACCES || number == EPERM ? ErrorCode::kPermission
                         : number == ENOENT                    ? ErrorCode::kNotFound
                                                               : ErrorCode::kIo;
  return {code, std::string(what) + ": " + std::strerror(number), path};
}

// Holds SIGXFSZ back while a write may raise it.
class NoSizeSignal {
 public:
  NoSizeSignal() {
    sigemptyset(&only_);
    sigaddset(&only_, SIGXFSZ);
    sigset_t pending;
    was_pending_ = sigpending(&pending) == 0 && sigismember(&pending, SIGXFSZ) == 1;
    held_ = pthread_sigmask(SIG_BLOCK, &only_, &before_) == 0;
  }
  ~NoSizeSignal() {
    if (!held_) return;
    const int number = errno;
    const timespec now{};
    if (!was_pending_) sigtimedwait(&only_, nullptr, &now);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    errno = number;
  }
  NoSizeSignal(const NoSizeSignal&) = delete;
  NoSizeSignal& operator=(const NoSizeSignal&) = delete;

 private:
  sigset_t only_{}, before_{};
  bool was_pending_ = false;
  bool held_ = false;
};

// 0, or the errno that ended it.
int write_all(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(written));
    } else if (written < 0 && errno != EINTR) {
      return errno;
    } else if (written == 0) {
      return EIO;
    }
  }
  return 0;
}

class CaptureFileOnDisk final : public CaptureFile {
 public:
  CaptureFileOnDisk(std::string path, int descriptor, const CaptureFileOptions& options)
      : path_(std::move(path)), descriptor_(descriptor), options_(options) {}
  ~CaptureFileOnDisk() override { (void)close_descriptor(); }
  CaptureFileOnDisk(const CaptureFileOnDisk&) = delete;
  CaptureFileOnDisk& operator=(const CaptureFileOnDisk&) = delete;

  // The process's own record goes out at once: a capture that ends in the next second still says whose it is.
  Status begin(const CaptureInfo& info) {
    (void)::fstat(descriptor_, &identity_);
    write_bytes(wire::file_header());
    encode(info);
    return flush();
  }

  void on(const CaptureInfo& r) override { add(r); }
  void on(const WireStringDefinition& r) override { add(r); }
  void on(const WireFrameDefinition& r) override { add(r); }
  void on(const WireStackDefinition& r) override { add(r); }
  void on(const WireThread& r) override { add(r); }
  void on(const WireDevice& r) override { add(r); }
  void on(const WireOp& r) override { add(r); }
  void on(const WireSpan& r) override { add(r); }
  void on(const WireCall& r) override { add(r); }
  void on(const WireGpuEvent& r) override { add(r); }
  void on(const WireGraphNode& r) override { add(r); }
  void on(const WireSync& r) override { add(r); }
  void on(const WireOverhead& r) override { add(r); }
  void on(const WireMemory& r) override { add(r); }
  void on(const WireSample& r) override { add(r); }
  void on(const WireCounter& r) override { add(r); }
  void on(const WireWindow& r) override { add_late(r); }
  void on(const WireLedger& r) override { add_late(r); }
  void on(const WireRemark& r) override {
    define_late_text(r.text);
    add_late(r);
  }
  void on(const WireEnd& r) override { add_late(r); }
  void on(const WireMemoryLevel& r) override { add(r); }

  WireString intern(std::string_view text) override;
  Status flush() override;
  Status close(TimeNs now_ns) override;

  [[nodiscard]] Status status() const override { return status_; }
  [[nodiscard]] std::uint64_t file_bytes() const override { return file_bytes_; }
  [[nodiscard]] std::uint64_t record_count() const override { return record_count_ + encoder_.record_count(); }
  [[nodiscard]] std::uint64_t dropped_record_count() const override { return dropped_record_count_; }

 private:
  template <class Record>
  bool add(const Record& record);
  template <class Record>
  void add_late(const Record& record);
  template <class Record>
  void encode(const Record& record);
  void define_late_text(WireString id);
  bool has_room(std::uint64_t bytes);
  void write_bytes(std::string_view bytes);
  [[nodiscard]] bool is_ours(int descriptor) const;
  bool find_again();
  int close_descriptor();
  bool write_chunk();
  void fail(Error error);

  std::string path_;
  int descriptor_;
  struct stat identity_ {};  // of the file
  CaptureFileOptions options_;
  Status status_ = Done{};
  int error_number_ = 0;  // errno behind status_
  bool capped_ = false;
  std::uint64_t file_bytes_ = 0;
  std::uint64_t record_count_ = 0;  // in written chunks
  std::uint64_t dropped_record_count_ = 0;
  wire::RecordEncoder encoder_;
  wire::ChunkEncoder chunks_;
  StringPool texts_;
  std::size_t text_bytes_ = 0;
  WireString forgotten_texts_ = 0;  // id of texts_'s first text, minus 1
  WireString defined_until_ = 0;    // texts up to this one are in the file
};

// The error is set once; what waits in the chunk is lost with it.
void CaptureFileOnDisk::fail(Error error) {
  dropped_record_count_ += encoder_.record_count();
  encoder_.clear();
  if (status_.has_value()) status_ = std::move(error);
}

template <class Record>
void CaptureFileOnDisk::encode(const Record& record) {
  try {
    encoder_.add(record);
    if (encoder_.payload().size() >= wire::kChunkBytes) (void)write_chunk();
  } catch (const std::bad_alloc&) {
    ++dropped_record_count_;
    fail({ErrorCode::kIo, "no memory left for the capture", path_});
  }
}

// More bytes than a record takes, with the header of its chunk.
template <class Record>
std::uint64_t most_bytes_of(const Record&) {
  return 512 + wire::kChunkHeaderBytes;
}
std::uint64_t most_bytes_of(const WireStringDefinition& record) {
  return 512 + wire::kChunkHeaderBytes + record.text.size();
}

// Room for a record of so many bytes, counting what waits as if nothing could be compressed; when that leaves none, the
// chunk is written to see what it really takes.
bool CaptureFileOnDisk::has_room(std::uint64_t bytes) {
  const std::uint64_t limit = options_.max_file_bytes - std::min(options_.max_file_bytes, kReservedBytes);
  if (file_bytes_ + encoder_.payload().size() + bytes <= limit) return true;
  if (!write_chunk()) return false;
  // Chunks of a few records are no use: the end of the room is cut where one would follow another.
  capped_ = file_bytes_ + wire::kChunkBytes / 4 > limit;
  return !capped_;
}

// False: no room, counted.
template <class Record>
bool CaptureFileOnDisk::add(const Record& record) {
  if (!status_.has_value() || capped_ || !has_room(most_bytes_of(record))) {
    ++dropped_record_count_;
    return false;
  }
  encode(record);
  return true;
}

template <class Record>
void CaptureFileOnDisk::add_late(const Record& record) {
  const std::uint64_t size = file_bytes_ + encoder_.payload().size() + most_bytes_of(record);
  if (!status_.has_value() || size > options_.max_file_bytes) {
    ++dropped_record_count_;
    return;
  }
  encode(record);
}

WireString CaptureFileOnDisk::intern(std::string_view text) {
  text = text.substr(0, wire::kMostTextBytes);
  if (text.empty() || !status_.has_value()) return 0;
  try {
    const std::size_t known = texts_.size();
    WireString id = texts_.intern(text).value + forgotten_texts_;
    if (texts_.size() == known) return id;
    text_bytes_ += text.size();
    if (text_bytes_ > kMostInternedBytes) {
      forgotten_texts_ += static_cast<WireString>(known) - 1;
      texts_ = StringPool();
      id = texts_.intern(text).value + forgotten_texts_;
      text_bytes_ = text.size();
    }
    if (add(WireStringDefinition{id, text})) defined_until_ = id;
    return id;
  } catch (const std::bad_alloc&) {
    fail({ErrorCode::kIo, "no memory left for the capture", path_});
    return 0;
  }
}

// The text of a remark of a capped file: its definition found no room, since most texts asked for then are names of
// records that are dropped too.
void CaptureFileOnDisk::define_late_text(WireString id) {
  if (id <= defined_until_ || id <= forgotten_texts_ || id - forgotten_texts_ >= texts_.size()) return;
  constexpr std::size_t kMostBytes = 256;
  add_late(WireStringDefinition{id, texts_[StringId{id - forgotten_texts_}].substr(0, kMostBytes)});
}

bool CaptureFileOnDisk::is_ours(int descriptor) const {
  struct stat now {};
  return ::fstat(descriptor, &now) == 0 && now.st_dev == identity_.st_dev && now.st_ino == identity_.st_ino;
}

// False: the number stands for something else, or for nothing, and our file is not to be had by its name.
bool CaptureFileOnDisk::find_again() {
  if (is_ours(descriptor_)) return true;
  descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
  if (descriptor_ < 0) return false;
  if (is_ours(descriptor_) && ::lseek(descriptor_, static_cast<off_t>(file_bytes_), SEEK_SET) >= 0) return true;
  ::close(std::exchange(descriptor_, -1));
  return false;
}

int CaptureFileOnDisk::close_descriptor() {
  const int descriptor = std::exchange(descriptor_, -1);
  return descriptor >= 0 && is_ours(descriptor) ? ::close(descriptor) : 0;
}

void CaptureFileOnDisk::write_bytes(std::string_view bytes) {
  const NoSizeSignal no_size_signal;
  if (!find_again()) {
    return fail({ErrorCode::kIo, "the program closed the capture, and it cannot be opened again", path_});
  }
  const int number = write_all(descriptor_, bytes);
  if (number == 0) {
    file_bytes_ += bytes.size();
    return;
  }
  error_number_ = number;
  fail(system_error(path_, "the capture could not be written on", number));
  // A pipe or device cannot be cut; the reader then finds the half chunk.
  if (::ftruncate(descriptor_, static_cast<off_t>(file_bytes_)) == 0) {
    (void)::lseek(descriptor_, static_cast<off_t>(file_bytes_), SEEK_SET);
  }
}

// False: an error, now in status_.
bool CaptureFileOnDisk::write_chunk() {
  if (!status_.has_value()) return false;
  const std::uint32_t records = encoder_.record_count();
  if (records == 0) return true;
  write_bytes(chunks_.encode(wire::ChunkKind::kRecords, encoder_.payload(), records));
  if (!status_.has_value()) {
    chunks_.take_back();
    return false;
  }
  record_count_ += records;
  encoder_.clear();
  return true;
}

Status CaptureFileOnDisk::flush() {
  if (descriptor_ < 0) return status_;
  try {
    (void)write_chunk();
  } catch (const std::bad_alloc&) {
    fail({ErrorCode::kIo, "no memory left for the capture", path_});
  }
  return status_;
}

Status CaptureFileOnDisk::close(TimeNs now_ns) {
  if (descriptor_ < 0) return status_;
  if (status_.has_value()) {
    on(WireEnd{now_ns, dropped_record_count_});
    (void)flush();
  }
  if (error_number_ == ENOSPC || error_number_ == EFBIG || error_number_ == EDQUOT) {
    // What was cut off left a little room, perhaps enough for the end.
    const Status reason = std::exchange(status_, Done{});
    const std::uint64_t dropped = dropped_record_count_;
    encode(WireEnd{now_ns, dropped});
    (void)flush();
    dropped_record_count_ = dropped;
    status_ = reason;
  }
  if (close_descriptor() != 0 && errno != EINTR && status_.has_value()) {
    status_ = system_error(path_, "the capture could not be closed", errno);
  }
  return status_;
}

}  // namespace

Result<std::unique_ptr<CaptureFile>> CaptureFile::create(const std::string& path, const CaptureInfo& info,
                                                         const CaptureFileOptions& options) {
  // Readable as the user's umask says, like every other file that the training writes; O_EXCL also refuses to follow a
  // symbolic link that somebody laid in a shared folder.
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor < 0) {
    const int number = errno;
    return system_error(
        path, number == EEXIST ? "a file of this name exists, and none is overwritten" : "cannot create the capture",
        number);
  }
  try {
    auto file = std::make_unique<CaptureFileOnDisk>(path, descriptor, options);
    if (const Status begun = file->begin(info); !begun) {
      (void)::unlink(path.c_str());
      return begun.error();
    }
    return std::unique_ptr<CaptureFile>(std::move(file));
  } catch (const std::bad_alloc&) {
    return Error{ErrorCode::kIo, "no memory left for the capture", path};
  }
}

}  // namespace stepscope

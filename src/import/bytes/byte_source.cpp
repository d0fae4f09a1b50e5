// Plain files and pipes, and the choice of a decompressor by content.
#include "import/bytes/byte_source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "import/bytes/gzip_source.h"
#include "import/bytes/threaded_source.h"

namespace stepscope {
namespace {

class FileSource final : public ByteSource {
 public:
  FileSource(int fd, std::string path, std::optional<std::uint64_t> total)
      : fd_(fd), path_(std::move(path)), total_(total) {}
  ~FileSource() override {
    if (fd_ != STDIN_FILENO) ::close(fd_);
  }

  Result<std::size_t> read(char* into, std::size_t size) override {
    for (;;) {
      const ssize_t got = ::read(fd_, into, size);
      if (got >= 0) {
        done_ += static_cast<std::uint64_t>(got);
        return static_cast<std::size_t>(got);
      }
      if (errno != EINTR) return Error{ErrorCode::kIo, std::strerror(errno), path_, done_};
    }
  }
  std::uint64_t stored_bytes_read() const override { return done_; }
  std::optional<std::uint64_t> stored_bytes_total() const override { return total_; }

 private:
  int fd_;
  std::string path_;
  std::optional<std::uint64_t> total_;
  std::uint64_t done_ = 0;
};

class MemorySource final : public ByteSource {
 public:
  explicit MemorySource(std::string text) : text_(std::move(text)) {}
  Result<std::size_t> read(char* into, std::size_t size) override {
    const std::size_t part = text_.copy(into, size, given_);
    given_ += part;
    return part;
  }
  std::uint64_t stored_bytes_read() const override { return given_; }
  std::optional<std::uint64_t> stored_bytes_total() const override { return text_.size(); }

 private:
  std::string text_;
  std::size_t given_ = 0;
};

class PutBackSource final : public ByteSource {
 public:
  PutBackSource(std::string prefix, std::unique_ptr<ByteSource> inner)
      : prefix_(std::move(prefix)), inner_(std::move(inner)) {}

  Result<std::size_t> read(char* into, std::size_t size) override {
    if (given_ == prefix_.size()) return inner_->read(into, size);
    const std::size_t part = std::min(size, prefix_.size() - given_);
    std::memcpy(into, prefix_.data() + given_, part);
    given_ += part;
    return part;
  }
  std::uint64_t stored_bytes_read() const override { return inner_->stored_bytes_read(); }
  std::optional<std::uint64_t> stored_bytes_total() const override { return inner_->stored_bytes_total(); }
  void add_notes(Notes& notes) const override { inner_->add_notes(notes); }

 private:
  std::string prefix_;
  std::size_t given_ = 0;
  std::unique_ptr<ByteSource> inner_;
};

Error open_error(const std::string& path, int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return {ErrorCode::kNotFound, "no such file", path};
    case EACCES:
    case EPERM:
      return {ErrorCode::kPermission, "no permission to read it", path};
    default:
      return {ErrorCode::kIo, std::string("cannot be opened: ") + std::strerror(error), path};
  }
}

}  // namespace

Result<std::unique_ptr<ByteSource>> open_plain_bytes(const std::string& path) {
  const bool is_stdin = path == "-";
  const int fd = is_stdin ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return open_error(path, errno);
  struct stat info {};
  const bool known = ::fstat(fd, &info) == 0;
  if (known && S_ISDIR(info.st_mode)) {
    if (!is_stdin) ::close(fd);
    return Error{ErrorCode::kInvalidArgument, "is a directory, not a trace file", path};
  }
  std::optional<std::uint64_t> total;
  if (known && S_ISREG(info.st_mode)) total = static_cast<std::uint64_t>(info.st_size);
  if (!is_stdin) ::posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
  return std::unique_ptr<ByteSource>(
      std::make_unique<FileSource>(fd, is_stdin ? std::string("standard input") : path, total));
}

std::unique_ptr<ByteSource> bytes_of(std::string text) { return std::make_unique<MemorySource>(std::move(text)); }

std::unique_ptr<ByteSource> put_back(std::string prefix, std::unique_ptr<ByteSource> inner) {
  return std::make_unique<PutBackSource>(std::move(prefix), std::move(inner));
}

Result<std::size_t> read_fully(ByteSource& source, char* into, std::size_t size) {
  std::size_t have = 0;
  while (have < size) {
    Result<std::size_t> got = source.read(into + have, size - have);
    if (!got) return got;
    if (*got == 0) break;
    have += *got;
  }
  return have;
}

Result<std::unique_ptr<ByteSource>> open_bytes(const std::string& path, bool beside) {
  Result<std::unique_ptr<ByteSource>> plain = open_plain_bytes(path);
  if (!plain) return plain;
  std::string prefix(kGzipMagicBytes, '\0');
  Result<std::size_t> got = read_fully(**plain, prefix.data(), prefix.size());
  if (!got) return got.error();
  prefix.resize(*got);
  const bool compressed = is_gzip(prefix);
  std::unique_ptr<ByteSource> source = put_back(std::move(prefix), std::move(*plain));
  if (!compressed) return source;
  source = decompress_gzip(std::move(source), path);
  return beside ? read_beside(std::move(source)) : std::move(source);
}

}  // namespace stepscope

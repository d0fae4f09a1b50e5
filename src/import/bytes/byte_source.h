// Where the bytes of a file come from: a file, a pipe, or either of them decompressed.
//
// Sources are read forward only, in windows: a mapping of the whole file would count as resident memory and
// dies with SIGBUS when the file shrinks; and pipes and gzip streams cannot be mapped anyway.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "trace/notes.h"

namespace stepscope {

class ByteSource {
 public:
  ByteSource() = default;
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;
  virtual ~ByteSource() = default;

  // Fills `into` with up to `size` bytes and returns their number; 0 means the end.
  virtual Result<std::size_t> read(char* into, std::size_t size) = 0;
  // Progress in bytes of the file as stored.
  [[nodiscard]] virtual std::uint64_t stored_bytes_read() const = 0;
  [[nodiscard]] virtual std::optional<std::uint64_t> stored_bytes_total() const = 0;
  // Damage below the text (a cut gzip stream); complete once read() returned 0.
  virtual void add_notes(Notes& notes) const { (void)notes; }
};

// The plain bytes of `path` ("-": standard input).
[[nodiscard]] Result<std::unique_ptr<ByteSource>> open_plain_bytes(const std::string& path);
// The same, decompressed if the content is gzip, whatever the file is called. With `beside` the
// decompression runs in a thread of its own.
[[nodiscard]] Result<std::unique_ptr<ByteSource>> open_bytes(const std::string& path, bool beside);

// The bytes of `text`.
[[nodiscard]] std::unique_ptr<ByteSource> bytes_of(std::string text);
// Gives `prefix` first, then the rest of `inner`.
[[nodiscard]] std::unique_ptr<ByteSource> put_back(std::string prefix, std::unique_ptr<ByteSource> inner);
// Reads until `size` bytes are there or the source ends.
[[nodiscard]] Result<std::size_t> read_fully(ByteSource& source, char* into, std::size_t size);

}  // namespace stepscope

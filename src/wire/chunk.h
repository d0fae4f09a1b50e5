// The frame of a capture file: a header, then chunks that each stand alone: compressed, checksummed, found again.
//
// A writer can be killed at any instant and disks lose blocks, so nothing in the file points at anything else: a reader
// that meets damage looks for the next chunk's magic and goes on. Lengths are trusted only under a header's own check.
// One stream of zstd over the whole file would be 10% smaller and would lose everything behind the first bad byte.
//
//   file header, 32 bytes                       chunk header, 40 bytes
//    0  8  magic 89 53 53 43 0D 0A 1A 0A         0  8  magic F1 53 53 43 48 4B 0A 1A
//    8  2  major version                         8  2  kind: 0 records, 1 table
//   10  2  minor version                        10  2  compression: 0 none, 1 zstd
//   12  4  flags, 0                             12  4  records (rows) in it
//   16  8  reserved, 0                          16  4  payload bytes
//   24  8  XXH3-64 of bytes 0 to 23             20  4  stored bytes, which follow the header
//                                               24  8  XXH3-64 of the stored bytes
//                                               32  4  number of the chunk, from 0
//                                               36  4  low half of the XXH3-64 of bytes 0 to 35
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "stepscope/result.h"

namespace stepscope::wire {

// A reader refuses another major version and reads every minor one.
inline constexpr std::uint16_t kMajorVersion = 1;
inline constexpr std::uint16_t kMinorVersion =
    2;  // 1: WireMemoryLevel, more of WireMemory; 2: CaptureInfo::process_start_ns
inline constexpr std::size_t kFileHeaderBytes = 32;
inline constexpr std::size_t kChunkHeaderBytes = 40;
// A chunk is ended when its payload has so many bytes: what a killed process loses, and what zstd needs to find the
// repetition of a few steps. Of a chunk's payload a reader takes no more than kMostPayloadBytes.
inline constexpr std::size_t kChunkBytes = std::size_t{256} << 10;
inline constexpr std::size_t kMostPayloadBytes = std::size_t{16} << 20;
// Longer texts are cut: names are short, and shapes of a thousand tensors are no help.
inline constexpr std::size_t kMostTextBytes = std::size_t{1} << 20;

enum class ChunkKind : std::uint16_t { kRecords = 0, kTable = 1 };

[[nodiscard]] std::string file_header();
// Do these first bytes of a file look like a capture? True also for one whose header is damaged, if its first chunk is
// where it must be.
[[nodiscard]] bool looks_like_capture(std::string_view prefix);

// Makes chunks. Keeps zstd's working memory between them.
class ChunkEncoder {
 public:
  ChunkEncoder();
  ~ChunkEncoder();
  ChunkEncoder(const ChunkEncoder&) = delete;
  ChunkEncoder& operator=(const ChunkEncoder&) = delete;

  // Header and stored bytes of the next chunk, good until the next call.
  [[nodiscard]] std::string_view encode(ChunkKind kind, std::string_view payload, std::uint32_t record_count);
  // The last one did not get into the file: its number goes to the next, since a missing number means a lost chunk.
  void take_back() { --number_; }

 private:
  void* context_;  // ZSTD_CCtx
  std::string chunk_;
  std::uint32_t number_ = 0;
};

struct Chunk {
  ChunkKind kind = ChunkKind::kRecords;
  std::uint32_t number = 0;
  std::uint32_t record_count = 0;
  std::uint64_t offset = 0;  // of its header in the file
  std::string_view payload;  // good until the next call
};

enum class ChunkDamage : std::uint8_t {
  kFileHeader,   // the file's header fails its check
  kChunkHeader,  // bytes that are no chunk where one should begin
  kChecksum,     // the stored bytes are not those that were written
  kPayload,      // the checksum holds and the bytes cannot be decompressed, or are too many
  kCut,          // the file ends inside a chunk
  kUnknownKind,  // a kind or compression of a newer version: skipped
};
[[nodiscard]] std::string_view chunk_damage_words(ChunkDamage damage);

// Reads a file forward, chunk by chunk.
class ChunkReader {
 public:
  // Fills up to `size` bytes and returns how many; 0 at the end.
  using Source = std::function<Result<std::size_t>(char* into, std::size_t size)>;
  // `bytes` were lost to it; records of the chunk, where its header says so.
  using OnDamage = std::function<void(ChunkDamage damage, std::uint64_t offset, std::uint64_t bytes,
                                      std::optional<std::uint32_t> record_count)>;

  ChunkReader(Source source, OnDamage on_damage);
  ~ChunkReader();
  ChunkReader(const ChunkReader&) = delete;
  ChunkReader& operator=(const ChunkReader&) = delete;

  // The file's header. Errors: kUnknownFormat, kUnsupported (another major version), those of the source.
  [[nodiscard]] Status open();
  [[nodiscard]] std::uint16_t minor_version() const { return minor_version_; }
  // The next sound chunk; missing at the end.
  [[nodiscard]] Result<std::optional<Chunk>> next();
  [[nodiscard]] std::uint64_t bytes_read() const { return offset_ + at_; }

 private:
  struct Header;
  Status fill(std::size_t size);
  [[nodiscard]] std::string_view window() const { return std::string_view(buffer_).substr(at_); }
  Status find_chunk();
  [[nodiscard]] std::optional<Chunk> take(const Header& header);
  [[nodiscard]] bool unpack(const Header& header, std::string_view stored);

  Source source_;
  OnDamage on_damage_;
  void* context_;  // ZSTD_DCtx
  std::string buffer_, payload_;
  std::size_t at_ = 0;        // first byte of buffer_ not yet used
  std::uint64_t offset_ = 0;  // of buffer_ in the file
  bool ended_ = false;        // the source gave its last byte
  std::uint16_t minor_version_ = kMinorVersion;
};

}  // namespace stepscope::wire

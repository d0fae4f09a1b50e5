// Chunks, read: each is checked twice (its header, its bytes) before anything in it is believed.
//
// After damage the reader looks for the next magic whose header passes its check. 8 + 4 bytes that must fit make a
// false find in compressed bytes a matter of 2^-96 a byte. Memory: one window of a chunk and one payload, both capped.
#define XXH_INLINE_ALL
#include <xxhash.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "wire/chunk.h"
#include "wire/chunk_layout.h"

namespace stepscope::wire {

namespace {

constexpr std::string_view kMagic(kChunkMagic, sizeof kChunkMagic);
// Stored bytes of a chunk: a payload that zstd made no smaller is stored as it is.
constexpr std::size_t kMostStoredBytes = kMostPayloadBytes;
constexpr std::size_t kReadBytes = std::size_t{1} << 18;

bool is_sound_file_header(std::string_view bytes) {
  return bytes.size() >= kFileHeaderBytes && std::memcmp(bytes.data(), kFileMagic, sizeof kFileMagic) == 0 &&
         get_fixed<std::uint64_t>(bytes.data() + kFileCheckAt) == XXH3_64bits(bytes.data(), kFileCheckAt);
}

}  // namespace

struct ChunkReader::Header {
  std::uint16_t kind = 0, compression = 0;
  std::uint32_t record_count = 0, payload_bytes = 0, stored_bytes = 0, number = 0;
  std::uint64_t hash = 0;

  // Missing when the bytes are no chunk header, or one that no writer makes.
  static std::optional<Header> parse(std::string_view bytes) {
    if (bytes.size() < kChunkHeaderBytes || !bytes.starts_with(kMagic)) return std::nullopt;
    const char* const at = bytes.data();
    const auto check = static_cast<std::uint32_t>(XXH3_64bits(at, kChunkCheckAt));
    if (get_fixed<std::uint32_t>(at + kChunkCheckAt) != check) return std::nullopt;
    Header header;
    header.kind = get_fixed<std::uint16_t>(at + 8);
    header.compression = get_fixed<std::uint16_t>(at + 10);
    header.record_count = get_fixed<std::uint32_t>(at + 12);
    header.payload_bytes = get_fixed<std::uint32_t>(at + 16);
    header.stored_bytes = get_fixed<std::uint32_t>(at + 20);
    header.hash = get_fixed<std::uint64_t>(at + 24);
    header.number = get_fixed<std::uint32_t>(at + 32);
    if (header.payload_bytes > kMostPayloadBytes || header.stored_bytes > kMostStoredBytes) return std::nullopt;
    return header;
  }
};

bool looks_like_capture(std::string_view prefix) {
  if (prefix.size() >= sizeof kFileMagic && std::memcmp(prefix.data(), kFileMagic, sizeof kFileMagic) == 0) return true;
  return prefix.size() >= kFileHeaderBytes + kMagic.size() && prefix.substr(kFileHeaderBytes).starts_with(kMagic);
}

std::string_view chunk_damage_words(ChunkDamage damage) {
  static constexpr std::array<std::string_view, 6> kWords = {
      "the header of the file fails its check",
      "bytes that are no chunk",
      "a chunk fails its checksum",
      "a chunk cannot be decompressed",
      "the file ends inside a chunk",
      "a chunk of a kind that a newer version writes",
  };
  return kWords[static_cast<std::size_t>(damage)];
}

ChunkReader::ChunkReader(Source source, OnDamage on_damage)
    : source_(std::move(source)), on_damage_(std::move(on_damage)), context_(ZSTD_createDCtx()) {}

ChunkReader::~ChunkReader() { ZSTD_freeDCtx(static_cast<ZSTD_DCtx*>(context_)); }

// Makes window() hold `size` bytes, or fewer at the end of the file.
Status ChunkReader::fill(std::size_t size) {
  if (window().size() >= size || ended_) return Done{};
  buffer_.erase(0, at_);
  offset_ += at_;
  at_ = 0;
  while (buffer_.size() < size && !ended_) {
    const std::size_t before = buffer_.size();
    const std::size_t wanted = std::max(kReadBytes, size - before);
    buffer_.resize(before + wanted);
    const Result<std::size_t> got = source_(buffer_.data() + before, wanted);
    buffer_.resize(before + (got ? std::min(*got, wanted) : 0));
    if (!got) return got.error();
    ended_ = *got == 0;
  }
  return Done{};
}

Status ChunkReader::open() {
  if (Status filled = fill(kFileHeaderBytes + kMagic.size()); !filled) return filled;
  if (!looks_like_capture(window())) return Error{ErrorCode::kUnknownFormat, "not a capture file", ""};
  if (is_sound_file_header(window())) {
    const auto major = get_fixed<std::uint16_t>(window().data() + 8);
    minor_version_ = get_fixed<std::uint16_t>(window().data() + 10);
    if (major != kMajorVersion) {
      return Error{ErrorCode::kUnsupported,
                   "a capture of format " + std::to_string(major) + "." + std::to_string(minor_version_) +
                       "; this stepscope reads " + std::to_string(kMajorVersion) + ".x",
                   "", 8};
    }
  } else {
    on_damage_(ChunkDamage::kFileHeader, 0, std::min(window().size(), kFileHeaderBytes), std::nullopt);
  }
  at_ += std::min(window().size(), kFileHeaderBytes);
  return Done{};
}

// Skips what is no chunk, up to the next header that passes its check or the end of the file. The window is not empty.
Status ChunkReader::find_chunk() {
  const std::uint64_t begin = offset_ + at_;
  do {
    ++at_;
    if (Status filled = fill(kChunkHeaderBytes); !filled) return filled;
    const std::size_t found = window().find(kMagic);
    // A magic may lie across the window's end.
    const std::size_t kept = ended_ ? 0 : std::min(window().size(), kMagic.size() - 1);
    at_ += found == std::string_view::npos ? window().size() - kept : found;
    if (Status filled = fill(kChunkHeaderBytes); !filled) return filled;
  } while (!window().empty() && !Header::parse(window()));
  on_damage_(ChunkDamage::kChunkHeader, begin, offset_ + at_ - begin, std::nullopt);
  return Done{};
}

bool ChunkReader::unpack(const Header& header, std::string_view stored) {
  if (header.compression == kStored) {
    payload_.assign(stored);
    return stored.size() == header.payload_bytes;
  }
  payload_.resize(header.payload_bytes);
  if (context_ == nullptr) return false;
  const std::size_t size = ZSTD_decompressDCtx(static_cast<ZSTD_DCtx*>(context_), payload_.data(), payload_.size(),
                                               stored.data(), stored.size());
  return ZSTD_isError(size) == 0 && size == header.payload_bytes;
}

// The chunk that begins the window, whole; missing when it is damaged.
std::optional<Chunk> ChunkReader::take(const Header& header) {
  const std::uint64_t offset = offset_ + at_;
  const std::uint64_t bytes = kChunkHeaderBytes + header.stored_bytes;
  const std::string_view stored = window().substr(kChunkHeaderBytes, header.stored_bytes);
  std::optional<ChunkDamage> damage;
  if (stored.size() < header.stored_bytes) {
    damage = ChunkDamage::kCut;
  } else if (XXH3_64bits(stored.data(), stored.size()) != header.hash) {
    damage = ChunkDamage::kChecksum;
  } else if (header.kind > static_cast<std::uint16_t>(ChunkKind::kTable) || header.compression > kZstd) {
    damage = ChunkDamage::kUnknownKind;
  } else if (!unpack(header, stored)) {
    damage = ChunkDamage::kPayload;
  }
  at_ += std::min<std::uint64_t>(bytes, window().size());
  if (damage) {
    on_damage_(*damage, offset, bytes, header.record_count);
    return std::nullopt;
  }
  return Chunk{static_cast<ChunkKind>(header.kind), header.number, header.record_count, offset, payload_};
}

Result<std::optional<Chunk>> ChunkReader::next() {
  while (true) {
    if (Status filled = fill(kChunkHeaderBytes); !filled) return filled.error();
    if (window().empty()) return std::optional<Chunk>();
    const std::optional<Header> header = Header::parse(window());
    if (!header) {
      if (ended_ && window().size() < kChunkHeaderBytes && kMagic.starts_with(window().substr(0, kMagic.size()))) {
        on_damage_(ChunkDamage::kCut, offset_ + at_, window().size(), std::nullopt);
        at_ = buffer_.size();
        continue;
      }
      if (const Status found = find_chunk(); !found) return found.error();
      continue;
    }
    if (Status filled = fill(kChunkHeaderBytes + header->stored_bytes); !filled) return filled.error();
    if (std::optional<Chunk> chunk = take(*header)) return chunk;
  }
}

}  // namespace stepscope::wire

// Payloads as they are stored: compressed by zstd, or as they are.
//
// A payload that shrinks to less than 1 / kMostExpansion is stored as it is, so that a reader may refuse a small file
// that unpacks to gigabytes before it unpacks it. Real summaries shrink to a third.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace stepscope {

inline constexpr std::size_t kMostExpansion = 128;
inline constexpr std::size_t kMostPayloadBytes = std::size_t{8} << 20;

enum class Packing : std::uint32_t { kNone = 0, kZstd = 1 };
struct PackedPayload {
  Packing packing = Packing::kNone;
  std::string bytes;
};

[[nodiscard]] PackedPayload pack_payload(std::string_view payload);
// Is it a size that pack_payload gives?
[[nodiscard]] bool is_sound_size(Packing packing, std::uint64_t stored_bytes, std::uint64_t payload_bytes);
// False: the bytes are no such payload.
[[nodiscard]] bool unpack_payload(Packing packing, std::string_view stored, std::size_t payload_bytes,
                                  std::string& payload);

}  // namespace stepscope

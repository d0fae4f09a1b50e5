// What PyTorch's caching allocator makes of a request: its rounded size, and whether the rest of a block is split off.
//
// Entries carry requested bytes, levels and segments count blocks. The rules are those of the native allocator since
// torch 2.0: 512-byte steps, or power-of-two divisions where PYTORCH_CUDA_ALLOC_CONF asks for them; a rest of up to
// 1 MiB in the large pool is not split off, so the whole block is given out (and counted in its statistics).
#pragma once

#include <array>
#include <cstdint>
#include <limits>

#include "memory/snapshot.h"

namespace stepscope {

inline constexpr std::int64_t kSmallestBlockBytes = 512;
inline constexpr std::int64_t kSmallRequestBytes = 1 << 20;  // rounded requests up to this are the small pool's
inline constexpr std::int64_t kSmallSegmentBytes = 2 << 20;  // its segments have exactly this size, others are larger

class BlockRounding {
 public:
  explicit BlockRounding(const SnapshotSettings& settings);

  [[nodiscard]] std::int64_t round(std::int64_t requested_bytes) const;
  // In the large pool of an allocator without expandable segments; elsewhere every rest of 512 bytes is split off.
  [[nodiscard]] bool is_split_off(std::int64_t rounded_bytes, std::int64_t rest_bytes) const {
    return rest_bytes > kSmallRequestBytes && rounded_bytes < max_split_bytes_;
  }

 private:
  std::array<std::int64_t, 16> divisions_{};  // [i]: sizes of [2^i, 2^(i+1)) MiB; [0] the smaller, the last the larger
  std::int64_t max_split_bytes_ = std::numeric_limits<std::int64_t>::max();
};

}  // namespace stepscope

// The sizes by which PyTorch's caching allocator decides: rounding of requests, sizes of segments, when a block is
// split.
//
// Pure arithmetic, apart from the state machine (caching_allocator.h), because each rule can be read and tested alone.
// Written from the documented behaviour (docs.pytorch.org, "Memory management") and what is known of the current
// allocator; checked against recordings of torch 2.11. A version whose rules differ fails its replay.
#pragma once

#include <cstdint>
#include <limits>

#include "memory/allocator_what_if.h"
#include "memory/block_rounding.h"

namespace stepscope {

inline constexpr std::int64_t kMiB = 1LL << 20;
inline constexpr std::int64_t kOwnSegmentBytes = 10 * kMiB;         // from here a request gets a segment of its size
inline constexpr std::int64_t kOwnSegmentRoundingBytes = 2 * kMiB;  // ... rounded up to this
// What a request can be at most; more is taken as this. Sums of a few such stay within 64 bits.
inline constexpr std::int64_t kMostBytes = 1LL << 56;

// Size of the block that a request asks for.
[[nodiscard]] std::int64_t round_request(const AllocatorConfig& config, std::int64_t bytes);

// What is asked of the device when no block is free; `block_bytes` is rounded. Also what a cap is held against.
[[nodiscard]] std::int64_t segment_bytes_for(const AllocatorConfig& config, std::int64_t block_bytes);

[[nodiscard]] constexpr bool is_small_block(std::int64_t block_bytes) { return block_bytes <= kSmallRequestBytes; }

// Pages that an expandable segment grows by.
[[nodiscard]] std::int64_t page_bytes_for(const AllocatorConfig& config, bool is_small);

// No block of this size or more is split, and only requests of this size or more get one.
[[nodiscard]] inline std::int64_t oversize_bytes(const AllocatorConfig& config) {
  return config.max_split_size_bytes.value_or(std::numeric_limits<std::int64_t>::max());
}

// Is the rest given back when a block of `block_bytes` serves `wanted_bytes`, or is it handed out whole?
[[nodiscard]] bool should_split(const AllocatorConfig& config, bool is_small, bool is_expandable,
                                std::int64_t block_bytes, std::int64_t wanted_bytes);

}  // namespace stepscope

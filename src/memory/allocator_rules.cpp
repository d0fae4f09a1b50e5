// Rounding to power-of-2 divisions: with 4 divisions, sizes between 1 and 2 MiB become 1.25, 1.5, 1.75 or 2 MiB. The
// number of divisions is looked up by the power of two below the size; the setting counts in MiB.
#include "memory/allocator_rules.h"

#include <algorithm>
#include <bit>

namespace stepscope {
namespace {

std::int64_t round_up(std::int64_t bytes, std::int64_t to) { return (bytes + to - 1) / to * to; }

std::int64_t divisions_for(const AllocatorConfig& config, std::int64_t bytes) {
  const int power = std::bit_width(static_cast<std::uint64_t>(bytes)) - 1;
  constexpr int kPowerOfMiB = 20;
  const int last = static_cast<int>(config.roundup_power2_divisions.size()) - 1;
  return config.roundup_power2_divisions[static_cast<std::size_t>(std::clamp(power - kPowerOfMiB, 0, last))];
}

std::int64_t round_to_division(std::int64_t bytes, std::int64_t divisions) {
  const auto floor = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(bytes)));
  if (floor == bytes) return bytes;
  const std::int64_t step = floor / divisions;
  return step == 0 ? 2 * floor : round_up(bytes, step);
}

}  // namespace

std::int64_t round_request(const AllocatorConfig& config, std::int64_t bytes) {
  bytes = std::clamp<std::int64_t>(bytes, 0, kMostBytes);
  if (bytes < kSmallestBlockBytes) return kSmallestBlockBytes;
  const std::int64_t divisions = divisions_for(config, bytes);
  if (divisions > 1 && bytes > kSmallestBlockBytes * divisions) return round_to_division(bytes, divisions);
  return round_up(bytes, kSmallestBlockBytes);
}

std::int64_t segment_bytes_for(const AllocatorConfig& config, std::int64_t block_bytes) {
  if (is_small_block(block_bytes)) return kSmallSegmentBytes;
  if (block_bytes < kOwnSegmentBytes) return config.large_segment_bytes;
  return round_up(block_bytes, kOwnSegmentRoundingBytes);
}

std::int64_t page_bytes_for(const AllocatorConfig& config, bool is_small) {
  return is_small ? kSmallSegmentBytes : config.large_segment_bytes;
}

bool should_split(const AllocatorConfig& config, bool is_small, bool is_expandable, std::int64_t block_bytes,
                  std::int64_t wanted_bytes) {
  const std::int64_t rest = block_bytes - wanted_bytes;
  if (is_small || is_expandable) return rest >= kSmallestBlockBytes;
  return wanted_bytes < oversize_bytes(config) && rest > kSmallRequestBytes;
}

}  // namespace stepscope

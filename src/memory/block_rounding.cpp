// Rounding by the recorded settings; where a file says nothing, by PyTorch's defaults.
#include "memory/block_rounding.h"

#include <algorithm>
#include <bit>

namespace stepscope {
namespace {

// A request cannot be larger than a device; a damaged size is kept from overflowing.
constexpr std::int64_t kLargestRequestBytes = std::int64_t{1} << 60;
// More would be finer than 512 bytes for every size that there is.
constexpr std::int64_t kMostDivisions = std::int64_t{1} << 32;

std::int64_t round_to_division(std::uint64_t bytes, std::uint64_t divisions) {
  if (std::has_single_bit(bytes)) return static_cast<std::int64_t>(bytes);
  const std::uint64_t floor = std::bit_floor(bytes);
  const std::uint64_t step = floor >> (std::bit_width(divisions) - 1);
  if (step == 0) return static_cast<std::int64_t>(floor << 1);
  const std::uint64_t below = bytes & ~(step - 1);
  return static_cast<std::int64_t>(below == bytes ? bytes : below + step);
}

}  // namespace

BlockRounding::BlockRounding(const SnapshotSettings& settings) {
  for (const auto& [megabytes, divisions] : settings.roundup_power2_divisions) {
    if (megabytes <= 0 || divisions < 0 || divisions > kMostDivisions) continue;
    const auto power = static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(megabytes)) - 1);
    if (power < divisions_.size()) divisions_[power] = divisions;
  }
  if (settings.max_split_size_bytes.has_value() && settings.max_split_size_bytes.value() > 0) {
    max_split_bytes_ = settings.max_split_size_bytes.value();
  }
}

std::int64_t BlockRounding::round(std::int64_t requested_bytes) const {
  if (requested_bytes < kSmallestBlockBytes) return kSmallestBlockBytes;
  const std::int64_t bytes = std::min(requested_bytes, kLargestRequestBytes);
  const int megabytes_width = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(bytes >> 20)));
  const int power = std::clamp(megabytes_width - 1, 0, static_cast<int>(divisions_.size()) - 1);
  const std::int64_t divisions = divisions_[static_cast<std::size_t>(power)];
  if (divisions > 1 && bytes > kSmallestBlockBytes * divisions) {
    return round_to_division(static_cast<std::uint64_t>(bytes), static_cast<std::uint64_t>(divisions));
  }
  return (bytes + kSmallestBlockBytes - 1) / kSmallestBlockBytes * kSmallestBlockBytes;
}

}  // namespace stepscope

// An address is in use once at a time: a recording names one again after it was given back.
#include "memory/likely_addresses.h"

namespace stepscope {

LikelyAddresses::LikelyAddresses(std::span<const std::pair<std::int64_t, std::uint64_t>> taken) {
  for (const auto& [bytes, address] : taken) recorded_[bytes].push_back(address);
}

std::uint64_t LikelyAddresses::place_segment(std::int64_t bytes) {
  if (const auto found = recorded_.find(bytes); found != recorded_.end()) {
    std::deque<std::uint64_t>& addresses = found.value();
    while (!addresses.empty()) {
      const std::uint64_t address = addresses.front();
      addresses.pop_front();
      if (in_use_.insert(address).second) return address;
    }
  }
  std::vector<std::uint64_t>& freed = freed_[bytes];
  while (!freed.empty()) {
    const std::uint64_t address = freed.back();
    freed.pop_back();
    if (in_use_.insert(address).second) return address;
  }
  return place_reservation(bytes);
}

std::uint64_t LikelyAddresses::place_reservation(std::int64_t bytes) {
  constexpr std::uint64_t kAlignment = 2ULL << 20;
  const std::uint64_t address = next_;
  next_ += (static_cast<std::uint64_t>(bytes) + kAlignment - 1) / kAlignment * kAlignment;
  return address;
}

void LikelyAddresses::free_segment(std::uint64_t address, std::int64_t bytes) {
  in_use_.erase(address);
  freed_[bytes].push_back(address);
}

}  // namespace stepscope

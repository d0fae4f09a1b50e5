// The time of a transfer is first end - last arrival: before that some rank waits, after it nothing moves. Only with
// all ranks of a group at hand is that known, so collectives of groups with missing ranks are left out: the last of
// them may not be here.
//
// Classes of size are eightfold from 64 KiB on: bandwidth grows with size until some tens of MB, and classes twice as
// wide hide where. nccl-tests' bus bytes make kinds comparable; kinds and numbers of ranks still stand apart, since
// groups within a host and across hosts use different links.
#include "fleet/bandwidth.h"

#include <algorithm>
#include <tuple>

#include "fleet/order.h"

namespace stepscope {
namespace {

constexpr std::int64_t kSmallestClass = 64 << 10;
constexpr double kLargeBytes = 1e6;
// No link of today is faster than that; a "transfer" below it is an end that was cut or a clock that is off.
constexpr double kMaxBytesPerS = 20e12;

std::int64_t size_class(std::int64_t bytes) {
  if (bytes < kSmallestClass) return 0;
  std::int64_t from = kSmallestClass;
  while (from <= bytes / 8) from *= 8;
  return from;
}

struct BandwidthKey {
  std::uint32_t kind = 0;
  std::size_t rank_count = 0;
  std::int64_t from_bytes = 0;
  auto operator<=>(const BandwidthKey&) const = default;
};

// The sizes that its ranks recorded; they are equal but where one recorded none.
template <class Member>
std::optional<std::int64_t> recorded_of(const Meetings& meetings, const FleetMeeting& meeting, Member member) {
  for (std::uint32_t i = 0; i < meeting.attendance_count; ++i) {
    const auto& value = meetings.event(meetings.attendances[meeting.first_attendance + i]).*member;
    if (value && *value > 0) return value;
  }
  return std::nullopt;
}

}  // namespace

std::size_t size_of_group(const FleetGroup& group) {
  if (!group.ranks.empty()) return group.ranks.size();
  return group.size && *group.size > 0 ? static_cast<std::size_t>(*group.size) : group.present_count;
}

std::optional<double> BestBandwidth::of(std::uint32_t kind, std::size_t rank_count) const {
  const auto at = best_.find({kind, rank_count});
  if (at == best_.end()) return std::nullopt;
  return at->second.large > 0 ? at->second.large : at->second.any;
}

void BestBandwidth::add(std::uint32_t kind, std::size_t rank_count, double bytes, double bytes_per_s) {
  Best& best = best_[{kind, rank_count}];
  best.any = std::max(best.any, bytes_per_s);
  if (bytes >= kLargeBytes) best.large = std::max(best.large, bytes_per_s);
}

BestBandwidth measure_bandwidths(const Meetings& meetings, FleetFacts& facts) {
  BestBandwidth best;
  std::map<BandwidthKey, std::vector<double>> found;
  for (const FleetMeeting& meeting : meetings.all) {
    const FleetGroup& group = facts.groups[meeting.group];
    if (group.refuted || meeting.attendance_count < size_of_group(group)) continue;
    const DurationNs transfer = minus_ns(meeting.first_end_ns, meeting.last_arrival_ns);
    const auto bus_bytes = recorded_of(meetings, meeting, &SummaryCollective::bus_bytes);
    if (transfer <= 0 || !bus_bytes) continue;
    const double speed = static_cast<double>(*bus_bytes) * 1e9 / static_cast<double>(transfer);
    if (speed > kMaxBytesPerS) continue;
    const std::size_t ranks = size_of_group(group);
    best.add(meeting.kind, ranks, static_cast<double>(*bus_bytes), speed);
    const std::int64_t bytes = recorded_of(meetings, meeting, &SummaryCollective::bytes).value_or(*bus_bytes);
    found[{meeting.kind, ranks, size_class(bytes)}].push_back(speed);
  }
  for (auto& [key, speeds] : found) {
    const double fastest = *std::max_element(speeds.begin(), speeds.end());
    facts.bandwidths.push_back({meetings.kinds[key.kind], static_cast<std::int64_t>(key.rank_count), key.from_bytes,
                                static_cast<std::int64_t>(speeds.size()), fastest, lower_median(speeds)});
  }
  std::sort(facts.bandwidths.begin(), facts.bandwidths.end(), [](const FleetBandwidth& a, const FleetBandwidth& b) {
    return std::tie(a.kind, a.rank_count, a.from_bytes) < std::tie(b.kind, b.rank_count, b.from_bytes);
  });
  return best;
}

}  // namespace stepscope

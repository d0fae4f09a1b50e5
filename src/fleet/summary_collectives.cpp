// Numbers collectives so that equal numbers mean the same collective on every rank.
//
// The order in which the host launched them is the order that ranks must agree on; on the GPU two streams of one group
// may swap. Where a launch is lost, the order of starts has to do for that group and step. Sends and receives come last
// in the numbering: a pipeline's first and last stage have fewer of them, and would shift everything behind.
#include "fleet/summary_collectives.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "analyze/collectives.h"
#include "fleet/summary_limits.h"
#include "trace/group_ranks.h"

namespace stepscope {
namespace {

struct KernelWord {
  std::string_view in_kernel;  // lower case
  std::string_view name;       // torch's word
};
// Tried in order, "reducescatter" before "reduce".
constexpr KernelWord kKernelWords[] = {{"allreduce", "allreduce"},
                                       {"all_reduce", "allreduce"},
                                       {"allgather", "allgather"},
                                       {"all_gather", "allgather"},
                                       {"reducescatter", "reduce_scatter"},
                                       {"reduce_scatter", "reduce_scatter"},
                                       {"alltoall", "all_to_all"},
                                       {"all_to_all", "all_to_all"},
                                       {"sendrecv", "send_recv"},
                                       {"broadcast", "broadcast"},
                                       {"reduce", "reduce"}};

// Old profilers wrote no arguments: the kernel's own name says what it does (ncclKernel_AllReduce_RING_LL_Sum_float,
// ncclDevKernel_AllGather_..., the same in RCCL but for its ncclDevKernel_Generic).
std::string_view name_of_kernel(std::string_view kernel) {
  std::string lower(kernel);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  for (const KernelWord& word : kKernelWords) {
    if (lower.find(word.in_kernel) != std::string::npos) return word.name;
  }
  return "communication";
}

bool is_between_two(std::string_view name) {
  return name.find("send") != std::string_view::npos || name.find("recv") != std::string_view::npos;
}

struct Found {
  CollectiveRun run;
  std::size_t step = 0;
  std::string_view group, name;
  TimeNs launched_ns = 0;
  bool is_linked = false;
  bool is_last = false;  // a send or receive
};

std::vector<Found> find_in_steps(const Trace& trace, const Facts& facts, std::span<const std::size_t> places) {
  std::vector<Found> all;
  const bool has_steps = !facts.steps.steps.empty();
  for (const CollectiveRun& run :
       find_collectives(trace, facts.timeline, facts.classes, facts.steps, facts.main_busy()->device)) {
    if (has_steps && !run.step) continue;
    const DurationNs length = facts.timeline.end_ns[run.event] - trace.gpu_events.start_ns[run.event];
    if (length > kMostLengthNs) continue;  // damage
    Found found{run, places[run.step.value_or(0)], {}, {}, 0, false, false};
    const CollectiveId id = trace.gpu_events.collective[run.event];
    if (id.has_value()) found.group = trace.text(trace.collectives.group_name[id]);
    if (id.has_value()) found.name = trace.text(trace.collectives.name[id]);
    if (found.name.empty()) found.name = name_of_kernel(trace.text(trace.gpu_events.name[run.event]));
    const CallId call = trace.gpu_events.call[run.event];
    found.is_linked = call.has_value();
    found.launched_ns = call.has_value() ? trace.calls.start_ns[call] : 0;
    found.is_last = is_between_two(found.name);
    all.push_back(found);
  }
  return all;
}

// By step and group, then in the order that ranks agree on. `all` comes in order of start, which is kept for ties.
void sort_as_launched(std::vector<Found>& all) {
  const auto key = [](const Found& found) { return std::tie(found.step, found.group); };
  std::stable_sort(all.begin(), all.end(), [&](const Found& a, const Found& b) { return key(a) < key(b); });
  for (auto begin = all.begin(); begin != all.end();) {
    const auto end = std::find_if(begin, all.end(), [&](const Found& found) { return key(found) != key(*begin); });
    if (std::all_of(begin, end, [](const Found& found) { return found.is_linked; })) {
      std::stable_sort(begin, end, [](const Found& a, const Found& b) { return a.launched_ns < b.launched_ns; });
    }
    std::stable_partition(begin, end, [](const Found& found) { return !found.is_last; });
    begin = end;
  }
}

// Numbers of texts in their order.
std::map<std::string_view, std::uint32_t> number_texts(const std::vector<Found>& all, std::string_view Found::*member) {
  std::map<std::string_view, std::uint32_t> numbers;
  for (const Found& found : all) numbers.emplace(found.*member, 0);
  std::uint32_t next = 0;
  for (auto& [text, number] : numbers) number = next++;
  return numbers;
}

// Between kernels of a busy stream lie 1 to 3 us, and 5 to 20 where the host is only just ahead.
constexpr DurationNs kPauseNs = 50'000;

// When something computes on the device; to be asked how much of a collective that leaves. A pause that compute ends
// before the collective has ended was none of the collective's: with each of a thousand kernels beside a waiting
// collective it made 0.7 ms of a wait on made ranks, and whoever was waited for as much later than it was.
class ComputeTime {
 public:
  ComputeTime(const Trace& trace, const Facts& facts) {
    const TimeNs first_start_ns = facts.steps.window.start_ns;
    const TimeNs last_end_ns = facts.steps.window.end_ns + kMostLengthNs;
    std::vector<Interval> kernels;
    for (const GpuEventId id : trace.gpu_events_of_device[facts.main_busy()->device].ids()) {
      if (trace.gpu_events.kind[id] != GpuEventKind::kKernel) continue;
      if (facts.classes.of[id] == KernelClass::kCommunication) continue;
      const Interval at{trace.gpu_events.start_ns[id], std::min(facts.timeline.end_ns[id], last_end_ns)};
      if (at.end_ns > first_start_ns) kernels.push_back({std::max(at.start_ns, first_start_ns), at.end_ns});
    }
    kernels_ = union_of(std::move(kernels));
    DurationNs sum = 0;
    for (const Interval& each : kernels_) {
      if (busy_.empty() || each.start_ns - busy_.back().end_ns >= kPauseNs) {
        if (!busy_.empty()) sum += busy_.back().length_ns();
        before_ns_.push_back(sum);
        busy_.push_back(each);
      } else {
        busy_.back().end_ns = each.end_ns;
      }
    }
  }

  // From the last kernel on, and of what is before that the pauses that are no mere pauses.
  [[nodiscard]] DurationNs without_compute(Interval at) const {
    const auto after = std::lower_bound(kernels_.begin(), kernels_.end(), at.end_ns,
                                        [](const Interval& each, TimeNs t) { return each.start_ns < t; });
    if (after == kernels_.begin()) return at.length_ns();
    const TimeNs computed_ns = std::clamp(std::prev(after)->end_ns, at.start_ns, at.end_ns);
    return at.length_ns() - (until(computed_ns) - until(at.start_ns));
  }

 private:
  // Busy time before `time`.
  [[nodiscard]] DurationNs until(TimeNs time) const {
    const auto after = std::upper_bound(busy_.begin(), busy_.end(), time,
                                        [](TimeNs t, const Interval& each) { return t < each.start_ns; });
    if (after == busy_.begin()) return 0;
    const auto last = static_cast<std::size_t>(after - busy_.begin()) - 1;
    return before_ns_[last] + std::min(time, busy_[last].end_ns) - busy_[last].start_ns;
  }

  IntervalSet kernels_;
  IntervalSet busy_;  // the same without pauses
  std::vector<DurationNs> before_ns_;
};

// What torch says of a group that nobody described.
constexpr std::string_view kNoDescription = "undefined";

// What the file's list of groups says of one; nullptr where it does not fit what its collectives say: a name that
// torch gave to two groups one after the other.
const ProcessGroup* find_listed(const Trace& trace, const SummaryGroup& group, std::optional<std::int64_t> rank) {
  for (const ProcessGroup& listed : trace.info.process_groups) {
    if (listed.name != group.name) continue;
    const std::vector<std::int64_t>& ranks = listed.ranks;
    const auto count = static_cast<std::int64_t>(ranks.size());
    const bool is_other_size =
        group.size && (listed.size.value_or(*group.size) != *group.size || (count > 0 && count != *group.size));
    const bool is_elsewhere = rank && count > 0 && !std::binary_search(ranks.begin(), ranks.end(), *rank);
    const bool are_others = count > 0 && !group.ranks.empty() && ranks != group.ranks;
    if (!is_other_size && !is_elsewhere && !are_others) return &listed;
  }
  return nullptr;
}

// From the file's list of groups, where the arguments of the collectives say less: torch cuts lists of more than 30
// ranks there.
void complete_group(const Trace& trace, const RankSummary& summary, SummaryGroup& group) {
  // Of a file whose name says its rank the rank may be wrong; it refutes nothing.
  const auto rank = summary.rank_is_from_name ? std::nullopt : summary.rank;
  if (const ProcessGroup* listed = find_listed(trace, group, rank)) {
    if (listed->description != kNoDescription) group.description = listed->description;
    if (!group.size) group.size = listed->size;
    if (group.ranks.empty()) group.ranks = listed->ranks;
  }
  // A group of as many ranks as there are has all of them.
  if (!group.ranks.empty() || !group.size || group.size != summary.world_size) return;
  if (*group.size > static_cast<std::int64_t>(kMostGroupRanks)) return;
  group.ranks.resize(static_cast<std::size_t>(*group.size));
  std::iota(group.ranks.begin(), group.ranks.end(), std::int64_t{0});
}

void add_groups(const Trace& trace, const std::vector<Found>& all,
                const std::map<std::string_view, std::uint32_t>& numbers, RankSummary& summary) {
  summary.groups.resize(numbers.size());
  for (const auto& [name, number] : numbers) summary.groups[number].name = name;
  for (const Found& found : all) {
    const CollectiveId id = trace.gpu_events.collective[found.run.event];
    if (!id.has_value()) continue;
    SummaryGroup& group = summary.groups[numbers.at(found.group)];
    const MaybeInt size = trace.collectives.group_size[id];
    if (!group.size && size.value_or(0) > 0) group.size = size.value();
    if (group.ranks.empty()) group.ranks = read_group_ranks(trace.text(trace.collectives.group_ranks[id]));
  }
  for (SummaryGroup& group : summary.groups) complete_group(trace, summary, group);
}

// Gloo's words for what its threads run, torch's for the same on a GPU.
std::string host_name_of(std::string_view name) {
  name.remove_prefix(std::min(name.size(), name.find(':') + 1));
  const std::string_view known = name_of_kernel(name);
  return std::string(known == "communication" ? name : known);
}

// The only group that it can be: gloo's rows do not say theirs. Missing: there are several, or nothing says who is in
// it.
std::optional<SummaryGroup> only_group(const Trace& trace, const RankSummary& summary) {
  SummaryGroup group;
  const auto is_of_many = [](const ProcessGroup& each) { return each.ranks.size() != 1 && each.size != 1; };
  const auto count = std::count_if(trace.info.process_groups.begin(), trace.info.process_groups.end(), is_of_many);
  if (count > 1) return std::nullopt;
  if (count == 1) {
    group.name = std::find_if(trace.info.process_groups.begin(), trace.info.process_groups.end(), is_of_many)->name;
  } else {
    group.size = summary.world_size;
  }
  complete_group(trace, summary, group);
  if (group.ranks.size() < 2) return std::nullopt;
  return group;
}

std::optional<std::int64_t> bounded_bytes(std::optional<double> bytes) {
  if (!bytes || !(*bytes >= 0) || *bytes > static_cast<double>(kMostSummaryBytes)) return std::nullopt;
  return std::llround(*bytes);
}

// As gloo's threads began them, which is the order in which the program asked for them.
void add_host_collectives(const Trace& trace, const Facts& facts, std::int64_t base_ns,
                          std::span<const std::size_t> places, RankSummary& summary) {
  const auto group = only_group(trace, summary);
  if (!group) return;
  std::vector<const HostCollective*> all;
  for (const HostCollective& each : facts.host_collectives.all) {
    if (each.step && each.at.length_ns() <= kMostLengthNs) all.push_back(&each);
  }
  if (all.empty()) return;
  const auto place_of = [&](const HostCollective* each) { return places[*each->step]; };
  std::stable_sort(all.begin(), all.end(), [&](const HostCollective* a, const HostCollective* b) {
    const bool a_last = is_between_two(trace.text(a->name)), b_last = is_between_two(trace.text(b->name));
    return std::pair(place_of(a), a_last) < std::pair(place_of(b), b_last);
  });
  summary.groups = {*group};
  std::map<std::string, std::uint32_t> names;
  for (const HostCollective* each : all) names.emplace(host_name_of(trace.text(each->name)), 0);
  for (auto& [name, number] : names) {
    number = static_cast<std::uint32_t>(summary.collective_names.size());
    summary.collective_names.push_back(name);
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    const HostCollective& each = *all[i];
    if (place_of(&each) >= summary.steps.size()) {
      summary.collectives_not_kept_count += static_cast<std::int64_t>(all.size() - i);
      break;
    }
    SummaryCollective collective;
    collective.name = names.at(host_name_of(trace.text(each.name)));
    collective.step = static_cast<std::uint32_t>(place_of(&each));
    const bool is_next = i > 0 && place_of(all[i - 1]) == place_of(&each);
    collective.sequence = is_next ? summary.collectives.back().sequence + 1 : 0;
    collective.start_ns = each.at.start_ns + base_ns;
    collective.end_ns = each.at.end_ns + base_ns;
    collective.exposed_ns = each.waited_ns;
    summary.collectives.push_back(collective);
  }
}

}  // namespace

std::vector<GpuEventId> add_collectives(const Trace& trace, const Facts& facts, std::int64_t base_ns,
                                        std::span<const std::size_t> places, RankSummary& summary) {
  std::vector<GpuEventId> events;
  if (summary.steps.empty()) return events;
  if (facts.main_busy() == nullptr) {
    add_host_collectives(trace, facts, base_ns, places, summary);
    return events;
  }
  std::vector<Found> all = find_in_steps(trace, facts, places);
  sort_as_launched(all);
  const auto groups = number_texts(all, &Found::group), names = number_texts(all, &Found::name);
  add_groups(trace, all, groups, summary);
  for (const auto& [name, number] : names) summary.collective_names.emplace_back(name);
  const ComputeTime compute(trace, facts);
  std::uint32_t sequence = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Found& found = all[i];
    if (found.step >= summary.steps.size()) {
      summary.collectives_not_kept_count += static_cast<std::int64_t>(all.size() - i);
      break;
    }
    const bool is_next = i > 0 && all[i - 1].step == found.step && all[i - 1].group == found.group;
    sequence = is_next ? sequence + 1 : 0;
    const Interval at{trace.gpu_events.start_ns[found.run.event], facts.timeline.end_ns[found.run.event]};
    SummaryCollective collective;
    collective.group = groups.at(found.group);
    collective.name = names.at(found.name);
    collective.step = static_cast<std::uint32_t>(found.step);
    collective.sequence = sequence;
    collective.start_ns = at.start_ns + base_ns;
    collective.end_ns = at.end_ns + base_ns;
    if (found.run.bytes && *found.run.bytes <= kMostSummaryBytes) collective.bytes = found.run.bytes;
    collective.bus_bytes = bounded_bytes(found.run.bus_bytes);
    collective.exposed_ns = compute.without_compute(at);
    summary.collectives.push_back(collective);
    events.push_back(found.run.event);
  }
  return events;
}

}  // namespace stepscope

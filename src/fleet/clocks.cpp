// Ends of a collective are nearly simultaneous on all its ranks (10 us apart in the median on the recorded pairs), so
// what they differ by, in the median over many collectives, is what the hosts' clocks differ by. Files of one host that
// carry its clock share it and are estimated together.
//
// Not every two ranks share a group, so the differences are solved over the graph of hosts and groups: a group's
// clock is the median of its members', each host's offset to it is known, and offsets travel along the edges; a few
// rounds of medians over all edges then even out what the order of travelling left. Least squares was rejected: one
// group whose ends are not simultaneous would pull all others. Sets of hosts that no group connects stay each on a
// clock of their own, which is said; nothing is compared across them.
//
// Below 100 us nothing is taken off: ends differ by that much anyway (network, kernel tails), and hosts with PTP are
// better than that. Above it, everything is, and so is a drift that shows between the first and the last third.
//
// A collective cannot end before its last rank has come. A group of which most matches say so was matched wrongly (its
// files had only a name for it), and is dismissed.
#include "fleet/clocks.h"

#include <algorithm>
#include <map>
#include <queue>

#include "fleet/order.h"

namespace stepscope {

namespace {

constexpr DurationNs kClockNoise = 100'000;
constexpr std::uint32_t kMaxMeetingsOfGroup = 256;  // a median needs no more
constexpr int kRounds = 12;
constexpr double kMaxDrift = 1e-3;  // a crystal is good to 1e-4

struct EndDifference {
  TimeNs at_ns = 0;  // the group's clock
  DurationNs difference_ns = 0;
};

// A host seen from a group.
struct ClockEdge {
  std::uint32_t domain = 0, group = 0;
  DurationNs offset_ns = 0;  // domain's clock - group's
};

}  // namespace

class ClockSolver {
 public:
  ClockSolver(Meetings& meetings, FleetFacts& facts)
      : meetings_(meetings), facts_(facts), clock_(meetings.rows.size()) {
    has_joint_.assign(facts.groups.size(), false);
    for (const FleetMeeting& meeting : meetings.all) {
      if (meeting.ends_together) has_joint_[meeting.group] = true;
    }
  }

  RunClock solve() {
    number_domains();
    collect_differences();
    make_edges();
    spread_offsets();
    even_out();
    anchor();
    name_sets();
    measure_drift();
    apply();
    return std::move(clock_);
  }

 private:
  std::size_t row_count() const { return meetings_.rows.size(); }

  void number_domains() {
    std::map<std::string, std::uint32_t> hosts;
    domain_of_.assign(row_count(), 0);
    for (std::size_t row = 0; row < row_count(); ++row) {
      const RankSummary* rank = meetings_.rows[row];
      const std::uint32_t next = domain_count_;
      domain_of_[row] = rank != nullptr && rank->has_clock && !rank->host_name.empty()
                            ? hosts.try_emplace(rank->host_name, next).first->second
                            : next;
      if (domain_of_[row] == next) ++domain_count_;
    }
    facts_.clocks.domain_count = domain_count_;
  }

  // Ends of each (group, row) against the median end of the meeting, on the clocks as recorded. Where one rank misses a
  // meeting, the median is another's; a median over meetings does not mind.
  void collect_differences() {
    std::vector<std::uint32_t> seen(facts_.groups.size(), 0);
    std::vector<TimeNs> ends;
    for (const FleetMeeting& meeting : meetings_.all) {
      if (facts_.groups[meeting.group].refuted) continue;
      if (!meeting.ends_together && has_joint_[meeting.group]) continue;
      const std::int64_t count = facts_.groups[meeting.group].meeting_count;
      const std::uint32_t every = static_cast<std::uint32_t>(count / kMaxMeetingsOfGroup + 1);
      if (seen[meeting.group]++ % every != 0) continue;
      ends.clear();
      for_each_end(meeting, [&](std::uint32_t, TimeNs end) { ends.push_back(end); });
      const TimeNs reference = lower_median(ends);
      for_each_end(meeting, [&](std::uint32_t row, TimeNs end) {
        differences_[{meeting.group, row}].push_back({reference, minus_ns(end, reference)});
      });
      ++facts_.clocks.meeting_count;
    }
  }

  template <class Visit>
  void for_each_end(const FleetMeeting& meeting, const Visit& visit) const {
    for (std::uint32_t i = 0; i < meeting.attendance_count; ++i) {
      const Attendance& who = meetings_.attendances[meeting.first_attendance + i];
      visit(who.row, meetings_.event(who).end_ns);
    }
  }

  void make_edges() {
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<DurationNs>> by_domain;  // (group, domain)
    std::vector<DurationNs> values;
    for (const auto& [key, differences] : differences_) {
      values.clear();
      for (const EndDifference& one : differences) values.push_back(one.difference_ns);
      by_domain[{key.first, domain_of_[key.second]}].push_back(lower_median(values));
    }
    for (auto& [key, offsets] : by_domain) edges_.push_back({key.second, key.first, lower_median(offsets)});
    edges_of_domain_.resize(domain_count_);
    edges_of_group_.resize(facts_.groups.size());
    for (std::uint32_t edge = 0; edge < edges_.size(); ++edge) {
      edges_of_domain_[edges_[edge].domain].push_back(edge);
      edges_of_group_[edges_[edge].group].push_back(edge);
    }
  }

  void spread_offsets() {
    domain_offset_.assign(domain_count_, 0);
    group_offset_.assign(facts_.groups.size(), 0);
    component_of_.assign(domain_count_, kNoMeeting);
    std::vector<bool> group_known(facts_.groups.size(), false);
    for (std::uint32_t start = 0; start < domain_count_; ++start) {
      if (component_of_[start] != kNoMeeting || edges_of_domain_[start].empty()) continue;
      const auto component = static_cast<std::uint32_t>(facts_.clocks.component_count++);
      component_of_[start] = component;
      std::queue<std::uint32_t> waiting({start});
      while (!waiting.empty()) {
        const std::uint32_t domain = waiting.front();
        waiting.pop();
        for (const std::uint32_t out : edges_of_domain_[domain]) {
          const std::uint32_t group = edges_[out].group;
          if (group_known[group]) continue;
          group_known[group] = true;
          group_offset_[group] = minus_ns(domain_offset_[domain], edges_[out].offset_ns);
          for (const std::uint32_t in : edges_of_group_[group]) {
            const std::uint32_t next = edges_[in].domain;
            if (component_of_[next] != kNoMeeting) continue;
            component_of_[next] = component;
            domain_offset_[next] = plus_ns(group_offset_[group], edges_[in].offset_ns);
            waiting.push(next);
          }
        }
      }
    }
  }

  void even_out() {
    std::vector<DurationNs> values;
    for (int round = 0; round < kRounds; ++round) {
      for (std::uint32_t group = 0; group < group_offset_.size(); ++group) {
        values.clear();
        for (const std::uint32_t edge : edges_of_group_[group])
          values.push_back(minus_ns(domain_offset_[edges_[edge].domain], edges_[edge].offset_ns));
        if (!values.empty()) group_offset_[group] = lower_median(values);
      }
      for (std::uint32_t domain = 0; domain < domain_count_; ++domain) {
        values.clear();
        for (const std::uint32_t edge : edges_of_domain_[domain])
          values.push_back(plus_ns(group_offset_[edges_[edge].group], edges_[edge].offset_ns));
        if (!values.empty()) domain_offset_[domain] = lower_median(values);
      }
    }
  }

  // The run's clock is that of the component's median domain: with it, most hosts stay as they are.
  void anchor() {
    std::vector<std::vector<DurationNs>> of_component(facts_.clocks.component_count);
    for (std::uint32_t domain = 0; domain < domain_count_; ++domain) {
      if (component_of_[domain] != kNoMeeting) of_component[component_of_[domain]].push_back(domain_offset_[domain]);
    }
    std::vector<DurationNs> zero;
    for (std::vector<DurationNs>& offsets : of_component) {
      const auto [low, high] = std::minmax_element(offsets.begin(), offsets.end());
      facts_.clocks.largest_offset_ns = std::max(facts_.clocks.largest_offset_ns, minus_ns(*high, *low));
      zero.push_back(lower_median(offsets));
    }
    for (std::uint32_t domain = 0; domain < domain_count_; ++domain) {
      if (component_of_[domain] != kNoMeeting)
        domain_offset_[domain] = minus_ns(domain_offset_[domain], zero[component_of_[domain]]);
    }
  }

  void name_sets() {
    for (const auto& [key, differences] : differences_)
      clock_.sets_[key.second] = component_of_[domain_of_[key.second]];
  }

  // From the first to the last third of a row's collectives in its largest group. Relative to the group, whose clock is
  // that of its median member: where half of the hosts drift, the other half is seen to.
  void measure_drift() {
    drift_ratio_.assign(domain_count_, 0);
    std::vector<const std::vector<EndDifference>*> longest(domain_count_, nullptr);
    for (const auto& [key, differences] : differences_) {
      auto& best = longest[domain_of_[key.second]];
      if (best == nullptr || differences.size() > best->size()) best = &differences;
    }
    for (std::uint32_t domain = 0; domain < domain_count_; ++domain) {
      if (longest[domain] == nullptr || longest[domain]->size() < 9) continue;  // three in each third
      measure_drift_of(domain, *longest[domain]);
    }
  }

  void measure_drift_of(std::uint32_t domain, const std::vector<EndDifference>& differences) {
    const std::size_t third = differences.size() / 3;
    std::vector<DurationNs> early, late;
    std::vector<TimeNs> early_at, late_at;
    for (std::size_t i = 0; i < third; ++i) {
      early.push_back(differences[i].difference_ns);
      early_at.push_back(differences[i].at_ns);
      late.push_back(differences[differences.size() - 1 - i].difference_ns);
      late_at.push_back(differences[differences.size() - 1 - i].at_ns);
    }
    const TimeNs from = lower_median(early_at), to = lower_median(late_at);
    const DurationNs drift = minus_ns(lower_median(late), lower_median(early)), over = minus_ns(to, from);
    if (over <= 0 || (drift > -kClockNoise && drift < kClockNoise)) return;
    const double ratio = static_cast<double>(drift) / static_cast<double>(over);
    if (ratio > kMaxDrift || ratio < -kMaxDrift) return;  // no clock does that: the ends are not simultaneous
    drift_ratio_[domain] = ratio;
    drift_middle_[domain] = from + over / 2;
    facts_.clocks.largest_drift_ns = std::max(facts_.clocks.largest_drift_ns, drift < 0 ? -drift : drift);
  }

  void apply() {
    FleetClocks& clocks = facts_.clocks;
    clocks.corrected = clocks.largest_offset_ns > kClockNoise || clocks.largest_drift_ns > kClockNoise;
    for (FleetRank& row : facts_.ranks) row.clock_offset_ns = 0;
    if (!clocks.corrected) return;
    for (std::size_t row = 0; row < row_count(); ++row) {
      const std::uint32_t domain = domain_of_[row];
      clock_.rows_[row] = {domain_offset_[domain], drift_ratio_[domain], drift_middle_[domain]};
      facts_.ranks[row].clock_offset_ns = domain_offset_[domain];
    }
  }

  Meetings& meetings_;
  FleetFacts& facts_;
  RunClock clock_;
  std::uint32_t domain_count_ = 0;
  std::vector<std::uint32_t> domain_of_;  // by row
  std::vector<bool> has_joint_;           // group has collectives that end together
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<EndDifference>> differences_;  // (group, row)
  std::vector<ClockEdge> edges_;
  std::vector<std::vector<std::uint32_t>> edges_of_domain_, edges_of_group_;
  std::vector<DurationNs> domain_offset_, group_offset_;
  std::vector<std::uint32_t> component_of_;  // by domain
  std::vector<double> drift_ratio_;
  std::map<std::uint32_t, TimeNs> drift_middle_;
};

namespace {

void time_meetings(const RunClock& clock, Meetings& meetings) {
  for (FleetMeeting& meeting : meetings.all) {
    for (std::uint32_t i = 0; i < meeting.attendance_count; ++i) {
      const Attendance& who = meetings.attendances[meeting.first_attendance + i];
      const SummaryCollective& event = meetings.event(who);
      const TimeNs start = clock.to_run(who.row, event.start_ns), end = clock.to_run(who.row, event.end_ns);
      if (i == 0 || start < meeting.first_arrival_ns) {
        meeting.first_arrival_ns = start;
        meeting.first_row = who.row;
      }
      if (i == 0 || start > meeting.last_arrival_ns) {
        meeting.last_arrival_ns = start;
        meeting.last_row = who.row;
      }
      meeting.first_end_ns = i == 0 ? end : std::min(meeting.first_end_ns, end);
    }
  }
}

// True: a group was refuted that was not before.
bool refute_groups(const Meetings& meetings, FleetFacts& facts) {
  std::vector<std::int64_t> judged(facts.groups.size(), 0), impossible(facts.groups.size(), 0);
  for (const FleetMeeting& meeting : meetings.all) {
    if (!meeting.ends_together) continue;
    ++judged[meeting.group];
    if (minus_ns(meeting.last_arrival_ns, meeting.first_end_ns) > kClockNoise) ++impossible[meeting.group];
  }
  bool any = false;
  for (std::size_t group = 0; group < judged.size(); ++group) {
    if (facts.groups[group].refuted || 2 * impossible[group] <= judged[group]) continue;
    facts.groups[group].refuted = any = true;
  }
  return any;
}

void dismiss_refuted(Meetings& meetings, FleetFacts& facts) {
  for (std::size_t row = 0; row < meetings.rows.size(); ++row) {
    for (std::uint32_t& at : meetings.meeting_of[row]) {
      if (at == kNoMeeting || !facts.groups[meetings.all[at].group].refuted) continue;
      at = kNoMeeting;
      ++facts.unmatched_count;
    }
  }
  for (const FleetMeeting& meeting : meetings.all) {
    if (facts.groups[meeting.group].refuted) --facts.matched_count;
  }
}

}  // namespace

RunClock put_on_one_clock(Meetings& meetings, FleetFacts& facts) {
  RunClock clock = ClockSolver(meetings, facts).solve();
  time_meetings(clock, meetings);
  if (!refute_groups(meetings, facts)) return clock;
  // What was matched wrongly bent the clocks as well.
  facts.clocks = {};
  clock = ClockSolver(meetings, facts).solve();
  time_meetings(clock, meetings);
  dismiss_refuted(meetings, facts);
  return clock;
}

}  // namespace stepscope

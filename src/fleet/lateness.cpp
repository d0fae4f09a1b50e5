// From meetings to the rank that all wait for.
//
// A wait is the time from a rank's arrival to the last one's, as far as nothing computes on the rank meanwhile: what is
// hidden under compute delays nobody. Own work = step - waits. In a step that all end together the ranks' own works
// tell who was slow, also through groups: with tensor and data parallel groups the slow rank's tensor group waits for
// it inside, so its members' own work is ordinary although they arrive late at their data parallel groups; the members
// of those wait there. Walking the critical path back over the ranks was tried on paper and rejected: it needs to know
// which wait held up which arrival, which a summary does not say, and names the same rank.
//
// Events that nobody is known to have met (sends in groups of more than two, groups whose other ranks are missing,
// steps with different counts) have waited for what their bytes do not explain at the best bandwidth seen, as on one
// rank alone (analyze/collectives.h). So does what a transfer takes too long in a group with missing ranks: then the
// last one is not among the files. What the same bytes took a group that is whole is the best measure of a transfer:
// the only rank of its group may wait in every one of them, and none then shows how long it takes. Without such a
// measure its exposed transfers prove no lateness. When the late rank is missing, the ranks that are here wait for it
// one behind the other: one waits in a group with the missing rank, the others for that one. So it costs what all ranks
// wait at least, as far as one of them waits for a missing rank.
//
// Thresholds. Late is a rank whose own work exceeds the typical one's by 5 % of the step, in the median and in two
// thirds of its steps: 0.2 % on the recorded healthy pair (2.4 % in one of its steps), 36 % on the planted one. Of 8
// ranks or more it must also stand out: by five standard deviations of the ranks' lateness (from the median deviation),
// or the unluckiest of a thousand that jitter would be named; five, since one in 3 million is as rare as it must be for
// 16,384 ranks. Few are to blame for being late when they are at most a quarter of the ranks (or one of two or three):
// above that the work is dealt out unevenly. Unevenness counts from 10 % on where another rank is late in each step: it
// is the largest of many, so noise adds to it. Where the same ranks are late in most steps noise does not, and what
// counts for one of them counts for all: made ranks of which three of eight have a fifth more matrix products are 5 to
// 8 % late (tests/python/test_made_ranks.py).
#include "fleet/lateness.h"

#include <algorithm>
#include <map>
#include <span>
#include <tuple>

#include "fleet/bandwidth.h"
#include "fleet/order.h"
#include "fleet/stopped_steps.h"
#include "stats/quantiles.h"

namespace stepscope {
namespace {

constexpr double kSameRank = 2.0 / 3.0;
constexpr double kDeviations = 5;
constexpr double kDeviationOfMedian = 1.4826;  // a normal distribution's standard deviation / its median deviation
constexpr std::size_t kFewRanks = 8;           // fewer have no spread to speak of
constexpr double kLargeBytes = 1e6;            // smaller transfers are bound by latency

// One rank in one step.
struct RankStep {
  std::int64_t number = 0;
  std::uint32_t row = 0;
  std::uint32_t step = 0;  // index into its summary's steps
  DurationNs own_ns = 0, wait_ns = 0, missing_ns = 0;
  DurationNs missing_together_ns = 0;  // of missing_ns, in collectives that all ranks of the group enter
  DurationNs unmeasured_ns = 0;        // exposed in groups whose other ranks are missing; waits or transfers
  bool has_met = false;                // others in a collective of this step; else it tells nothing
};

class LatenessJudge {
 public:
  LatenessJudge(const Meetings& meetings, const RunClock& clock, FleetFacts& facts)
      : meetings_(meetings), clock_(clock), facts_(facts) {}

  void judge() {
    best_ = measure_bandwidths(meetings_, facts_);
    measure_lone_bandwidth();
    measure_transfers();
    for (std::uint32_t row = 0; row < meetings_.rows.size(); ++row) add_row(row);
    std::erase_if(all_, [](const RankStep& rank) { return !rank.has_met; });
    std::stable_sort(all_.begin(), all_.end(),
                     [](const RankStep& a, const RankStep& b) { return a.number < b.number; });
    make_steps();
    find_widest_arrivals();
    fill_ranks();
    judge_missing();
    find_stragglers();
  }

 private:
  static std::string_view kind_of(const RankSummary& rank, const SummaryCollective& event) {
    return event.name < rank.collective_names.size() ? std::string_view(rank.collective_names[event.name])
                                                     : std::string_view();
  }
  static std::size_t group_size(const RankSummary& rank, const SummaryCollective& event) {
    return event.group < rank.groups.size() ? rank.groups[event.group].ranks.size() : 0;
  }

  void measure_lone_bandwidth() {
    for (std::size_t row = 0; row < meetings_.rows.size(); ++row) {
      const RankSummary* rank = meetings_.rows[row];
      if (rank == nullptr) continue;
      for (std::size_t i = 0; i < rank->collectives.size(); ++i) {
        const SummaryCollective& event = rank->collectives[i];
        const std::uint32_t at = meetings_.meeting_of[row][i];
        const bool is_met = at != kNoMeeting && is_whole(meetings_.all[at]);
        const DurationNs length = minus_ns(event.end_ns, event.start_ns);
        if (is_met || !event.bus_bytes || length <= 0) continue;
        const auto bytes = static_cast<double>(*event.bus_bytes);
        auto& [large, any] = lone_best_[{kind_of(*rank, event), group_size(*rank, event)}];
        const double speed = bytes / static_cast<double>(length);
        any = std::max(any, speed);
        if (bytes >= kLargeBytes) large = std::max(large, speed);
      }
    }
  }

  // The shortest that whole groups needed for their bytes.
  void measure_transfers() {
    for (const FleetMeeting& meeting : meetings_.all) {
      if (facts_.groups[meeting.group].refuted || !meeting.ends_together || !is_whole(meeting)) continue;
      const DurationNs transfer = minus_ns(meeting.first_end_ns, meeting.last_arrival_ns);
      const SummaryCollective& event = meetings_.event(meetings_.attendances[meeting.first_attendance]);
      if (transfer <= 0 || !event.bus_bytes) continue;
      const std::size_t size = size_of_group(facts_.groups[meeting.group]);
      const auto [at, is_new] =
          transfers_.try_emplace({std::string_view(meetings_.kinds[meeting.kind]), size, *event.bus_bytes}, transfer);
      if (!is_new) at->second = std::min(at->second, transfer);
    }
  }

  [[nodiscard]] std::optional<DurationNs> measured_transfer(const RankSummary& rank,
                                                            const SummaryCollective& event) const {
    if (!event.bus_bytes) return std::nullopt;
    const auto at = transfers_.find({kind_of(rank, event), group_size(rank, event), *event.bus_bytes});
    return at == transfers_.end() ? std::nullopt : std::optional(at->second);
  }

  static bool is_between_two(std::string_view kind) {
    return kind.find("send") != kind.npos || kind.find("Send") != kind.npos || kind.find("recv") != kind.npos ||
           kind.find("Recv") != kind.npos || kind.find("coalesced") != kind.npos;
  }

  [[nodiscard]] bool is_whole(const FleetMeeting& meeting) const {
    return meeting.attendance_count >= size_of_group(facts_.groups[meeting.group]);
  }

  // ns that its bytes take; missing: unknown.
  std::optional<DurationNs> transfer_at_best(const RankSummary& rank, const SummaryCollective& event,
                                             const FleetMeeting* meeting) const {
    if (!event.bus_bytes) return std::nullopt;
    if (const auto measured = measured_transfer(rank, event)) return measured;
    double per_ns = 0;
    if (meeting != nullptr) {
      const auto known = best_.of(meeting->kind, size_of_group(facts_.groups[meeting->group]));
      per_ns = known.value_or(0) / 1e9;
    }
    if (per_ns <= 0) {
      const auto at = lone_best_.find({kind_of(rank, event), group_size(rank, event)});
      if (at != lone_best_.end()) per_ns = at->second.first > 0 ? at->second.first : at->second.second;
    }
    if (per_ns <= 0) return std::nullopt;
    return static_cast<DurationNs>(std::min(static_cast<double>(*event.bus_bytes) / per_ns, 1e18));
  }

  void add_event(std::uint32_t row, std::size_t index, RankStep& out) const {
    const RankSummary& rank = *meetings_.rows[row];
    const SummaryCollective& event = rank.collectives[index];
    const DurationNs length = minus_ns(event.end_ns, event.start_ns);
    if (length <= 0) return;
    const std::uint32_t at = meetings_.meeting_of[row][index];
    const FleetMeeting* meeting = at == kNoMeeting ? nullptr : &meetings_.all[at];
    DurationNs seen = 0, whole = 0;  // waits for ranks that are here; and in all
    if (meeting != nullptr) {
      out.has_met = true;
      seen = std::clamp<DurationNs>(minus_ns(meeting->last_arrival_ns, clock_.to_run(row, event.start_ns)), 0, length);
    }
    whole = seen;
    if (meeting == nullptr || !is_whole(*meeting)) {
      if (const auto transfer = transfer_at_best(rank, event, meeting)) whole = std::max(seen, length - *transfer);
    }
    const DurationNs exposed = std::max<DurationNs>(0, event.exposed_ns);
    constexpr DurationNs kMost = DurationNs{1} << 60;  // whatever a file says, sums stay numbers
    out.wait_ns = std::min(out.wait_ns + std::min(whole, exposed), kMost);
    const DurationNs missing =
        meeting == nullptr && facts_.missing_count == 0 ? 0 : std::min(whole, exposed) - std::min(seen, exposed);
    out.missing_ns += missing;
    if (is_between_two(kind_of(rank, event))) return;
    out.missing_together_ns = std::min(out.missing_together_ns + missing, kMost);
    const bool is_alone = meeting == nullptr && facts_.missing_count > 0 && group_size(rank, event) > 1;
    if (is_alone && !measured_transfer(rank, event))
      out.unmeasured_ns = std::min(out.unmeasured_ns + std::min(length, exposed) - std::min(whole, exposed), kMost);
  }

  void add_row(std::uint32_t row) {
    const RankSummary* rank = meetings_.rows[row];
    if (rank == nullptr) return;
    const auto& met = meetings_.meeting_of[row];
    if (std::all_of(met.begin(), met.end(), [](std::uint32_t at) { return at == kNoMeeting; })) return;
    const std::size_t first = all_.size();
    for (std::uint32_t step = 0; step < rank->steps.size(); ++step)
      all_.push_back({rank->steps[step].number, row, step});
    for (std::size_t i = 0; i < rank->collectives.size(); ++i) {
      const std::uint32_t step = rank->collectives[i].step;
      if (step < rank->steps.size()) add_event(row, i, all_[first + step]);
    }
    for (std::size_t at = first; at < all_.size(); ++at) {
      const SummaryStep& step = rank->steps[all_[at].step];
      // Waits of several groups at once are one loss of time.
      all_[at].wait_ns =
          std::clamp<DurationNs>(all_[at].wait_ns, 0, std::max<DurationNs>(0, step.exposed_communication_ns));
      all_[at].missing_ns = std::min(all_[at].missing_ns, all_[at].wait_ns);
      // That Stepscope stopped the rank is no work of it.
      const DurationNs stopped = std::min(own_stop_in(*rank, step), step.duration_ns - all_[at].wait_ns);
      all_[at].own_ns = step.duration_ns - all_[at].wait_ns - std::max<DurationNs>(0, stopped);
    }
  }

  template <class Visit>
  void each_step(const Visit& visit) {
    for (std::size_t from = 0, to = 0; from < all_.size(); from = to) {
      while (to < all_.size() && all_[to].number == all_[from].number) ++to;
      if (to - from >= 2) visit(std::span<RankStep>(all_).subspan(from, to - from));
    }
  }

  void make_steps() {
    std::vector<DurationNs> own, waits;
    each_step([&](std::span<RankStep> ranks) {
      FleetStep step;
      step.number = ranks.front().number;
      step.rank_count = ranks.size();
      own.clear();
      waits.clear();
      for (const RankStep& rank : ranks) {
        own.push_back(rank.own_ns);
        waits.push_back(rank.wait_ns);
        step.slowest_duration_ns =
            std::max(step.slowest_duration_ns, meetings_.rows[rank.row]->steps[rank.step].duration_ns);
      }
      const auto slowest = std::max_element(own.begin(), own.end()) - own.begin();
      step.slowest = ranks[static_cast<std::size_t>(slowest)].row;
      step.slowest_own_ns = own[static_cast<std::size_t>(slowest)];
      ++facts_.ranks[step.slowest].slowest_step_count;
      step.typical_own_ns = lower_median(own);
      step.median_wait_ns = lower_median(waits);
      facts_.steps.push_back(step);
      for (const RankStep& rank : ranks) facts_.rank_steps.push_back(step_of(rank));
    });
  }

  [[nodiscard]] FleetRankStep step_of(const RankStep& rank) const {
    const SummaryStep& step = meetings_.rows[rank.row]->steps[rank.step];
    const DurationNs exposed =
        std::clamp<DurationNs>(step.exposed_communication_ns, rank.wait_ns, std::max(step.duration_ns, rank.wait_ns));
    return {rank.number,      rank.row,     clock_.to_run(rank.row, step.start_ns),
            step.duration_ns, rank.wait_ns, exposed - rank.wait_ns};
  }

  void find_widest_arrivals() {
    std::map<std::int64_t, const FleetMeeting*> widest;
    for (const FleetMeeting& meeting : meetings_.all) {
      if (facts_.groups[meeting.group].refuted) continue;
      const FleetMeeting*& best = widest[meeting.step_number];
      if (best == nullptr || spread_of(meeting) > spread_of(*best)) best = &meeting;
    }
    std::vector<DurationNs> arrivals;
    for (FleetStep& step : facts_.steps) {
      const auto at = widest.find(step.number);
      if (at == widest.end()) continue;
      const FleetMeeting& meeting = *at->second;
      arrivals.clear();
      for (std::uint32_t i = 0; i < meeting.attendance_count; ++i) {
        const Attendance& who = meetings_.attendances[meeting.first_attendance + i];
        arrivals.push_back(minus_ns(clock_.to_run(who.row, meetings_.event(who).start_ns), meeting.first_arrival_ns));
      }
      step.widest = FleetStep::Arrivals{
          meeting.group,         meetings_.kinds[meeting.kind],
          spread_of(meeting),    std::max<DurationNs>(0, minus_ns(meeting.first_end_ns, meeting.last_arrival_ns)),
          meeting.first_row,     meeting.last_row,
          lower_median(arrivals)};
    }
  }

  static DurationNs spread_of(const FleetMeeting& meeting) {
    return minus_ns(meeting.last_arrival_ns, meeting.first_arrival_ns);
  }

  [[nodiscard]] DurationNs slowest_step() const {
    DurationNs step = 1;
    for (const FleetRank& row : facts_.ranks) step = std::max(step, row.step_ns.value_or(0));
    return step;
  }

  void fill_ranks() {
    late_at_ns_ = static_cast<DurationNs>(kLateShare * static_cast<double>(slowest_step()));
    struct OfRank {
      std::vector<DurationNs> own, wait, late;
      std::size_t late_count = 0;
    };
    std::vector<OfRank> of(facts_.ranks.size());
    std::size_t at = 0;
    each_step([&](std::span<RankStep> ranks) {
      const FleetStep& step = facts_.steps[at++];
      for (const RankStep& rank : ranks) {
        OfRank& row = of[rank.row];
        row.own.push_back(rank.own_ns);
        row.wait.push_back(rank.wait_ns);
        row.late.push_back(rank.own_ns - step.typical_own_ns);
        row.late_count += row.late.back() >= late_at_ns_ ? 1 : 0;
      }
    });
    for (std::size_t row = 0; row < of.size(); ++row) {
      if (of[row].own.empty()) continue;
      FleetRank& rank = facts_.ranks[row];
      rank.late_step_ratio = static_cast<double>(of[row].late_count) / static_cast<double>(of[row].late.size());
      rank.own_ns = median_ns(of[row].own);
      rank.wait_ns = median_ns(of[row].wait);
      rank.late_ns = median_ns(of[row].late);
    }
    spread_waits();
  }

  // What a mean step of a rank consists of loses its waits.
  void spread_waits() {
    std::vector<DurationNs> sums(facts_.ranks.size(), 0);
    for (const RankStep& rank : all_) sums[rank.row] += rank.wait_ns;
    for (std::size_t row = 0; row < sums.size(); ++row) {
      FleetRank& rank = facts_.ranks[row];
      if (rank.step_count == 0) continue;
      rank.parts_ns[part_of(KernelClass::kCommunication)] -= sums[row] / static_cast<DurationNs>(rank.step_count);
    }
  }

  // By step, what every rank that is here waits, as far as one of them waits for a missing rank.
  std::vector<DurationNs> waits_of_all() {
    std::vector<DurationNs> waits;
    each_step([&](std::span<RankStep> ranks) {
      DurationNs least = ranks.front().wait_ns, missing = 0;
      for (const RankStep& rank : ranks) {
        least = std::min(least, rank.wait_ns);
        missing = std::max(missing, std::min(rank.missing_together_ns, rank.missing_ns));
      }
      waits.push_back(std::min(least, missing));
    });
    return waits;
  }

  void judge_missing() {
    if (facts_.missing_count == 0 || all_.empty()) return;
    std::vector<std::pair<DurationNs, std::int64_t>> sums(facts_.ranks.size());
    for (const RankStep& rank : all_) {
      sums[rank.row].first += rank.missing_ns;
      ++sums[rank.row].second;
    }
    std::vector<DurationNs> means;
    for (const auto& [sum, count] : sums) {
      if (count > 0) means.push_back(sum / count);
    }
    facts_.missing_wait_ns = std::max(lower_median(means), median_ns(waits_of_all()).value_or(0));
  }

  // How late a rank must be to stand out of the others.
  [[nodiscard]] DurationNs least_outlier() const {
    std::vector<DurationNs> late, deviations;
    for (const FleetRank& rank : facts_.ranks) {
      if (rank.late_ns) late.push_back(*rank.late_ns);
    }
    if (late.size() < kFewRanks) return 0;
    const DurationNs middle = lower_median(late);
    for (const DurationNs one : late) deviations.push_back(one < middle ? middle - one : one - middle);
    return middle +
           static_cast<DurationNs>(kDeviations * kDeviationOfMedian * static_cast<double>(lower_median(deviations)));
  }

  // By row, of a mean step.
  [[nodiscard]] std::vector<DurationNs> unmeasured_of_rows() const {
    std::vector<std::pair<DurationNs, std::int64_t>> sums(facts_.ranks.size());
    for (const RankStep& rank : all_) {
      sums[rank.row].first += rank.unmeasured_ns;
      ++sums[rank.row].second;
    }
    std::vector<DurationNs> means;
    for (const auto& [sum, count] : sums) means.push_back(count > 0 ? sum / count : 0);
    return means;
  }

  void find_stragglers() {
    const std::vector<DurationNs> unmeasured = unmeasured_of_rows();
    std::vector<std::size_t> late;
    std::size_t judged = 0;
    const DurationNs least = std::max(late_at_ns_, least_outlier());
    for (std::size_t row = 0; row < facts_.ranks.size(); ++row) {
      const FleetRank& rank = facts_.ranks[row];
      if (!rank.late_ns) continue;
      ++judged;
      if (*rank.late_ns - unmeasured[row] >= least && rank.late_step_ratio >= kSameRank) late.push_back(row);
    }
    std::stable_sort(late.begin(), late.end(),
                     [&](std::size_t a, std::size_t b) { return *facts_.ranks[a].late_ns > *facts_.ranks[b].late_ns; });
    std::vector<DurationNs> excess;
    for (const FleetStep& step : facts_.steps) excess.push_back(step.slowest_own_ns - step.typical_own_ns);
    facts_.median_excess_ns = median_ns(excess).value_or(0);
    const bool are_few = late.size() <= std::max<std::size_t>(1, judged / 4);
    if (!late.empty() && are_few) {
      facts_.stragglers = std::move(late);
      estimate_saving();
      return;
    }
    const double least_share = late.empty() ? kUnevenShare : kLateShare;
    facts_.is_uneven =
        static_cast<double>(facts_.median_excess_ns) >= least_share * static_cast<double>(slowest_step());
    if (facts_.is_uneven) facts_.uneven_ranks = std::move(late);
  }

  // In each step the slowest of the others decides.
  void estimate_saving() {
    std::vector<bool> is_late(facts_.ranks.size(), false);
    for (const std::size_t row : facts_.stragglers) is_late[row] = true;
    std::vector<DurationNs> savings;
    each_step([&](std::span<RankStep> ranks) {
      std::optional<DurationNs> all, others;
      for (const RankStep& rank : ranks) {
        all = std::max(all.value_or(rank.own_ns), rank.own_ns);
        if (!is_late[rank.row]) others = std::max(others.value_or(rank.own_ns), rank.own_ns);
      }
      if (others) savings.push_back(*all - *others);
    });
    if (savings.empty()) return;
    const auto [low, high] = std::minmax_element(savings.begin(), savings.end());
    Estimate saving{*low, 0, *high};
    saving.mid_ns = *median_ns(savings);
    facts_.straggler_saving = saving;
  }

  const Meetings& meetings_;
  const RunClock& clock_;
  FleetFacts& facts_;
  BestBandwidth best_;
  // (kind, ranks of the group) -> bytes a ns of large ones, of any
  std::map<std::pair<std::string_view, std::size_t>, std::pair<double, double>> lone_best_;
  // (kind, ranks of the group, bus bytes) -> ns
  std::map<std::tuple<std::string_view, std::size_t, std::int64_t>, DurationNs> transfers_;
  std::vector<RankStep> all_;  // by row, later by step
  DurationNs late_at_ns_ = 1;
};

}  // namespace

void judge_lateness(const Meetings& meetings, const RunClock& clock, FleetFacts& facts) {
  LatenessJudge(meetings, clock, facts).judge();
}

}  // namespace stepscope

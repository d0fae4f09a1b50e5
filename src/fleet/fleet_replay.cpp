// Gather what can be replayed, check it, then one scenario after the other.
//
// Against what was measured without the profiler (tests/recorded/fleet_replay_recorded_test.cpp): the straggler pair
// unchanged 59.3 ms (62 to 65), without its straggler 36.0 (37.4); docs/decisions/fleet-replay.md.
#include "fleet/fleet_replay.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>
#include <unordered_map>

#include "analyze/replay/saving.h"
#include "fleet/contended_edges.h"
#include "fleet/merged_replay.h"
#include "fleet/replay_keys.h"
#include "fleet/replay_meetings.h"
#include "stats/quantiles.h"

namespace stepscope {
namespace {

using Kind = SummaryReplayPoint::Kind;

constexpr double kLargestError = 0.01;
// Where communication decides, the replays without the profiler were off by up to 5% (two pairs on H200s).
constexpr DurationNs kModelErrorPercent = 5;
// How often what is regained beside shorter waits is reckoned anew: arrivals move when compute gets faster. The third
// time changed the recorded pairs by less than 0.1%.
constexpr int kRounds = 3;
constexpr std::size_t kMostSuspects = 3;

std::string percent(double ratio) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f%%", ratio * 100);
  return text;
}

std::string count_of(std::int64_t count, const char* one, const char* many) {
  return std::to_string(count) + " " + (count == 1 ? one : many);
}

// How far the ends of a step's estimate are from its middle, as shares of it.
struct Reach {
  double down = 0, up = 0;
};

// A rank alone is estimated with its host a quarter faster or slower, which reduced edges cannot tell: what is host in
// them is not known. The run waits for its slowest rank, so it is as uncertain as the most uncertain one.
Reach widest_reach(const std::vector<MergedRank>& ranks, std::optional<std::size_t> left_out) {
  Reach widest;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    const std::optional<Estimate>& own = ranks[r].summary->unprofiled_step;
    if (!own || own->mid_ns <= 0 || r == left_out) continue;
    const auto mid = static_cast<double>(own->mid_ns);
    widest.down = std::max(widest.down, 1 - static_cast<double>(own->low_ns) / mid);
    widest.up = std::max(widest.up, static_cast<double>(own->high_ns) / mid - 1);
  }
  return widest;
}

// What the profiler cost may be off and what the model is off are independent of each other, so they add up; no less
// than what a rank alone may be off; but the step without the profiler was never longer than the recorded one.
Estimate estimate_of(const Lanes& step, const Reach& reach) {
  const DurationNs error = step[kMid] * kModelErrorPercent / 100;
  const auto by = [&](double share) { return static_cast<DurationNs>(static_cast<double>(step[kMid]) * share); };
  const DurationNs low =
      std::min({step[kLow] - error, step[kMid] - error, step[kHigh] - error, step[kMid] - by(reach.down)});
  const DurationNs high =
      std::max({step[kLow] + error, step[kMid] + error, step[kHigh] + error, step[kMid] + by(reach.up)});
  return {std::max<DurationNs>(0, low), step[kMid], std::min(high, std::max(step[kMid], step[kRecorded]))};
}

class Fleet {
 public:
  Fleet(const Fleet&) = delete;  // contended_ refers to merged_
  Fleet& operator=(const Fleet&) = delete;
  Fleet(Roster roster, std::vector<MergedMeeting> meetings, CommonSteps steps, std::size_t kind_count)
      : index_(std::move(roster.index)),
        merged_(std::move(roster.ranks), std::move(meetings)),
        steps_(std::move(steps)),
        kind_count_(kind_count) {
    for (const MergedRank& rank : merged_.ranks()) keys_.push_back(compute_rank_keys(*rank.summary));
  }

  [[nodiscard]] Scenario scenario(MeetingRule rule) const {
    Scenario all;
    all.rules.assign(kind_count_, rule);
    return all;
  }

  // The run's median step with one end for each meeting; missing if collectives contradict each other.
  [[nodiscard]] std::optional<DurationNs> replay_simply() const {
    const Scenario one_end = scenario(MeetingRule::kOneEnd);
    const auto order = merged_.put_in_order(one_end);
    if (order.size() != merged_.count_points(one_end)) return std::nullopt;
    return median_step(merged_.evaluate(one_end, order, {}))[kRecorded];
  }

  // As recorded, on the common clock.
  [[nodiscard]] DurationNs recorded_step_ns() const {
    std::vector<DurationNs> durations;
    std::vector<std::vector<TimeNs>> start(merged_.ranks().size()), end(start);
    for (std::size_t r = 0; r < start.size(); ++r) {
      const MergedRank& rank = merged_.ranks()[r];
      start[r].assign(rank.summary->replay.step_count, 0);
      end[r] = start[r];
      for (const SummaryReplayPoint& point : rank.summary->replay.points) {
        if (point.kind == Kind::kStepStart) start[r][point.of] = point.recorded_ns + rank.clock_offset_ns;
        if (point.kind == Kind::kStepEnd) end[r][point.of] = point.recorded_ns + rank.clock_offset_ns;
      }
    }
    for (const std::vector<std::uint32_t>& step : steps_.index) {
      TimeNs from = std::numeric_limits<TimeNs>::min(), to = from;
      for (std::size_t r = 0; r < start.size(); ++r) {
        from = std::max(from, start[r][step[r]]);
        to = std::max(to, end[r][step[r]]);
      }
      durations.push_back(to - from);
    }
    return median_ns(durations).value_or(0);
  }

  // The unchanged run: what all else is compared with.
  void begin() {
    const Scenario unchanged = scenario(MeetingRule::kTogether);
    before_ = merged_.evaluate(unchanged, merged_.put_in_order(unchanged), {});
    step_before_ = median_step(before_);
    contended_.emplace(merged_.ranks(), keys_);
  }
  [[nodiscard]] const Lanes& step_before() const { return step_before_; }

  struct Outcome {
    Lanes step{};
    std::vector<DurationNs> own_step_ns;  // by place, its median step, unprofiled
  };
  // Missing if collectives contradict each other under it.
  [[nodiscard]] std::optional<Outcome> play(const Scenario& changed) const {
    const auto order = merged_.put_in_order(changed);
    if (order.size() != merged_.count_points(changed)) return std::nullopt;
    EdgeTimes less;
    MergedTimes after = merged_.evaluate(changed, order, less);
    for (int round = 0; round < kRounds; ++round) {
      less = compute_regained(changed, after);
      if (std::all_of(less.begin(), less.end(), [](const auto& of_rank) { return of_rank.empty(); })) break;
      after = merged_.evaluate(changed, order, less);
    }
    Outcome outcome;
    outcome.step = median_step(after);
    outcome.own_step_ns = own_steps(after);
    return outcome;
  }

  // Which rank is the median of those that run the same collectives, `rank` itself left out; by their own pace.
  [[nodiscard]] std::optional<std::size_t> find_median_rank(std::size_t rank,
                                                            const std::vector<DurationNs>& own_step_ns) const {
    std::vector<std::pair<DurationNs, std::size_t>> peers;
    for (std::size_t r = 0; r < keys_.size(); ++r) {
      if (r != rank && keys_[r].program == keys_[rank].program) peers.emplace_back(own_step_ns[r], r);
    }
    if (peers.empty()) return std::nullopt;
    const auto middle = peers.begin() + static_cast<std::ptrdiff_t>((peers.size() - 1) / 2);
    std::nth_element(peers.begin(), middle, peers.end());
    return middle->second;
  }

  [[nodiscard]] WorkSwap swap_for(std::size_t rank, std::size_t like) const {
    std::unordered_map<std::uint64_t, std::uint32_t> own;
    for (std::uint32_t c = 0; c < keys_[rank].of_collective.size(); ++c) own.emplace(keys_[rank].of_collective[c], c);
    WorkSwap swap{rank, like, {}};
    for (const std::uint64_t key : keys_[like].of_collective) {
      const auto found = own.find(key);
      swap.collective_of.push_back(found == own.end() ? 0 : found->second);
    }
    return swap;
  }

  // `left_out` does other work than it did.
  [[nodiscard]] Reach reach(std::optional<std::size_t> left_out = {}) const {
    return widest_reach(merged_.ranks(), left_out);
  }
  [[nodiscard]] std::uint32_t index_of(std::size_t place) const { return index_[place]; }
  [[nodiscard]] std::size_t rank_count() const { return index_.size(); }
  [[nodiscard]] std::size_t step_count() const { return steps_.index.size(); }

 private:
  [[nodiscard]] Lanes median_step(const MergedTimes& times) const {
    std::array<std::vector<DurationNs>, kLaneCount> durations;
    for (const std::vector<std::uint32_t>& step : steps_.index) {
      for (std::size_t lane = 0; lane < kLaneCount; ++lane) {
        DurationNs from = kNever, to = kNever;
        for (std::size_t r = 0; r < step.size(); ++r) {
          from = std::max(from, times.step_start[r][step[r]][lane]);
          to = std::max(to, times.step_end[r][step[r]][lane]);
        }
        durations[lane].push_back(to - from);
      }
    }
    Lanes medians{};
    for (std::size_t lane = 0; lane < kLaneCount; ++lane) medians[lane] = median_ns(durations[lane]).value_or(0);
    return medians;
  }

  [[nodiscard]] std::vector<DurationNs> own_steps(const MergedTimes& times) const {
    std::vector<DurationNs> medians, durations;
    for (std::size_t r = 0; r < index_.size(); ++r) {
      durations.clear();
      for (std::size_t step = 0; step < times.step_end[r].size(); ++step) {
        durations.push_back(times.step_end[r][step][kMid] - times.step_start[r][step][kMid]);
      }
      medians.push_back(median_ns(durations).value_or(0));
    }
    return medians;
  }

  [[nodiscard]] EdgeTimes compute_regained(const Scenario& changed, const MergedTimes& after) const {
    EdgeTimes less(index_.size());
    std::vector<double> gone;
    for (std::size_t r = 0; r < index_.size(); ++r) {
      const std::size_t work = changed.work_of(r);
      const std::vector<Lanes>& before = before_.length[work];
      gone.assign(before.size(), 0);
      bool any = false;
      for (std::uint32_t c = 0; c < before.size(); ++c) {
        const DurationNs was = before[c][kMid], is = after.length[r][changed.collective_of(r, c)][kMid];
        if (was <= 0 || is >= was) continue;
        gone[c] = static_cast<double>(was - is) / static_cast<double>(was);
        any = true;
      }
      if (any) less[r] = contended_->compute_regained(work, gone);
    }
    return less;
  }

  std::vector<std::uint32_t> index_;
  MergedReplay merged_;
  CommonSteps steps_;
  std::size_t kind_count_;
  std::vector<RankKeys> keys_;
  MergedTimes before_;
  Lanes step_before_{};
  std::optional<ContendedEdges> contended_;
};

FleetWhatIf answer(FleetTransform transform, const Fleet& fleet, const std::optional<Fleet::Outcome>& outcome,
                   std::optional<std::size_t> left_out = {}) {
  FleetWhatIf result;
  result.transform = transform;
  if (!outcome) {
    result.refused = "collectives would wait for each other in a circle";
    return result;
  }
  // Less work never makes the run longer, but may shift time from one step to the next; a median can follow that. No
  // step is shorter than nothing, whatever numbers a file holds: a saving would be more than the step.
  Lanes step = outcome->step;
  for (std::size_t lane = 0; lane < kLaneCount; ++lane)
    step[lane] = std::max<DurationNs>(0, std::min(step[lane], fleet.step_before()[lane]));
  result.step_unprofiled = estimate_of(step, fleet.reach(left_out));
  result.saving = saving_between(fleet.step_before(), step);
  cap_saving(result.saving, estimate_of(fleet.step_before(), fleet.reach()), result.step_unprofiled);
  result.step_recorded_ns = step[kRecorded];
  return result;
}

// Those that the others waited for most, of those that were waited for at all.
std::vector<std::uint32_t> choose_suspects(const std::vector<DurationNs>& late_ns) {
  std::vector<std::uint32_t> places;
  for (std::uint32_t r = 0; r < late_ns.size(); ++r) {
    if (late_ns[r] > 0) places.push_back(r);
  }
  std::stable_sort(places.begin(), places.end(), [&](auto a, auto b) { return late_ns[a] > late_ns[b]; });
  places.resize(std::min(places.size(), kMostSuspects));
  return places;
}

FleetWhatIf ask_rank(const Fleet& fleet, std::size_t place, const std::vector<DurationNs>& own_step_ns) {
  const auto like = fleet.find_median_rank(place, own_step_ns);
  FleetWhatIf result;
  if (like) {
    Scenario swapped = fleet.scenario(MeetingRule::kTogether);
    swapped.swap = fleet.swap_for(place, *like);
    result = answer(FleetTransform::kRankAsMedian, fleet, fleet.play(swapped), place);
    result.like_rank = fleet.index_of(*like);
  } else {
    result.transform = FleetTransform::kRankAsMedian;
    result.refused = "no other rank runs the same collectives";
  }
  result.rank = fleet.index_of(place);
  return result;
}

std::vector<std::string> list_remarks(const Roster& roster, const FleetReplay& replay) {
  std::vector<std::string> remarks;
  for (const auto& [why, count] : roster.left_out) {
    remarks.push_back(count_of(count, "rank is", "ranks are") + " not replayed: " + why);
  }
  const std::size_t recorded = count_common_recorded_steps(roster);
  if (replay.step_count > 0 && replay.step_count < recorded) {
    remarks.push_back("the replays that summaries hold leave out " + std::to_string(recorded - replay.step_count) +
                      " of " + count_of(static_cast<std::int64_t>(recorded), "step", "steps"));
  }
  if (replay.incomplete_count > 0) {
    remarks.push_back("of " + count_of(replay.meeting_count, "collective ", "collectives ") +
                      std::to_string(replay.incomplete_count) +
                      " lack ranks: what was waited for those counts as transfer and stays");
  }
  return remarks;
}

// Ranks of which nothing is replayed, and ranks that most collectives lack, may be those that were waited for.
std::optional<std::string> find_unknown_waits(bool lacks_ranks, const FleetReplay& replay) {
  if (lacks_ranks) return "ranks are not replayed, and what was waited for them is not known";
  if (replay.incomplete_count * 2 < replay.meeting_count) return std::nullopt;
  return "most collectives lack ranks, and what was waited for those is not known";
}

// The answers that are all about waits and transfers.
void refuse_waits(const std::optional<std::string>& unknown, FleetReplay& replay) {
  for (FleetWhatIf& what_if : replay.what_ifs) {
    const bool is_of_waits = what_if.transform == FleetTransform::kNobodyWaits ||
                             what_if.transform == FleetTransform::kCommunicationFree ||
                             what_if.transform == FleetTransform::kGroupFree;
    if (unknown && is_of_waits && !what_if.refused) what_if.refused = unknown;
  }
}

void ask_all(const Fleet& fleet, const GroupKinds& kinds, const std::vector<std::uint32_t>& suspects,
             FleetReplay& replay) {
  Fleet::Outcome unchanged;
  unchanged.step = fleet.step_before();
  replay.what_ifs.push_back(answer(FleetTransform::kUnchanged, fleet, unchanged));
  const auto in_time = fleet.play(fleet.scenario(MeetingRule::kInTime));
  std::vector<DurationNs> own_step_ns = in_time ? in_time->own_step_ns : std::vector<DurationNs>(fleet.rank_count(), 0);
  for (std::size_t r = 0; r < own_step_ns.size(); ++r) replay.own_step_ns[fleet.index_of(r)] = own_step_ns[r];
  for (const std::uint32_t place : suspects) replay.what_ifs.push_back(ask_rank(fleet, place, own_step_ns));
  replay.what_ifs.push_back(answer(FleetTransform::kNobodyWaits, fleet, in_time));
  replay.what_ifs.push_back(
      answer(FleetTransform::kCommunicationFree, fleet, fleet.play(fleet.scenario(MeetingRule::kFree))));
  if (kinds.words().size() < 2) return;
  for (std::size_t kind = 0; kind < kinds.words().size(); ++kind) {
    Scenario free = fleet.scenario(MeetingRule::kTogether);
    free.rules[kind] = MeetingRule::kFree;
    replay.what_ifs.push_back(answer(FleetTransform::kGroupFree, fleet, fleet.play(free)));
    replay.what_ifs.back().group = kinds.words()[kind];
  }
}

}  // namespace

std::string_view fleet_transform_name(FleetTransform transform) {
  switch (transform) {
    case FleetTransform::kUnchanged:
      return "unchanged";
    case FleetTransform::kRankAsMedian:
      return "rank_as_median";
    case FleetTransform::kNobodyWaits:
      return "nobody_waits";
    case FleetTransform::kCommunicationFree:
      return "communication_free";
    case FleetTransform::kGroupFree:
      return "group_free";
  }
  return "";
}

const FleetWhatIf* FleetReplay::find(FleetTransform transform, std::optional<std::uint32_t> rank) const {
  const auto at = std::find_if(what_ifs.begin(), what_ifs.end(), [&](const FleetWhatIf& what_if) {
    return what_if.transform == transform && (!rank || what_if.rank == rank);
  });
  return at == what_ifs.end() ? nullptr : &*at;
}

FleetReplay replay_fleet(const FleetReplayInput& input, std::span<const std::uint32_t> suspects) {
  FleetReplay replay;
  replay.own_step_ns.assign(input.run.ranks.size(), 0);
  Roster roster = take_ranks(input);
  replay.rank_count = roster.ranks.size();
  replay.refused = find_disorder(roster);
  if (replay.refused) return replay;
  GroupKinds kinds;
  Matched matched = join_meetings(input.meetings, roster, kinds);
  replay.meeting_count = static_cast<std::int64_t>(matched.meetings.size());
  replay.incomplete_count = matched.incomplete_count;
  CommonSteps steps = find_common_steps(roster);
  replay.step_count = steps.index.size();
  replay.remarks = list_remarks(roster, replay);
  if (steps.index.empty()) {
    replay.refused = "the ranks have no step in common";
    return replay;
  }
  std::vector<std::uint32_t> asked;
  for (const std::uint32_t rank : suspects) {
    if (rank < roster.place.size() && roster.place[rank] != kMeetsNobody) asked.push_back(roster.place[rank]);
  }
  if (suspects.empty()) asked = choose_suspects(matched.late_ns);
  const auto unknown = find_unknown_waits(!roster.left_out.empty(), replay);
  Fleet fleet(std::move(roster), std::move(matched.meetings), std::move(steps), kinds.words().size());
  replay.recorded_step_ns = fleet.recorded_step_ns();
  const auto replayed_ns = fleet.replay_simply();
  if (!replayed_ns) {
    replay.refused = "collectives that were matched wait for each other in a circle";
    return replay;
  }
  const auto recorded = static_cast<double>(replay.recorded_step_ns);
  replay.replay_error_ratio = recorded > 0 ? std::abs(static_cast<double>(*replayed_ns) - recorded) / recorded : 1;
  if (replay.replay_error_ratio > kLargestError) {
    replay.refused =
        "the ranks' clocks or collectives do not fit together: replayed, the step differs from the recorded "
        "one by " +
        percent(replay.replay_error_ratio);
    return replay;
  }
  fleet.begin();
  ask_all(fleet, kinds, asked, replay);
  refuse_waits(unknown, replay);
  return replay;
}

}  // namespace stepscope

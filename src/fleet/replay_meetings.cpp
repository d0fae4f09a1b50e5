// A collective without a replayed other is a meeting of one, so that every collective follows the same rules.
#include "fleet/replay_meetings.h"

#include <algorithm>
#include <span>

#include "fleet/replay_soundness.h"

namespace stepscope {
namespace {

using Kind = SummaryReplayPoint::Kind;

// Clocks of hosts are put on each other to about this; the root of a broadcast that ended earlier than that before the
// last arrival did not wait for it.
constexpr DurationNs kClockSlackNs = 100'000;
// Recordings of one run lie within 52 days.
constexpr DurationNs kMostApartNs = DurationNs{1} << 52;
constexpr TimeNs kLatestNs = TimeNs{1} << 62;
constexpr DurationNs kMostSumNs = DurationNs{1} << 60;

struct Occurrence {
  std::uint32_t place, collective;
  TimeNs start_ns, end_ns;  // on the common clock
};

// Has the collective points of its own on this rank?
std::vector<std::vector<std::uint8_t>> list_replayed(const Roster& roster) {
  std::vector<std::vector<std::uint8_t>> is_replayed;
  for (const MergedRank& rank : roster.ranks) {
    is_replayed.emplace_back(rank.summary->collectives.size(), 0);
    for (const SummaryReplayPoint& point : rank.summary->replay.points) {
      if (point.kind == Kind::kArrival) is_replayed.back()[point.of] = 1;
    }
  }
  return is_replayed;
}

class Joiner {
 public:
  Joiner(Roster& roster, GroupKinds& kinds) : roster_(roster), kinds_(kinds), is_replayed_(list_replayed(roster)) {
    matched_.late_ns.assign(roster.ranks.size(), 0);
  }

  Matched join(const std::vector<ReplayMeeting>& meetings) {
    for (const ReplayMeeting& meeting : meetings) {
      bool complete = meeting.complete;
      std::vector<Occurrence> members = present_members(meeting, complete);
      if (members.empty()) continue;
      if (!complete) ++matched_.incomplete_count;
      sort_by_arrival(members);
      std::vector<Occurrence> left_early;
      if (!meeting.ends_together) left_early = take_left_early(members);
      blame_last(members);
      add(members);
      for (const Occurrence& member : left_early) add({&member, 1});
    }
    join_rest();
    return std::move(matched_);
  }

 private:
  std::vector<Occurrence> present_members(const ReplayMeeting& meeting, bool& complete) {
    std::vector<Occurrence> members;
    for (const ReplayMember& member : meeting.members) {
      const std::uint32_t place = member.rank < roster_.place.size() ? roster_.place[member.rank] : kMeetsNobody;
      if (place != kMeetsNobody && is_free(place, member.collective)) {
        members.push_back(occurrence(place, member.collective));
      } else {
        complete = false;
      }
    }
    return members;
  }

  [[nodiscard]] bool is_free(std::uint32_t place, std::uint32_t collective) const {
    return collective < is_replayed_[place].size() && is_replayed_[place][collective] &&
           roster_.ranks[place].meeting_of[collective] == kMeetsNobody;
  }

  [[nodiscard]] Occurrence occurrence(std::uint32_t place, std::uint32_t collective) const {
    const MergedRank& rank = roster_.ranks[place];
    const SummaryCollective& own = rank.summary->collectives[collective];
    return {place, collective, own.start_ns + rank.clock_offset_ns, own.end_ns + rank.clock_offset_ns};
  }

  static void sort_by_arrival(std::vector<Occurrence>& members) {
    std::stable_sort(members.begin(), members.end(),
                     [](const auto& a, const auto& b) { return a.start_ns < b.start_ns; });
  }

  // What remains were there until the last had come.
  static std::vector<Occurrence> take_left_early(std::vector<Occurrence>& members) {
    const TimeNs last = members.back().start_ns;
    const auto stayed = std::stable_partition(members.begin(), members.end(), [&](const Occurrence& member) {
      return member.end_ns >= last - kClockSlackNs;
    });
    std::vector<Occurrence> left(stayed, members.end());
    members.erase(stayed, members.end());
    return left;
  }

  void blame_last(const std::vector<Occurrence>& members) {
    if (members.size() < 2) return;
    const Occurrence& typical = members[(members.size() - 1) / 2];
    matched_.late_ns[members.back().place] += members.back().start_ns - typical.start_ns;
  }

  void add(std::span<const Occurrence> members) {
    if (members.empty()) return;
    TimeNs first_end = members.front().end_ns;
    for (const Occurrence& member : members) first_end = std::min(first_end, member.end_ns);
    MergedMeeting joined;
    joined.member_count = static_cast<std::uint32_t>(members.size());
    joined.transfer_ns = std::max<DurationNs>(0, first_end - members.back().start_ns);
    const RankSummary& any = *roster_.ranks[members.front().place].summary;
    const std::uint32_t group = any.collectives[members.front().collective].group;
    joined.group_kind = kinds_.of(group < any.groups.size() ? any.groups[group] : SummaryGroup{});
    for (const Occurrence& member : members) {
      MergedRank& rank = roster_.ranks[member.place];
      rank.meeting_of[member.collective] = static_cast<std::uint32_t>(matched_.meetings.size());
      rank.residue_ns[member.collective] = member.end_ns - first_end;
    }
    matched_.meetings.push_back(joined);
  }

  // Collectives that nobody was found for are meetings of one.
  void join_rest() {
    for (std::uint32_t place = 0; place < roster_.ranks.size(); ++place) {
      const RankSummary& rank = *roster_.ranks[place].summary;
      for (std::uint32_t c = 0; c < rank.collectives.size(); ++c) {
        if (!is_free(place, c)) continue;
        const std::uint32_t group = rank.collectives[c].group;
        const bool alone = group < rank.groups.size() && rank.groups[group].ranks.size() == 1;
        if (!alone) ++matched_.incomplete_count;
        const Occurrence only = occurrence(place, c);
        add({&only, 1});
      }
    }
  }

  Roster& roster_;
  GroupKinds& kinds_;
  std::vector<std::vector<std::uint8_t>> is_replayed_;  // by place, by collective
  Matched matched_;
};

// Of the first `count_of(rank)` steps of each rank.
template <class Count>
CommonSteps common_steps(const Roster& roster, Count count_of) {
  std::map<std::int64_t, std::vector<std::uint32_t>> by_number;
  for (std::size_t r = 0; r < roster.ranks.size(); ++r) {
    const RankSummary& rank = *roster.ranks[r].summary;
    for (std::uint32_t step = 0; step < count_of(rank); ++step) {
      std::vector<std::uint32_t>& list = by_number[rank.steps[step].number];
      if (list.size() == r) list.push_back(step);
    }
  }
  CommonSteps common;
  for (auto& [number, list] : by_number) {
    const bool counts = !std::binary_search(roster.uncounted_steps.begin(), roster.uncounted_steps.end(), number);
    if (counts && list.size() == roster.ranks.size()) common.index.push_back(std::move(list));
  }
  return common;
}

}  // namespace

Roster take_ranks(const FleetReplayInput& input) {
  Roster roster;
  const std::size_t count = input.run.ranks.size();
  roster.place.assign(count, kMeetsNobody);
  roster.uncounted_steps = input.uncounted_steps;
  for (std::uint32_t r = 0; r < count; ++r) {
    if (r < input.is_used.size() && !input.is_used[r]) continue;
    const RankSummary& rank = input.run.ranks[r];
    std::optional<std::string> fault = rank.replay.refused;
    if (!fault) fault = find_replay_fault(rank);
    if (fault) {
      ++roster.left_out[*fault];
      continue;
    }
    roster.place[r] = static_cast<std::uint32_t>(roster.ranks.size());
    roster.index.push_back(r);
    MergedRank merged;
    merged.summary = &rank;
    merged.clock_offset_ns = r < input.clock_offset_ns.size() ? input.clock_offset_ns[r] : 0;
    merged.meeting_of.assign(rank.collectives.size(), kMeetsNobody);
    merged.residue_ns.assign(rank.collectives.size(), 0);
    roster.ranks.push_back(std::move(merged));
  }
  return roster;
}

std::optional<std::string> find_disorder(const Roster& roster) {
  if (roster.ranks.empty()) {
    if (roster.left_out.empty()) return "there is no rank";
    const auto most = std::max_element(roster.left_out.begin(), roster.left_out.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    return "no rank can be replayed: " + most->first;
  }
  const auto origin_of = [](const MergedRank& rank, TimeNs& at) {
    const TimeNs own = rank.summary->replay.points.front().recorded_ns;
    return !__builtin_add_overflow(own, rank.clock_offset_ns, &at) && at > -kLatestNs && at < kLatestNs;
  };
  TimeNs first = 0;
  bool is_sound = origin_of(roster.ranks.front(), first);
  DurationNs sum = 0;
  for (const MergedRank& rank : roster.ranks) {
    TimeNs at = 0;
    DurationNs apart = 0;
    is_sound = is_sound && origin_of(rank, at) && !__builtin_sub_overflow(at, first, &apart) && apart < kMostApartNs &&
               apart > -kMostApartNs;
    sum += bound_replay_ns(*rank.summary);
    if (!is_sound) return "the ranks were not recorded at the same time";
    if (sum > kMostSumNs) return "the ranks' times are beyond belief";
  }
  return std::nullopt;
}

Matched join_meetings(const std::vector<ReplayMeeting>& meetings, Roster& roster, GroupKinds& kinds) {
  return Joiner(roster, kinds).join(meetings);
}

CommonSteps find_common_steps(const Roster& roster) {
  return common_steps(roster, [](const RankSummary& rank) { return rank.replay.step_count; });
}

std::size_t count_common_recorded_steps(const Roster& roster) {
  return common_steps(roster, [](const RankSummary& rank) { return static_cast<std::uint32_t>(rank.steps.size()); })
      .index.size();
}

}  // namespace stepscope

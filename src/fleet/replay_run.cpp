// The passes of fleet_facts.cpp up to the clocks, once more: keeping their tables in the facts would double the memory
// of every answer for the few that are replayed.
#include "fleet/replay_run.h"

#include <algorithm>

#include "fleet/clocks.h"
#include "fleet/meetings.h"

namespace stepscope {
namespace {

// A recording lasts seconds, in which clocks drift by microseconds: one offset for a rank, in its middle.
DurationNs offset_of(const RunClock& clock, std::uint32_t row, const RankSummary& rank) {
  if (rank.replay.points.empty()) return 0;
  const TimeNs first = rank.replay.points.front().recorded_ns, last = rank.replay.points.back().recorded_ns;
  const TimeNs middle = first + (last - first) / 2;
  return clock.to_run(row, middle) - middle;
}

}  // namespace

FleetReplay replay_run(const RunSummary& run, const FleetFacts& facts) {
  FleetFacts scratch;
  scratch.world_size = facts.world_size;
  for (const FleetRank& row : facts.ranks) {
    FleetRank who;
    who.summary = row.summary;
    who.rank = row.rank;
    who.host_name = row.host_name;
    who.headline_withheld = row.headline_withheld;
    scratch.ranks.push_back(std::move(who));
  }
  Meetings meetings = match_collectives(run, scratch);
  const RunClock clock = put_on_one_clock(meetings, scratch);

  FleetReplayInput input{run, {}, {}, {}, {}};
  input.clock_offset_ns.assign(run.ranks.size(), 0);
  input.is_used.assign(run.ranks.size(), 0);
  for (std::uint32_t row = 0; row < meetings.rows.size(); ++row) {
    if (meetings.rows[row] == nullptr) continue;
    input.is_used[facts.ranks[row].summary] = 1;
    input.clock_offset_ns[facts.ranks[row].summary] = offset_of(clock, row, *meetings.rows[row]);
  }
  for (const FleetMeeting& meeting : meetings.all) {
    if (scratch.groups[meeting.group].refuted) continue;
    ReplayMeeting& joined = input.meetings.emplace_back();
    joined.complete = scratch.groups[meeting.group].is_whole;
    joined.ends_together = meeting.ends_together;
    for (std::uint32_t a = 0; a < meeting.attendance_count; ++a) {
      const Attendance& who = meetings.attendances[meeting.first_attendance + a];
      joined.members.push_back({static_cast<std::uint32_t>(facts.ranks[who.row].summary), who.collective});
    }
    const std::size_t group_size = scratch.groups[meeting.group].present_count;
    joined.complete = joined.complete && joined.members.size() == group_size;
  }
  // They stay in the graph: the steps after them begin where they end.
  if (!facts.stopped_everywhere) input.uncounted_steps = facts.stopped_steps;
  std::vector<std::uint32_t> suspects;
  for (const std::size_t row : facts.stragglers)
    suspects.push_back(static_cast<std::uint32_t>(facts.ranks[row].summary));
  return replay_fleet(input, suspects);
}

}  // namespace stepscope

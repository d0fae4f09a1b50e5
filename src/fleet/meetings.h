// Which events of different ranks are one collective: a meeting.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fleet/fleet_facts.h"

namespace stepscope {

inline constexpr std::uint32_t kNoMeeting = ~std::uint32_t{0};

struct Attendance {
  std::uint32_t row = 0;         // index into FleetFacts::ranks
  std::uint32_t collective = 0;  // index into its summary's collectives
};

struct FleetMeeting {
  std::int64_t step_number = 0;
  std::uint32_t group = 0;    // index into FleetFacts::groups
  std::uint32_t kind = 0;     // index into Meetings::kinds
  bool ends_together = true;  // not of sends and of collectives with a root
  std::uint32_t first_attendance = 0, attendance_count = 0;
  // On the run's clock; set by time_meetings.
  TimeNs first_arrival_ns = 0, last_arrival_ns = 0, first_end_ns = 0;
  std::uint32_t first_row = 0, last_row = 0;
};

struct Meetings {
  std::vector<const RankSummary*> rows;  // by row; those that judge nobody are null
  std::vector<std::string> kinds;
  std::vector<FleetMeeting> all;                       // by step, group and sequence
  std::vector<Attendance> attendances;                 // of all meetings, one after the other
  std::vector<std::vector<std::uint32_t>> meeting_of;  // [row][collective]; kNoMeeting
  std::vector<std::vector<std::uint32_t>>
      group_of;  // [row][its group]; index into FleetFacts::groups, kNoMeeting: alone

  [[nodiscard]] const SummaryCollective& event(const Attendance& who) const {
    return rows[who.row]->collectives[who.collective];
  }
};

// Fills groups, unmatched_count and left_out_step_count.
[[nodiscard]] Meetings match_collectives(const RunSummary& run, FleetFacts& facts);

// Step number of a collective, as its rank numbers its steps.
[[nodiscard]] std::int64_t step_number_of(const RankSummary& rank, const SummaryCollective& event);

}  // namespace stepscope

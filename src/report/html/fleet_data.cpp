// One table. Ranks are rows of the document's `fleet.ranks`, which stand in the order of the facts.
#include "report/html/fleet_data.h"

#include <algorithm>
#include <span>

#include "report/html/page_columns.h"
#include "report/html/page_container.h"

namespace stepscope {
namespace {

// The rows come by step; a step that does not fit whole is left out with all after it.
std::span<const FleetRankStep> rows_that_fit(const std::vector<FleetRankStep>& rows, std::size_t most) {
  std::size_t fitting = 0;
  for (std::size_t from = 0, to = 0; from < rows.size(); from = to) {
    while (to < rows.size() && rows[to].number == rows[from].number) ++to;
    if (to > most && from > 0) break;
    fitting = to;
  }
  return std::span(rows).first(fitting);
}

}  // namespace

std::string build_fleet_page_bytes(const FleetFacts& facts, std::size_t most_rows) {
  const std::span<const FleetRankStep> rows = rows_that_fit(facts.rank_steps, most_rows);
  const auto earlier = [](const FleetRankStep& a, const FleetRankStep& b) { return a.start_ns < b.start_ns; };
  const TimeNs origin = rows.empty() ? 0 : std::min_element(rows.begin(), rows.end(), earlier)->start_ns;
  PageTable table("rank_steps", rows.size());
  table.add_delta("rank", [&](std::size_t i) { return rows[i].row; });
  table.add_delta("step", [&](std::size_t i) { return rows[i].number; });
  table.add_delta("start_ns", [&](std::size_t i) { return rows[i].start_ns - origin; });
  table.add_uint("duration_ns", [&](std::size_t i) { return std::max<DurationNs>(rows[i].duration_ns, 0); });
  table.add_uint("wait_ns", [&](std::size_t i) { return rows[i].wait_ns; });
  table.add_uint("communication_ns", [&](std::size_t i) { return rows[i].communication_ns; });
  const nlohmann::ordered_json head = {{"origin_ns", std::to_string(origin)},
                                       {"left_out_count", facts.rank_steps.size() - rows.size()}};
  return write_page_container(head, {table});
}

std::string build_fleet_page_data(const FleetFacts& facts) {
  return facts.rank_steps.empty() ? "" : pack_for_page(build_fleet_page_bytes(facts));
}

}  // namespace stepscope

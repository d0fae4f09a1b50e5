// Each step of each rank of a run, for the lanes of the page's ranks: what the document of `report --json` leaves out,
// since 1,024 ranks with 100 steps would make megabytes of it.
#pragma once

#include <string>

#include "fleet/fleet_facts.h"

namespace stepscope {

// A row is 6 to 12 bytes of the page. Of more the last steps are left out, of all ranks alike.
inline constexpr std::size_t kMostFleetPageRows = 500'000;

// The columns as the page holds them (docs/formats/page.md); empty where no rank has met another.
[[nodiscard]] std::string build_fleet_page_data(const FleetFacts& facts);
// The same before packing.
[[nodiscard]] std::string build_fleet_page_bytes(const FleetFacts& facts, std::size_t most_rows = kMostFleetPageRows);

}  // namespace stepscope

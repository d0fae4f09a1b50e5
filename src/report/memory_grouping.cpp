// The words of --by, spelled once for the option, the JSON and the tables.
#include "report/memory_report.h"

namespace stepscope {
namespace {

constexpr std::array<std::string_view, 8> kNames = {"line",   "stack",  "category", "span",
                                                    "module", "device", "stream",   "pool"};

}  // namespace

std::string_view live_grouping_name(LiveGrouping by) { return kNames[static_cast<std::size_t>(by)]; }

std::optional<LiveGrouping> find_live_grouping(std::string_view name) {
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) return static_cast<LiveGrouping>(i);
  }
  return std::nullopt;
}

}  // namespace stepscope

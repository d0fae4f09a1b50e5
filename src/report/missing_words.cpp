// Other cycles of the schedule leave a gap as damage does, and nothing in the file tells which it was: so what is said
// is what was done about it, not a fault.
#include "report/missing_words.h"

#include <fmt/format.h>

#include <algorithm>

namespace stepscope {
namespace {

constexpr std::size_t kMostNamed = 4;

std::string range_text(const MissingSteps& range) {
  if (range.first == range.last) return fmt::format("#{}", range.first);
  return fmt::format("#{} to #{}", range.first, range.last);
}

}  // namespace

std::string missing_words(const std::vector<MissingSteps>& missing) {
  if (missing.empty()) return "";
  if (missing.size() == 1 && missing.front().first == missing.front().last) {
    return fmt::format("step {} is missing in the recording: the time of its gap is left out",
                       range_text(missing.front()));
  }
  std::string list;
  for (std::size_t i = 0; i < std::min(kMostNamed, missing.size()); ++i) {
    list += fmt::format("{}{}", list.empty() ? "" : ", ", range_text(missing[i]));
  }
  if (missing.size() > kMostNamed) list += ", …";
  return fmt::format("steps {} are missing in the recording: the time of their gap{} is left out", list,
                     missing.size() == 1 ? "" : "s");
}

std::string missing_short_words(const std::vector<MissingSteps>& missing) {
  if (missing.empty()) return "";
  return missing.size() == 1 ? fmt::format(" without {}", range_text(missing.front())) : std::string(", not all");
}

}  // namespace stepscope

// Other cycles of the schedule leave a gap as damage does, and nothing in the file tells which it was: so what is said
// is what was done about it, not a fault.
#include "report/missing_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "report/numbers.h"
#include "report/text.h"

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

std::string missing_words(const FleetFacts& facts) {
  constexpr std::size_t kMostLists = 3;
  std::map<std::vector<std::pair<std::int64_t, std::int64_t>>, std::vector<std::size_t>> rows_by_list;
  for (std::size_t row = 0; row < facts.ranks.size(); ++row) {
    std::vector<std::pair<std::int64_t, std::int64_t>> list;
    for (const MissingSteps& range : facts.ranks[row].missing_steps) list.emplace_back(range.first, range.last);
    if (!list.empty()) rows_by_list[std::move(list)].push_back(row);
  }
  std::vector<std::vector<std::size_t>> same;  // the first rank first
  for (auto& [list, rows] : rows_by_list) same.push_back(std::move(rows));
  std::sort(same.begin(), same.end());
  std::string text;
  std::size_t others = 0;
  for (std::size_t i = 0; i < same.size(); ++i) {
    const std::vector<std::size_t>& rows = same[i];
    if (i >= kMostLists) {
      others += rows.size();
      continue;
    }
    const FleetRank& first = facts.ranks[rows.front()];
    std::string who = clean_text(first.label);
    if (rows.size() == 2) who += " and " + clean_text(facts.ranks[rows.back()].label);
    if (rows.size() > 2) who += " and " + show_counted(static_cast<std::int64_t>(rows.size() - 1), "other");
    if (rows.size() > 1 && rows.size() == facts.ranks.size()) who = "all";
    text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", who, missing_words(first.missing_steps));
  }
  if (others > 0) text += fmt::format("; {} more skip other steps", others);
  return text;
}

namespace {

// "rank 0 and 3 others: ", of ranks whose count is above 0; "" where there is one rank alone. Missing: none's is.
struct Named {
  const FleetRank* first = nullptr;
  std::string who;
};
std::optional<Named> name_those_with(const FleetFacts& facts, std::int64_t FleetRank::*member) {
  Named named;
  std::int64_t count = 0;
  for (const FleetRank& rank : facts.ranks) {
    if (rank.*member <= 0) continue;
    if (named.first == nullptr) named.first = &rank;
    ++count;
  }
  if (named.first == nullptr) return std::nullopt;
  if (facts.ranks.size() == 1) return named;
  named.who = clean_text(named.first->label);
  if (count > 1) named.who += " and " + show_counted(count - 1, "other");
  named.who += ": ";
  return named;
}

}  // namespace

std::string not_kept_words(const FleetFacts& facts) {
  const auto named = name_those_with(facts, &FleetRank::steps_not_kept_count);
  if (!named) return "";
  const auto kept = static_cast<std::int64_t>(named->first->step_count);
  return fmt::format("{}only the first {} of {} are in the summary, and no figure knows the others", named->who,
                     show_count(kept), show_counted(kept + named->first->steps_not_kept_count, "step"));
}

std::string sample_words(const FleetFacts& facts) {
  const auto named = name_those_with(facts, &FleetRank::steps_spread_over_count);
  if (!named) return "";
  return fmt::format("{}{} of {}, spread over the recording, stand for all", named->who,
                     show_count(static_cast<std::int64_t>(named->first->step_count)),
                     show_counted(named->first->steps_spread_over_count, "step"));
}

std::string missing_short_words(const FleetFacts& facts) {
  if (facts.steps.empty()) return "";
  const std::int64_t first = facts.steps.front().number, last = facts.steps.back().number;
  const auto within = [&](const FleetRank& rank) {
    std::vector<MissingSteps> ranges;
    for (const MissingSteps& range : rank.missing_steps) {
      if (range.last > first && range.first < last) ranges.push_back(range);
    }
    return ranges;
  };
  const std::vector<MissingSteps> ranges = within(facts.ranks.front());
  const bool is_same = std::all_of(facts.ranks.begin(), facts.ranks.end(),
                                   [&](const FleetRank& rank) { return within(rank) == ranges; });
  return is_same ? missing_short_words(ranges) : ", not all";
}

}  // namespace stepscope

// Copies of one recording taken for runs would say that runs do not differ at all, and any difference would be certain.
// A copy is known by its content, as names and folders say nothing. Ranks of runs of different world sizes in one side
// are told apart as `fleet` does it (roster.h): the commonest size is compared. Recordings of different days are not,
// since several runs of one program are what a side is for.
#include "fleet/difference_runs.h"

#include <algorithm>

#include "fleet/summary_file.h"

namespace stepscope {
namespace {

std::string content_of(const RankSummary& rank) {
  RunSummary alone;
  alone.ranks.push_back(rank);
  alone.ranks.front().source.clear();
  return write_summary(alone);
}

// Cheap, and false for nearly all that are not the same.
bool may_be_same(const RankSummary& a, const RankSummary& b) {
  return a.rank == b.rank && a.event_count == b.event_count && a.steps.size() == b.steps.size() &&
         a.work.size() == b.work.size() &&
         (a.steps.empty() || (a.steps.front().start_ns == b.steps.front().start_ns &&
                              a.steps.front().duration_ns == b.steps.front().duration_ns));
}

std::string count_files(std::size_t count) { return std::to_string(count) + (count == 1 ? " file" : " files"); }

// Of every world size how many; those that do not say belong to any.
std::map<std::int64_t, std::size_t> world_sizes_of(const RunSummary& run) {
  std::map<std::int64_t, std::size_t> sizes;
  for (const RankSummary& rank : run.ranks) {
    if (rank.world_size && *rank.world_size > 0) ++sizes[*rank.world_size];
  }
  return sizes;
}

std::optional<std::int64_t> choose_world_size(const RunSummary& run, const std::string& side, ChosenRuns& chosen) {
  const auto sizes = world_sizes_of(run);
  if (sizes.size() < 2) return std::nullopt;
  const auto most =
      std::max_element(sizes.begin(), sizes.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  std::string text = side + " holds several runs: world sizes ";
  std::size_t at = 0;
  constexpr std::size_t kMostNamed = 4;
  for (const auto& [size, count] : sizes) {
    if (at == kMostNamed) {
      text += " and more";
      break;
    }
    text += (at++ == 0 ? "" : ", ") + std::to_string(size) + " (" + count_files(count) + ")";
  }
  chosen.doubts.push_back(text + "; only that of " + std::to_string(most->first) + " is compared");
  chosen.has_left_out = true;
  return most->first;
}

// Keeps the first of each recording; runs are in the canonical order of a summary, so the order of files is none.
void drop_copies(const std::string& side, ChosenRuns& chosen) {
  std::size_t copy_count = 0;
  std::string first_name, first_copy;
  for (auto& [rank, runs] : chosen.ranks) {
    RankRuns kept;
    for (const RankSummary* run : runs) {
      const auto same = std::find_if(kept.begin(), kept.end(),
                                     [&](const RankSummary* other) { return is_same_recording(*run, *other); });
      if (same == kept.end()) {
        kept.push_back(run);
      } else if (copy_count++ == 0) {
        first_name = (*same)->source;
        first_copy = run->source;
      }
    }
    runs = std::move(kept);
  }
  if (copy_count == 0) return;
  chosen.doubts.push_back(side + " holds copies of one recording, which count once: " + first_copy + " is " +
                          first_name +
                          (copy_count > 1 ? " (and " + std::to_string(copy_count - 1) + " more)" : std::string()));
}

}  // namespace

bool is_same_recording(const RankSummary& a, const RankSummary& b) {
  return may_be_same(a, b) && content_of(a) == content_of(b);
}

ChosenRuns choose_runs(const RunSummary& run, const std::string& side) {
  ChosenRuns chosen;
  const auto world_size = choose_world_size(run, side, chosen);
  for (const RankSummary& rank : run.ranks) {
    const bool is_foreign = world_size && rank.world_size && *rank.world_size > 0 && rank.world_size != world_size;
    if (!is_foreign && !rank.steps.empty()) chosen.ranks[rank.rank].push_back(&rank);
  }
  drop_copies(side, chosen);
  return chosen;
}

}  // namespace stepscope

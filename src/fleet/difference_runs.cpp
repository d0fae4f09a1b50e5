// Copies of one recording taken for runs would say that runs do not differ at all, and any difference would be certain.
// A copy is known by its content, as names and folders say nothing. Ranks of runs of different world sizes in one side
// are told apart as `fleet` does it (roster.h): the commonest size is compared. Recordings of different days are not,
// since several runs of one program are what a side is for.
#include "fleet/difference_runs.h"

#include <algorithm>

#include "fleet/recordings.h"

namespace stepscope {
namespace {

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

// Keeps the first of each recording; they are in the canonical order of a summary, so the order of files is none.
void drop_copies(const std::string& side, std::map<std::optional<std::int64_t>, Windows>& ranks, ChosenRuns& chosen) {
  std::size_t copy_count = 0;
  std::string first_name, first_copy;
  for (auto& [rank, recordings] : ranks) {
    Windows kept;
    for (const RankSummary* recording : recordings) {
      const auto same = std::find_if(kept.begin(), kept.end(),
                                     [&](const RankSummary* other) { return is_same_recording(*recording, *other); });
      if (same == kept.end()) {
        kept.push_back(recording);
      } else if (copy_count++ == 0) {
        first_name = (*same)->source;
        first_copy = recording->source;
      }
    }
    recordings = std::move(kept);
  }
  if (copy_count == 0) return;
  chosen.doubts.push_back(side + " holds copies of one recording, which count once: " + first_copy + " is " +
                          first_name +
                          (copy_count > 1 ? " (and " + std::to_string(copy_count - 1) + " more)" : std::string()));
}

}  // namespace

ChosenRuns choose_runs(const RunSummary& run, const std::string& side) {
  ChosenRuns chosen;
  const auto world_size = choose_world_size(run, side, chosen);
  std::map<std::optional<std::int64_t>, Windows> recordings;
  for (const RankSummary& rank : run.ranks) {
    const bool is_foreign = world_size && rank.world_size && *rank.world_size > 0 && rank.world_size != world_size;
    if (!is_foreign && !rank.steps.empty()) recordings[rank.rank].push_back(&rank);
  }
  drop_copies(side, recordings, chosen);
  std::vector<const RankSummary*> each;
  for (const auto& [rank, of_rank] : recordings) each.insert(each.end(), of_rank.begin(), of_rank.end());
  chosen.counted = CountedRecordings(each);
  for (const std::string& words : {chosen.counted.describe_stopped(), chosen.counted.describe_left_out()}) {
    if (!words.empty()) chosen.doubts.push_back(side + ": " + words);
  }
  ProcessList all;
  for (auto& [rank, of_rank] : recordings) {
    const ProcessList processes = group_by_process(std::move(of_rank));
    all.each.insert(all.each.end(), processes.each.begin(), processes.each.end());
    all.doubtful.insert(all.doubtful.end(), processes.doubtful.begin(), processes.doubtful.end());
    RankRuns& runs = chosen.ranks[rank] = processes.each;
    for (Windows& windows : runs) {
      for (const RankSummary*& window : windows) window = chosen.counted.of(window);
    }
  }
  for (const std::string& text : describe_windows(all)) chosen.windows.push_back(side + ": " + text);
  return chosen;
}

}  // namespace stepscope

// Nothing in a file names its process for sure (in containers all have the same number), so three signs have to agree:
// the number, the rank, and that what a process counts on goes on. Names of files were rejected: they are anybody's.
// Where they still fit several processes it is the newest: of programs that run one after the other in containers, the
// older ones are over. A copy is known by its content, for the same reason.
#include "fleet/recordings.h"

#include <algorithm>
#include <map>
#include <utility>

#include "fleet/gate.h"
#include "fleet/summary_file.h"

namespace stepscope {
namespace {

// As bytes, all but the name and the length of the file, which a copy in another form (a capture, a trace that was
// exported again) has its own of.
std::string content_of(const RankSummary& summary) {
  RunSummary alone;
  alone.ranks.push_back(summary);
  alone.ranks.front().source.clear();
  alone.ranks.front().text_bytes = 0;
  return write_summary(alone);
}

// Cheap, and false for nearly all that are not the same, so that few are written out to be compared.
bool may_be_same(const RankSummary& a, const RankSummary& b) {
  if (a.step_source == kCommandStepSource) return false;
  const auto same_step = [](const SummaryStep& x, const SummaryStep& y) {
    return x.start_ns == y.start_ns && x.duration_ns == y.duration_ns;
  };
  return a.rank == b.rank && a.event_count == b.event_count && a.work.size() == b.work.size() &&
         std::equal(a.steps.begin(), a.steps.end(), b.steps.begin(), b.steps.end(), same_step);
}

// Is `later` another window of the process of `earlier`? The process's number and rank agree, and what a process counts
// on goes on: CUPTI's numbers of its calls, or where there is no GPU the numbers of the steps and the time.
bool is_next_window(const RankSummary& earlier, const RankSummary& later) {
  if (!earlier.process_id || earlier.process_id != later.process_id || earlier.rank != later.rank) return false;
  if (earlier.host_name != later.host_name || are_strangers(earlier, later)) return false;
  if (earlier.last_correlation && later.first_correlation) return *later.first_correlation > *earlier.last_correlation;
  const auto before = start_of(earlier), after = start_of(later);
  if (!before || !after || earlier.last_correlation || later.first_correlation) return false;
  const SummaryStep& last = earlier.steps.back();
  return *after >= last.start_ns + last.duration_ns && later.steps.front().number > last.number;
}

// Starting a training program again takes longer than ranks differ in when their recording begins. Where this is wrong
// (a rank missing in some), the nearest is the right one all the same.
constexpr DurationNs kMostApartNs = 60'000'000'000;

bool has_rank(const Bundle& bundle, std::int64_t rank) {
  return std::any_of(bundle.ranks.begin(), bundle.ranks.end(),
                     [rank](const Windows& windows) { return windows.front()->rank == rank; });
}

// The distance from a bundle that may take the recording; missing: it may not.
std::optional<std::uint64_t> distance(const Bundle& bundle, const RankSummary& summary) {
  if (!summary.rank || !bundle.ranks.front().front()->rank || has_rank(bundle, *summary.rank)) return std::nullopt;
  if (are_strangers(*bundle.ranks.front().front(), summary)) return std::nullopt;
  const auto start = start_of(summary);
  if (!start || !bundle.start_ns) return start || bundle.start_ns ? std::nullopt : std::optional<std::uint64_t>(0);
  const auto low = static_cast<std::uint64_t>(std::min(*start, *bundle.start_ns));
  const auto apart = static_cast<std::uint64_t>(std::max(*start, *bundle.start_ns)) - low;
  return apart <= static_cast<std::uint64_t>(kMostApartNs) ? std::optional(apart) : std::nullopt;
}

}  // namespace

bool is_same_recording(const RankSummary& a, const RankSummary& b) {
  return may_be_same(a, b) && content_of(a) == content_of(b);
}

std::optional<TimeNs> start_of(const RankSummary& summary) {
  if (!summary.has_clock || summary.steps.empty()) return std::nullopt;
  return summary.steps.front().start_ns;
}

bool are_strangers(const RankSummary& a, const RankSummary& b) {
  const bool other_size = a.world_size && b.world_size && a.world_size != b.world_size;
  return other_size || (!a.backend.empty() && !b.backend.empty() && a.backend != b.backend);
}

std::vector<Windows> group_by_process(std::vector<const RankSummary*> recordings) {
  std::stable_sort(recordings.begin(), recordings.end(), [](const RankSummary* a, const RankSummary* b) {
    return std::pair(start_of(*a), a->first_correlation) < std::pair(start_of(*b), b->first_correlation);
  });
  std::vector<Windows> processes;
  std::map<std::pair<std::int64_t, std::optional<std::int64_t>>, std::vector<std::size_t>> by_number;  // and rank
  for (const RankSummary* summary : recordings) {
    std::vector<std::size_t>* same = nullptr;
    if (summary->process_id) same = &by_number[{*summary->process_id, summary->rank}];
    const auto process = same == nullptr ? std::vector<std::size_t>::reverse_iterator()
                                         : std::find_if(same->rbegin(), same->rend(), [&](std::size_t at) {
                                             return is_next_window(*processes[at].back(), *summary);
                                           });
    if (same != nullptr && process != same->rend()) {
      processes[*process].push_back(summary);
      continue;
    }
    if (same != nullptr) same->push_back(processes.size());
    processes.push_back({summary});
  }
  return processes;
}

std::vector<Bundle> bundle_ranks(std::vector<Windows> processes) {
  std::vector<Bundle> bundles;
  for (Windows& windows : processes) {
    const RankSummary& first = *windows.front();
    Bundle* nearest = nullptr;
    std::uint64_t least = 0;
    for (Bundle& bundle : bundles) {
      const auto apart = distance(bundle, first);
      if (!apart || (nearest != nullptr && *apart >= least)) continue;
      nearest = &bundle;
      least = *apart;
    }
    if (nearest == nullptr) {
      bundles.push_back({{}, start_of(first)});
      nearest = &bundles.back();
    }
    nearest->ranks.push_back(std::move(windows));
  }
  return bundles;
}

std::string describe_later_windows(const std::vector<Windows>& processes) {
  std::size_t count = 0;
  const RankSummary* first = nullptr;
  for (const Windows& windows : processes) {
    count += windows.size() - 1;
    if (first == nullptr && windows.size() > 1) first = windows[1];
  }
  if (first == nullptr) return "";
  const std::string others =
      count == 1 ? "" : " and " + std::to_string(count - 1) + (count == 2 ? " other" : " others");
  return (first->source.empty() ? "a recording" : first->source) + others +
         (count == 1 ? " is a later window of a process that is there already, and no run of its own"
                     : " are later windows of processes that are there already, and no runs of their own");
}

}  // namespace stepscope

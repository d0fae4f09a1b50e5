// Our own captures say when their process started, which tells two windows of one from a program that was started
// again. Nothing in other files names their process for sure (in containers all have the same number), so several signs
// have to agree: the number, the rank, that what a process counts on goes on, and that nothing says otherwise (another
// GPU or torch, times that overlap). Names of files were rejected: they are anybody's. So was baseTimeNanoseconds,
// which torch rounds down to 7,889,238 s, a quarter of a year, and which is the same for all programs of it. Where the
// signs still fit several processes it is the newest: of programs that run one after the other in containers, the older
// ones are over. A copy is known by its content, for the same reason.
//
// A program that is started again in a container and recorded later in its life has all these signs, too. What is left
// is time: windows of one process are minutes apart, or its steps fill what lies between them. Where hours lie between
// that no step accounts for, the two count as runs, and the answer says so: taken for one run, what differs between
// runs would be lost in it without a word.
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

// No evaluation or checkpoint that we know of keeps a program from its next window longer; a job that is queued again
// often waits longer.
constexpr double kLongPauseNs = 3600e9;
// Of a pause, what the steps in it must account for: evaluation may take as long as training does.
constexpr double kFilled = 0.5;

// From the end of one to the start of the other; missing: without a clock nobody knows. Real, since times of files may
// be any.
std::optional<double> pause_between(const RankSummary& earlier, const RankSummary& later) {
  if (!start_of(earlier) || !start_of(later)) return std::nullopt;
  const SummaryStep& last = earlier.steps.back();
  return static_cast<double>(later.steps.front().start_ns) - static_cast<double>(last.start_ns) -
         static_cast<double>(last.duration_ns);
}

double mean_step_ns(const RankSummary& summary) {
  double sum = 0;
  for (const SummaryStep& step : summary.steps) sum += static_cast<double>(step.duration_ns);
  return sum / static_cast<double>(summary.steps.size());
}

// Whether two recordings of one process number are of one process, where both say when theirs started: a process says
// the same nanosecond in each.
std::optional<bool> have_one_start(const RankSummary& a, const RankSummary& b) {
  if (!a.process_start_ns || !b.process_start_ns) return std::nullopt;
  return *a.process_start_ns == *b.process_start_ns;
}

// A long pause that the steps between do not account for by their numbers, where nothing says that it is one.
bool is_long_pause(const RankSummary& earlier, const RankSummary& later) {
  if (have_one_start(earlier, later)) return false;
  const auto pause = pause_between(earlier, later);
  if (!pause || *pause <= kLongPauseNs) return false;
  const double count =
      static_cast<double>(later.steps.front().number) - static_cast<double>(earlier.steps.back().number);
  return count * std::max(mean_step_ns(earlier), mean_step_ns(later)) < kFilled * *pause;
}

// As far as both say.
bool are_of_one_machine(const RankSummary& a, const RankSummary& b) {
  const bool same_number = a.device_number == b.device_number;
  const bool other_gpu =
      same_number && !a.device_name.empty() && !b.device_name.empty() && a.device_name != b.device_name;
  const bool other_torch = !a.torch_version.empty() && !b.torch_version.empty() && a.torch_version != b.torch_version;
  return a.host_name == b.host_name && !other_gpu && !other_torch;
}

// May `later` be another window of the process of `earlier`? The process's number and rank agree, and what a process
// counts on goes on: CUPTI's numbers of its calls, or where there is no GPU the numbers of the steps and the time.
bool may_be_next_window(const RankSummary& earlier, const RankSummary& later) {
  if (!earlier.process_id || earlier.process_id != later.process_id || earlier.rank != later.rank) return false;
  if (!are_of_one_machine(earlier, later) || are_strangers(earlier, later)) return false;
  if (const auto is_one = have_one_start(earlier, later)) return *is_one;
  const auto pause = pause_between(earlier, later);
  if (pause && *pause < 0) return false;
  if (earlier.last_correlation && later.first_correlation) return *later.first_correlation > *earlier.last_correlation;
  if (!pause || earlier.last_correlation || later.first_correlation) return false;
  return later.steps.front().number > earlier.steps.back().number;
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

ProcessList group_by_process(std::vector<const RankSummary*> recordings) {
  std::stable_sort(recordings.begin(), recordings.end(), [](const RankSummary* a, const RankSummary* b) {
    return std::pair(start_of(*a), a->first_correlation) < std::pair(start_of(*b), b->first_correlation);
  });
  ProcessList processes;
  std::map<std::pair<std::int64_t, std::optional<std::int64_t>>, std::vector<std::size_t>> by_number;  // and rank
  for (const RankSummary* summary : recordings) {
    if (!summary->process_id) {
      processes.each.push_back({summary});
      continue;
    }
    std::vector<std::size_t>& same = by_number[{*summary->process_id, summary->rank}];
    Windows* found = nullptr;
    const RankSummary* doubted = nullptr;  // of the newest process that only a long pause tells from it
    for (auto at = same.rbegin(); at != same.rend() && found == nullptr; ++at) {
      Windows& windows = processes.each[*at];
      if (!may_be_next_window(*windows.back(), *summary)) continue;
      if (!is_long_pause(*windows.back(), *summary)) {
        found = &windows;
      } else if (doubted == nullptr) {
        doubted = windows.back();
      }
    }
    if (found != nullptr) {
      found->push_back(summary);
      continue;
    }
    if (doubted != nullptr) processes.doubtful.push_back({summary, doubted});
    same.push_back(processes.each.size());
    processes.each.push_back({summary});
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

namespace {

std::string named(const RankSummary& summary) { return summary.source.empty() ? "a recording" : summary.source; }

std::string and_others(std::size_t count) {
  return count == 1 ? "" : " and " + std::to_string(count - 1) + (count == 2 ? " other" : " others");
}

// In hours or days: shorter pauses are none.
std::string describe_pause(double pause_ns) {
  const double hours = pause_ns / 3600e9;
  const bool are_days = hours >= 48;
  return std::to_string(static_cast<std::int64_t>(are_days ? hours / 24 : hours)) + (are_days ? " days" : " h");
}

std::string describe_later_windows(const std::vector<Windows>& processes) {
  std::size_t count = 0;
  const RankSummary* first = nullptr;
  for (const Windows& windows : processes) {
    count += windows.size() - 1;
    if (first == nullptr && windows.size() > 1) first = windows[1];
  }
  if (first == nullptr) return "";
  return named(*first) + and_others(count) +
         (count == 1 ? " is a later window of a process that is there already, and no run of its own"
                     : " are later windows of processes that are there already, and no runs of their own");
}

std::string describe_doubtful(const std::vector<DoubtfulProcess>& doubtful) {
  if (doubtful.empty()) return "";
  const auto [opening, before] = doubtful.front();
  const bool is_one = doubtful.size() == 1;
  return named(*opening) + and_others(doubtful.size()) +
         (is_one ? " counts as a run of its own" : " count as runs of their own") + ", though " +
         (is_one ? "it may be a later window" : "they may be later windows") + " of " + named(*before) +
         "'s process: " + describe_pause(pause_between(*before, *opening).value_or(0)) +
         " lie between, which no steps account for";
}

}  // namespace

std::vector<std::string> describe_windows(const ProcessList& processes) {
  std::vector<std::string> sentences;
  for (std::string text : {describe_later_windows(processes.each), describe_doubtful(processes.doubtful)}) {
    if (!text.empty()) sentences.push_back(std::move(text));
  }
  return sentences;
}

}  // namespace stepscope

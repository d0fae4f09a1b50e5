// Each run as a summary of its own. Most recordings hold no stops, and nothing is copied then.
#include "fleet/stopped_runs.h"

#include <algorithm>
#include <utility>

#include "fleet/roster.h"
#include "fleet/stopped_steps.h"

namespace stepscope {

CountedRecordings::CountedRecordings(const std::vector<const RankSummary*>& recordings) {
  const bool any = std::any_of(recordings.begin(), recordings.end(),
                               [](const RankSummary* recording) { return !recording->own_stops.empty(); });
  if (!any) return;
  std::vector<Windows> each;
  for (const RankSummary* recording : recordings) each.push_back({recording});
  std::stable_sort(each.begin(), each.end(),
                   [](const Windows& a, const Windows& b) { return start_of(*a.front()) < start_of(*b.front()); });
  for (const Bundle& bundle : bundle_ranks(std::move(each))) count_run(bundle);
}

void CountedRecordings::count_run(const Bundle& bundle) {
  const bool any = std::any_of(bundle.ranks.begin(), bundle.ranks.end(),
                               [](const Windows& windows) { return !windows.front()->own_stops.empty(); });
  if (!any) return;
  RunSummary run;
  for (const Windows& windows : bundle.ranks) run.ranks.push_back(*windows.front());
  FleetFacts facts;
  take_roster(run, facts);
  withhold_damaged(run, facts);
  std::optional<RunSummary> counted = leave_out_stopped_steps(run, facts);
  if (facts.stopped_everywhere && stopped_source_.empty()) {
    const std::string& source = bundle.ranks.front().front()->source;
    stopped_source_ = source.empty() ? "a recording" : source;
  }
  if (!counted) return;
  left_out_count_ += facts.stopped_steps.size();
  for (std::size_t i = 0; i < bundle.ranks.size(); ++i) {
    const RankSummary* recording = bundle.ranks[i].front();
    if (counted->ranks[i].steps.size() == recording->steps.size() || counted->ranks[i].steps.empty()) continue;
    auto kept = std::make_shared<const RankSummary>(std::move(counted->ranks[i]));
    recorded_.emplace(kept.get(), recording);
    counted_.emplace(recording, std::move(kept));
  }
}

const RankSummary* CountedRecordings::of(const RankSummary* recording) const {
  const auto at = counted_.find(recording);
  return at == counted_.end() ? recording : at->second.get();
}

const RankSummary* CountedRecordings::recorded(const RankSummary* counted) const {
  const auto at = recorded_.find(counted);
  return at == recorded_.end() ? counted : at->second;
}

std::string CountedRecordings::describe_left_out() const {
  if (left_out_count_ == 0) return "";
  return std::to_string(left_out_count_) + (left_out_count_ == 1 ? " step" : " steps") +
         " in which Stepscope itself stopped a rank " + (left_out_count_ == 1 ? "counts" : "count") + " on none";
}

std::string CountedRecordings::describe_stopped() const {
  if (stopped_source_.empty()) return "";
  return stopped_source_ + ": Stepscope itself stopped a rank in every step, and step times hold that";
}

}  // namespace stepscope

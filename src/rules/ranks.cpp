// Findings over several ranks of one run.
//
// Arrival times on one clock decide about a straggler, so what one rank alone guessed about it is dropped, and so is
// the exposed communication that waiting explains. Threshold: the median over steps of the largest arrival spread is
// 10 % of the step and the same rank is last in two thirds of the steps (1.9 % on a healthy pair, 40 % on the planted
// one). A spread without one guilty rank is noise of the network or of the hosts and belongs to
// exposed-communication. All other findings are shown once, from the rank where they cost most.
#include <algorithm>

#include "analyze/collectives.h"
#include "rules/costs.h"
#include "rules/rules.h"
#include "rules/wording.h"

namespace stepscope {
namespace {

constexpr double kSpread = 0.10;
constexpr double kSameRank = 2.0 / 3.0;

std::int64_t rank_number(std::span<const RuleInput> ranks, std::size_t at) {
  return ranks[at].trace.info.rank.value_or(static_cast<std::int64_t>(at));
}

std::string rank_name(std::span<const RuleInput> ranks, std::size_t at) {
  return "rank " + std::to_string(rank_number(ranks, at));
}

RankArrivals compute_arrivals(std::span<const RuleInput> ranks) {
  std::vector<RankTrace> traces;
  for (std::size_t at = 0; at < ranks.size(); ++at) {
    const DeviceBusy* busy = ranks[at].facts.main_busy();
    if (busy == nullptr || ranks[at].facts.ledger.headline_withheld) return {};
    traces.push_back({&ranks[at].trace, &ranks[at].facts.timeline, &ranks[at].facts.classes, &ranks[at].facts.steps,
                      busy->device, rank_number(ranks, at)});
  }
  return compute_rank_arrivals(traces);
}

// What the late rank's host did longer than the others' in the median: label and time a step.
std::string describe_meanwhile(std::span<const RuleInput> ranks, std::size_t late) {
  const Finding* best = nullptr;
  static const std::vector<Finding> kNone;
  const std::vector<Finding> own = ranks[late].facts.ledger.headline_withheld ? kNone : find_all(ranks[late]);
  for (const Finding& finding : own) {
    if (finding.severity != Severity::kFault || finding.id == "straggler" || finding.id == "exposed-communication")
      continue;
    best = &finding;
    break;
  }
  return best == nullptr ? std::string() : best->title;
}

DurationNs slowest_step(std::span<const RuleInput> ranks) {
  DurationNs step = 1;
  for (const RuleInput& rank : ranks) step = std::max(step, recorded_step_ns(rank));
  return step;
}

void add_clocks(const RankArrivals& arrivals, Finding& finding) {
  DurationNs skew = 0;
  for (const DurationNs offset : arrivals.clock_offsets_ns) skew = std::max<DurationNs>(skew, std::abs(offset));
  finding.evidence.push_back({arrivals.clocks_corrected
                                  ? "The hosts' clocks differ by " + format_duration(skew) +
                                        " (from the ends of the collectives); this is taken off."
                                  : "The ranks' clocks are taken to agree: ends of the collectives differ by " +
                                        format_duration(skew) + " in the median.",
                              std::nullopt});
}

// As recorded: the median spread, and the smallest and largest of any step.
Estimate spread_range(const RankArrivals& arrivals, DurationNs median) {
  Estimate out{median, median, median};
  for (const StepSpread& step : arrivals.steps) {
    out.low_ns = std::min(out.low_ns, step.spread_ns);
    out.high_ns = std::max(out.high_ns, step.spread_ns);
  }
  return out;
}

std::string file_name(const Trace& trace) {
  return trace.info.source.empty() ? std::string("FILE") : trace.info.source;
}

std::optional<Finding> find_late_rank(std::span<const RuleInput> ranks, const RankArrivals& arrivals) {
  if (!arrivals.median_spread_ns || !arrivals.late_rank) return std::nullopt;
  const DurationNs step = slowest_step(ranks);
  const DurationNs spread = *arrivals.median_spread_ns;
  const double share = static_cast<double>(spread) / static_cast<double>(step);
  if (share < kSpread || arrivals.late_ratio < kSameRank) return std::nullopt;

  const std::size_t late = *arrivals.late_rank;
  Finding finding;
  finding.id = "straggler";
  finding.severity = Severity::kFault;
  finding.title = "Rank " + std::to_string(rank_number(ranks, late)) + " comes " + format_duration(spread) +
                  " late to the collectives of each step, and every other rank waits for it";
  const StepSpread& example = arrivals.steps.front();
  std::string text = "In step " + std::to_string(example.step_number) + " ranks arrive";
  const TimeNs first = *std::min_element(example.arrivals_ns.begin(), example.arrivals_ns.end());
  for (std::size_t at = 0; at < ranks.size() && at < 8; ++at) {
    text += (at == 0 ? " at " : ", ") + format_duration(example.arrivals_ns[at] - first) + " (" + rank_name(ranks, at) +
            ")";
  }
  text += "; then data move for " + format_duration(example.transfer_ns) + ".";
  const GpuEventId event = example.events[late == 0 ? 1 : 0];
  const RuleInput& waiting = ranks[late == 0 ? 1 : 0];
  finding.evidence.push_back(
      {text, Interval{waiting.trace.gpu_events.start_ns[event], waiting.facts.timeline.end_ns[event]}});
  finding.evidence.push_back({"It is the last one in " + format_percent(arrivals.late_ratio) + " of " +
                                  count_of(static_cast<std::int64_t>(arrivals.steps.size()), "step", "steps") + "; " +
                                  format_count(static_cast<double>(arrivals.matched_count)) +
                                  " collectives were matched.",
                              std::nullopt});
  if (const std::string meanwhile = describe_meanwhile(ranks, late); !meanwhile.empty()) {
    finding.evidence.push_back({"Meanwhile on that rank: " + meanwhile + ".", std::nullopt});
  }
  add_clocks(arrivals, finding);
  finding.advice = {
      "Look at " + rank_name(ranks, late) + " alone: stepscope report " + file_name(ranks[late].trace),
      "If it does nothing else: its GPU clocks and neighbours (nvidia-smi -q -d CLOCK,PERFORMANCE), uneven "
      "batches or experts"};
  finding.saving = spread_range(arrivals, spread);
  finding.saving_ratio = share;
  finding.saving_as_recorded = true;
  finding.gain = "With all ranks in time the step would take about " +
                 format_duration(std::max<DurationNs>(0, step - spread)) + " instead of " + format_duration(step) +
                 " (as recorded).";
  return finding;
}

bool costs_more(const Finding& a, const Finding& b) {
  if (a.severity != b.severity) return a.severity < b.severity;
  return (a.saving ? a.saving->mid_ns : 0) > (b.saving ? b.saving->mid_ns : 0);
}

}  // namespace

std::vector<Finding> find_over_ranks(std::span<const RuleInput> ranks) {
  std::vector<Finding> out;
  const RankArrivals arrivals = compute_arrivals(ranks);
  auto late = find_late_rank(ranks, arrivals);
  const bool arrivals_known = arrivals.median_spread_ns.has_value();
  for (std::size_t at = 0; at < ranks.size(); ++at) {
    for (Finding& finding : find_all(ranks[at])) {
      if (arrivals_known && finding.id == "straggler") continue;
      if (late && finding.id == "exposed-communication") continue;
      finding.title = "Rank " + std::to_string(rank_number(ranks, at)) + ": " + finding.title;
      const auto same = std::find_if(out.begin(), out.end(), [&](const Finding& f) { return f.id == finding.id; });
      if (same == out.end()) {
        out.push_back(std::move(finding));
      } else if (costs_more(finding, *same)) {
        *same = std::move(finding);
      }
    }
  }
  sort_for_reading(out);
  // The late rank is the cause, and what it did meanwhile a detail of it, whatever the estimates say.
  if (late) {
    const auto place = std::find_if(out.begin(), out.end(), [](const Finding& f) {
      return f.id != "incomplete-data" && f.id != "launch-blocking";
    });
    out.insert(place, std::move(*late));
  }
  return out;
}

std::string write_ranks_verdict(std::span<const RuleInput> ranks, const std::vector<Finding>& findings) {
  for (const Finding& finding : findings) {
    if (finding.severity != Severity::kFault) continue;
    return finding.title + "." + (finding.gain.empty() ? "" : " " + finding.gain);
  }
  std::string out = "No fault found on " + count_of(static_cast<std::int64_t>(ranks.size()), "rank", "ranks") + ".";
  for (const Finding& finding : findings) {
    if (finding.id == "compute-bound") return out + " " + finding.title + ".";
  }
  return out;
}

}  // namespace stepscope

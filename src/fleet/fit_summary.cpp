// First everything is cut to the most that a summary may hold, which alone fits nearly every trace; then, line by line
// of a table, lists become shorter until the bytes are few enough. Bytes decide and not counts, since what a list costs
// depends on how much its numbers differ.
#include "fleet/fit_summary.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <utility>

#include "fleet/kept_steps.h"
#include "fleet/rank_runs.h"
#include "fleet/reduced_replay.h"
#include "fleet/summary_file.h"
#include "fleet/summary_limits.h"
#include "fleet/summary_pack.h"
#include "fleet/summary_payload.h"
#include "fleet/work_rows.h"

namespace stepscope {
namespace {

constexpr ReplayBudget kReplayBudget;

struct Limits {
  std::size_t steps = kMostSummarySteps;
  std::size_t work_rows = kMostWorkRows;
  std::size_t operators = kMostOperatorRows;
  std::size_t collectives = kMostSummaryCollectives;
  std::size_t findings = kMostSummaryFindings;
  std::size_t groups = kMostSummaryGroups;  // and names of collectives
  std::size_t text_bytes = kMostSummaryTextBytes;
  std::size_t replay_bytes = kReplayBudget.max_bytes_of_one_step;  // more: dropped
  bool keeps_group_ranks = true;
  bool keeps_finding_texts = true;  // evidence and advice
};

// What is given up, in this order, until it fits: docs/formats/summary.md has the table. Rows of work go first, since
// their tail is summed up and not lost; a replay of one step of thousands of collectives before collectives, which say
// of several steps who is late; steps go late, since noise is judged by their number. The last line fits
// whatever the numbers are: 64 steps of 20 numbers, 28 rows of 64, 256 collectives, each number at most 10 bytes, and
// some 150 texts.
constexpr Limits kLimits[] = {
    {},
    {.work_rows = 256},
    {.work_rows = 128, .operators = 128},
    {.work_rows = 64, .operators = 64},
    {.work_rows = 64, .operators = 64, .replay_bytes = kReplayBudget.max_bytes},
    {.work_rows = 64, .operators = 64, .collectives = 8192, .replay_bytes = kReplayBudget.max_bytes},
    {.work_rows = 64, .operators = 64, .collectives = 4096, .replay_bytes = kReplayBudget.max_bytes},
    {.work_rows = 32, .operators = 64, .collectives = 2048, .replay_bytes = kReplayBudget.max_bytes},
    {.steps = 512,
     .work_rows = 32,
     .operators = 64,
     .collectives = 2048,
     .findings = 16,
     .groups = 64,
     .replay_bytes = kReplayBudget.max_bytes},
    {.steps = 256,
     .work_rows = 32,
     .operators = 32,
     .collectives = 1024,
     .findings = 16,
     .groups = 64,
     .text_bytes = 256,
     .replay_bytes = 0,
     .keeps_group_ranks = false,
     .keeps_finding_texts = false},
    {.steps = 64,
     .work_rows = 16,
     .operators = 16,
     .collectives = 256,
     .findings = 16,
     .groups = 16,
     .text_bytes = 128,
     .replay_bytes = 0,
     .keeps_group_ranks = false,
     .keeps_finding_texts = false},
};

// A graph is whole or it is none.
void drop_replay(SummaryReplay& replay) {
  replay = {};
  replay.refused = "the graph of its waits does not fit a summary";
}

// Of the first ones, which earlier versions kept, the first; else what stands for all. A replay needs all of its steps.
void limit_steps(RankSummary& summary, std::size_t most) {
  const std::size_t count = summary.steps.size();
  if (count <= most) return;
  const bool are_first_ones = summary.steps_not_kept_count > 0 && !summary.are_steps_spread;
  summary.are_steps_spread = !are_first_ones;
  std::vector<bool> stays(count, false);
  std::fill_n(stays.begin(), most, true);
  if (!are_first_ones) stays = spread_steps(summary.steps, most);
  const auto replayed = static_cast<std::ptrdiff_t>(std::min<std::size_t>(summary.replay.step_count, count));
  if (std::find(stays.begin(), stays.begin() + replayed, false) != stays.begin() + replayed)
    drop_replay(summary.replay);
  keep_steps(summary, stays);
}

// Whole steps from the first on; of a first step that alone has too many, those that come first.
void limit_collectives(RankSummary& summary, std::size_t most) {
  std::vector<SummaryCollective>& all = summary.collectives;
  const auto past_steps = [&](const SummaryCollective& each) { return each.step >= summary.steps.size(); };
  auto end = std::find_if(all.begin(), all.end(), past_steps);
  if (static_cast<std::size_t>(end - all.begin()) > most) {
    end = all.begin() + static_cast<std::ptrdiff_t>(most);
    while (end != all.begin() && end->step > 0 && std::prev(end)->step == end->step) --end;
  }
  summary.collectives_not_kept_count += all.end() - end;
  all.erase(end, all.end());
}

void limit_operators(std::vector<SummaryOperator>& operators, std::size_t most) {
  std::vector<SummaryOperator> kept;
  SummaryOperator rest;
  for (SummaryOperator& row : operators) {
    if (!row.name.empty() && kept.size() < most) {
      kept.push_back(std::move(row));
      continue;
    }
    add_bounded(rest.count, row.count);
    add_bounded(rest.self_cpu_ns, row.self_cpu_ns);
  }
  if (rest.count > 0) kept.push_back(rest);
  operators = std::move(kept);
}

template <class Visit>
void for_each_text(RankSummary& summary, Visit&& visit) {
  for (std::string* text : {&summary.source, &summary.host_name, &summary.backend, &summary.device_name,
                            &summary.torch_version, &summary.step_source, &summary.step_detail, &summary.verdict}) {
    visit(*text);
  }
  for (std::optional<std::string>* text : {&summary.headline_withheld, &summary.replay.refused}) {
    if (*text) visit(**text);
  }
  for (SummaryGroup& group : summary.groups) {
    visit(group.name);
    visit(group.description);
  }
  for (std::string& name : summary.collective_names) visit(name);
  for (SummaryWork& work : summary.work) {
    for (std::string* text : {&work.operator_name, &work.shapes, &work.kernel, &work.place}) visit(*text);
  }
  for (SummaryOperator& row : summary.operators) visit(row.name);
  for (SummaryFinding& finding : summary.findings) {
    for (std::string* text : {&finding.id, &finding.severity, &finding.title}) visit(*text);
    for (std::string& text : finding.evidence) visit(text);
    for (std::string& text : finding.advice) visit(text);
  }
}

void limit_groups(RankSummary& summary, std::size_t most) {
  const std::size_t most_names = std::min(most, kMostCollectiveNames);
  const auto is_past = [&](const SummaryCollective& each) { return each.group >= most || each.name >= most_names; };
  summary.collectives_not_kept_count += static_cast<std::int64_t>(std::erase_if(summary.collectives, is_past));
  if (summary.groups.size() > most) summary.groups.resize(most);
  if (summary.collective_names.size() > most_names) summary.collective_names.resize(most_names);
}

// Of a cut list the first ones: rules say the most telling first.
void limit_findings(std::vector<SummaryFinding>& findings, std::size_t most, bool keeps_texts) {
  if (findings.size() > most) findings.resize(most);
  for (SummaryFinding& finding : findings) {
    for (std::vector<std::string>* texts : {&finding.evidence, &finding.advice}) {
      if (!keeps_texts) texts->clear();
      if (texts->size() > kMostFindingTexts) texts->resize(kMostFindingTexts);
    }
  }
}

void limit_group_ranks(std::vector<SummaryGroup>& groups, bool keeps_any) {
  std::size_t runs = 0;
  for (SummaryGroup& group : groups) {
    const bool fits = keeps_any && group.ranks.size() <= kMostGroupRanks;
    const std::size_t needed = fits ? make_rank_runs(group.ranks).size() : 0;
    if (!fits || runs + needed > kMostRankRuns) {
      group.ranks.clear();
    } else {
      runs += needed;
    }
  }
}

void limit_replay(RankSummary& summary, std::size_t most_bytes) {
  SummaryReplay& replay = summary.replay;
  if (replay.points.size() <= kMostReplayPoints && replay.edges.size() <= kMostReplayEdges &&
      estimate_replay_bytes(replay) <= most_bytes) {
    return;
  }
  if (replay.points.empty() && replay.edges.empty()) return;
  drop_replay(replay);
}

// A capture flushed ten thousand times: what stops a step for long matters.
void keep_longest_stops(std::vector<SummaryStop>& stops) {
  std::stable_sort(stops.begin(), stops.end(),
                   [](const SummaryStop& a, const SummaryStop& b) { return a.length_ns > b.length_ns; });
  stops.resize(kMostOwnStops);
  std::sort(stops.begin(), stops.end(), [](const SummaryStop& a, const SummaryStop& b) {
    return std::pair(a.start_ns, a.length_ns) < std::pair(b.start_ns, b.length_ns);
  });
}

bool points_into(const RankSummary& summary) {
  if (summary.replay.step_count > summary.steps.size()) return false;
  return std::all_of(summary.replay.points.begin(), summary.replay.points.end(), [&](const SummaryReplayPoint& point) {
    using Kind = SummaryReplayPoint::Kind;
    const bool is_meeting = point.kind == Kind::kReady || point.kind == Kind::kArrival || point.kind == Kind::kEnd;
    const bool is_step = point.kind == Kind::kStepStart || point.kind == Kind::kStepEnd;
    if (is_meeting) return point.of < summary.collectives.size();
    return point.of < summary.steps.size() + (is_step ? 0 : 1);
  });
}

void apply(const Limits& limits, RankSummary& summary) {
  limit_steps(summary, limits.steps);
  for (SummaryWork& row : summary.work) row.busy_by_step_ns.resize(summary.steps.size());
  limit_work_rows(summary.work, limits.work_rows);
  limit_operators(summary.operators, limits.operators);
  const std::size_t collectives_before = summary.collectives.size();
  limit_groups(summary, limits.groups);
  const bool are_renumbered = summary.collectives.size() < collectives_before;
  limit_collectives(summary, limits.collectives);
  limit_group_ranks(summary.groups, limits.keeps_group_ranks);
  limit_replay(summary, !are_renumbered && points_into(summary) ? limits.replay_bytes : 0);
  limit_findings(summary.findings, limits.findings, limits.keeps_finding_texts);
  if (summary.own_stops.size() > kMostOwnStops) keep_longest_stops(summary.own_stops);
  if (summary.steps_left_out.size() > kMostStepsLeftOut) summary.steps_left_out.resize(kMostStepsLeftOut);
  if (summary.missing_steps.size() > kMostMissingSteps) summary.missing_steps.resize(kMostMissingSteps);
  for_each_text(summary, [&](std::string& text) { text = fit_text(std::move(text), limits.text_bytes); });
}

void bound(std::int64_t& number, std::int64_t most) { number = std::clamp(number, -most, most); }
void bound(std::optional<std::int64_t>& bytes) {
  if (bytes && (*bytes < 0 || *bytes > kMostSummaryBytes)) bytes.reset();
}
void bound(std::optional<Estimate>& estimate) {
  if (!estimate) return;
  for (DurationNs* part : {&estimate->low_ns, &estimate->mid_ns, &estimate->high_ns}) bound(*part, kMostLengthNs);
}

void keep_rising(std::vector<MissingSteps>& ranges) {
  std::vector<MissingSteps> kept;
  for (const MissingSteps& range : ranges) {
    if (range.first <= range.last && (kept.empty() || kept.back().last < range.first)) kept.push_back(range);
  }
  ranges = std::move(kept);
}

// What a reader would refuse; only damage and invention get there.
void bound_numbers(RankSummary& summary) {
  bound(summary.device_memory_bytes);
  bound(summary.unprofiled_step);
  keep_rising(summary.missing_steps);
  for (SummaryStep& step : summary.steps) {
    bound(step.start_ns, kMostTimeNs);
    for (DurationNs* length :
         {&step.duration_ns, &step.host_span_ns, &step.gpu_busy_ns, &step.exposed_communication_ns}) {
      bound(*length, kMostLengthNs);
    }
    for (DurationNs& idle : step.idle_ns) bound(idle, kMostLengthNs);
    bound(step.allocated_peak_bytes);
    bound(step.reserved_peak_bytes);
  }
  for (SummaryStop& stop : summary.own_stops) {
    bound(stop.start_ns, kMostTimeNs);
    bound(stop.length_ns, kMostLengthNs);
  }
  for (SummaryCollective& each : summary.collectives) {
    bound(each.start_ns, kMostTimeNs);
    bound(each.end_ns, kMostTimeNs);
    bound(each.exposed_ns, kMostLengthNs);
    bound(each.bytes);
    bound(each.bus_bytes);
  }
  for (SummaryWork& row : summary.work) {
    bound(row.gpu_sum_ns, kMostLengthNs);
    for (DurationNs& busy : row.busy_by_step_ns) bound(busy, kMostLengthNs);
  }
  for (SummaryOperator& row : summary.operators) bound(row.self_cpu_ns, kMostLengthNs);
  for (SummaryFinding& finding : summary.findings) bound(finding.saving);
  for (SummaryReplayPoint& point : summary.replay.points) bound(point.recorded_ns, kMostTimeNs);
  for (SummaryReplayEdge& edge : summary.replay.edges) {
    for (DurationNs* length : {&edge.recorded_ns, &edge.unprofiled_ns, &edge.uncontended_ns}) {
      bound(*length, kMostLengthNs);
    }
  }
}

bool fits(std::string_view payload) {
  constexpr std::size_t kMost = kMaxRankSummaryBytes - kSummaryFrameBytes;
  if (payload.size() <= kMost) return true;
  return payload.size() <= kMostPayloadBytes && pack_payload(payload).bytes.size() <= kMost;
}

}  // namespace

std::string fit_text(std::string text, std::size_t most_bytes) {
  constexpr std::size_t kTailBytes = 20;  // "…", 3 bytes, a space and 16 digits
  if (text.size() <= most_bytes) return text;
  std::uint64_t hash = XXH3_64bits(text.data(), text.size());
  std::size_t end = most_bytes - kTailBytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  text.resize(end);
  text += "… ";
  for (int digit = 0; digit < 16; ++digit, hash <<= 4) text += "0123456789abcdef"[hash >> 60];
  return text;
}

std::string fit_and_encode(RankSummary& summary) {
  bound_numbers(summary);
  std::string payload;
  for (const Limits& limits : kLimits) {
    apply(limits, summary);
    payload = encode_rank(summary);
    if (fits(payload)) break;
  }
  return payload;
}

void fit_summary(RankSummary& summary) { static_cast<void>(fit_and_encode(summary)); }

void fit_unreadable(UnreadableRank& file) {
  file.source = fit_text(std::move(file.source), kMostSummaryTextBytes);
  file.reason = fit_text(std::move(file.reason), kMostSummaryTextBytes);
}

}  // namespace stepscope

// First everything is cut to the most that a summary may hold; that alone fits nearly every trace.
#include "fleet/fit_summary.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <utility>

#include "fleet/summary_limits.h"
#include "fleet/work_rows.h"

namespace stepscope {
namespace {

struct Limits {
  std::size_t steps = kMostSummarySteps;
  std::size_t work_rows = kMostWorkRows;
  std::size_t operators = kMostOperatorRows;
  std::size_t collectives = 16'384;
  std::size_t findings = kMostSummaryFindings;
  std::size_t text_bytes = kMostSummaryTextBytes;
  bool keeps_group_ranks = true;
  bool keeps_replay = true;
};

void limit_steps(RankSummary& summary, std::size_t most) {
  if (summary.steps.size() <= most) return;
  summary.steps_not_kept_count += static_cast<std::int64_t>(summary.steps.size() - most);
  summary.steps.resize(most);
  for (SummaryWork& work : summary.work) work.busy_by_step_ns.resize(most);
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
                            &summary.torch_version, &summary.step_source, &summary.verdict}) {
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
  }
}

void drop_replay(SummaryReplay& replay, const char* why) {
  if (replay.refused) return;
  replay = {};
  replay.refused = why;
}

void apply(const Limits& limits, RankSummary& summary) {
  limit_steps(summary, limits.steps);
  limit_work_rows(summary.work, limits.work_rows);
  limit_operators(summary.operators, limits.operators);
  const std::size_t collectives_before = summary.collectives.size();
  limit_collectives(summary, limits.collectives);
  if (summary.collectives.size() < collectives_before || !limits.keeps_replay) {
    drop_replay(summary.replay, "the graph of its waits does not fit a summary");
  }
  if (summary.findings.size() > limits.findings) summary.findings.resize(limits.findings);
  if (!limits.keeps_group_ranks) {
    for (SummaryGroup& group : summary.groups) group.ranks.clear();
  }
  for_each_text(summary, [&](std::string& text) { text = fit_text(std::move(text), limits.text_bytes); });
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

void fit_summary(RankSummary& summary) { apply(Limits{}, summary); }

}  // namespace stepscope

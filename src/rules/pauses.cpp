// The re-simulation removes all pauses at once, so the saving is shared out by length. Without it the idle gaps
// are read: a part of at least 5 ms blamed on Python or on no event is a pause; only the 32 longest gaps are kept,
// so this is a lower bound. 5 ms is long for the host of a training loop (a launch takes 5 us) and short against the
// pauses that hurt: Python's full garbage collection of a training program takes 20 to 200 ms. Without a GPU in the
// file a pause is such a stretch of the training thread in which no operator runs.
#include "rules/pauses.h"

#include <algorithm>
#include <map>
#include <set>

#include "rules/host_only.h"

namespace stepscope {
namespace {

constexpr DurationNs kPause = 5'000'000;

bool names_garbage_collection(std::string_view name) {
  return name.find("gc.collect") != std::string_view::npos ||
         name.find("function collect>") != std::string_view::npos || name.find("garbage") != std::string_view::npos ||
         name.find("gc.py") != std::string_view::npos;
}

bool is_silent(HostLabel label) { return label == HostLabel::kPython || label == HostLabel::kNoEvent; }

void add_pause(const RuleInput& input, StringId name, DurationNs length_ns, Interval example,
               std::vector<PauseSite>& out) {
  const std::string what = name.empty() ? "host, no event" : std::string(input.trace.text(name));
  auto site = std::find_if(out.begin(), out.end(), [&](const PauseSite& s) { return s.what == what; });
  if (site == out.end()) {
    out.push_back({what, names_garbage_collection(what), 0, 0, example});
    site = out.end() - 1;
  }
  site->per_step_ns += length_ns;
  ++site->count;
}

void finish_pauses(const RuleInput& input, std::vector<PauseSite>& out) {
  for (PauseSite& site : out) site.per_step_ns = per_step(input, site.per_step_ns);
  std::stable_sort(out.begin(), out.end(),
                   [](const PauseSite& a, const PauseSite& b) { return a.per_step_ns > b.per_step_ns; });
}

// A stretch of one step; it may go through many frames and has the name of the one that takes most of it.
struct SilentStretch {
  StringId name;
  Interval at;
};
std::vector<SilentStretch> silent_stretches(const std::vector<HostSlice>& slices) {
  std::vector<SilentStretch> out;
  for (std::size_t at = 0; at < slices.size(); ++at) {
    if (!is_silent(slices[at].label)) continue;
    const std::size_t begin = at;
    std::map<StringId, DurationNs> by_name;
    for (; at < slices.size() && is_silent(slices[at].label); ++at) {
      by_name[slices[at].detail] += slices[at].end_ns - slices[at].start_ns;
    }
    const auto most = std::max_element(by_name.begin(), by_name.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    const Interval stretch{slices[begin].start_ns, slices[at - 1].end_ns};
    if (stretch.length_ns() >= kPause) out.push_back({most->first, stretch});
  }
  return out;
}

LongPauses pauses_on_host(const RuleInput& input, bool garbage_collection) {
  LongPauses out;
  std::vector<DurationNs> by_step;
  for (const std::vector<HostSlice>& step : host_only_slices(input)) {
    by_step.push_back(0);
    for (const SilentStretch& each : silent_stretches(step)) {
      if (names_garbage_collection(input.trace.text(each.name)) != garbage_collection) continue;
      by_step.back() += each.at.length_ns();
      add_pause(input, each.name, each.at.length_ns(), each.at, out.sites);
    }
  }
  finish_pauses(input, out.sites);
  for (const PauseSite& site : out.sites) out.per_step_ns += site.per_step_ns;
  out.cost = host_only_cost(input, by_step);
  out.share = *out.cost.ratio;
  return out;
}

std::vector<PauseSite> pauses_in_gaps(const RuleInput& input) {
  std::vector<PauseSite> out;
  const DeviceIdle* idle = input.facts.main_idle();
  if (idle == nullptr) return out;
  for (const Gap& gap : idle->largest) {
    for (const GapPart& part : gap.blame) {
      if (is_silent(part.label) && part.length_ns >= kPause) add_pause(input, part.detail, part.length_ns, gap.at, out);
    }
  }
  finish_pauses(input, out);
  return out;
}

Estimate scaled(const Estimate& whole, double part) {
  const auto scale = [&](DurationNs ns) { return static_cast<DurationNs>(static_cast<double>(ns) * part); };
  return {scale(whole.low_ns), scale(whole.mid_ns), scale(whole.high_ns)};
}

}  // namespace

LongPauses gather_pauses(const RuleInput& input, bool garbage_collection) {
  if (input.facts.ledger.is_host_only) return pauses_on_host(input, garbage_collection);
  LongPauses out;
  const WhatIf* removed = input.facts.what_ifs.find(Transform::kPausesRemoved);
  const std::vector<PauseSite> all = removed != nullptr ? input.facts.what_ifs.pauses : pauses_in_gaps(input);
  DurationNs all_ns = 0;
  for (const PauseSite& site : all) {
    all_ns += site.per_step_ns;
    if (site.is_garbage_collection != garbage_collection) continue;
    out.per_step_ns += site.per_step_ns;
    out.sites.push_back(site);
  }
  if (out.sites.empty() || all_ns <= 0) return out;
  const double part = static_cast<double>(out.per_step_ns) / static_cast<double>(all_ns);
  if (removed != nullptr && removed->applies) {
    out.cost = cost_of(input, scaled(removed->saving, part), *removed);
    out.share = out.cost.ratio.value_or(0);
  } else if (removed == nullptr) {
    out.share = static_cast<double>(out.per_step_ns) / static_cast<double>(recorded_step_ns(input));
  }
  return out;
}

double share_opened_by_hidden_waits(const RuleInput& input) {
  const DeviceIdle* idle = input.facts.main_idle();
  if (idle == nullptr) return 0;
  std::set<CallId> hidden;
  for (const Wait& wait : input.facts.waits) {
    if (wait.hidden()) hidden.insert(wait.call);
  }
  DurationNs all = 0, opened = 0;
  for (const Gap& gap : idle->largest) {
    const bool has_pause = std::any_of(gap.blame.begin(), gap.blame.end(), [](const GapPart& part) {
      return is_silent(part.label) && part.length_ns >= kPause;
    });
    if (!has_pause) continue;
    all += gap.at.length_ns();
    if (gap.blocked_by && hidden.count(*gap.blocked_by) > 0) opened += gap.at.length_ns();
  }
  return all > 0 ? static_cast<double>(opened) / static_cast<double>(all) : 0;
}

}  // namespace stepscope

// The re-simulation removes all pauses at once, so the saving is shared out by length. Without it the idle gaps
// are read: a part of at least 5 ms blamed on Python or on no event is a pause; only the 32 longest gaps are kept,
// so this is a lower bound. 5 ms is long for the host of a training loop (a launch takes 5 us) and short against the
// pauses that hurt: Python's full garbage collection of a training program takes 20 to 200 ms.
#include "rules/pauses.h"

#include <algorithm>

namespace stepscope {
namespace {

constexpr DurationNs kPause = 5'000'000;

bool names_garbage_collection(std::string_view name) {
  return name.find("gc.collect") != std::string_view::npos ||
         name.find("function collect>") != std::string_view::npos || name.find("garbage") != std::string_view::npos ||
         name.find("gc.py") != std::string_view::npos;
}

std::vector<PauseSite> pauses_in_gaps(const RuleInput& input) {
  std::vector<PauseSite> out;
  const DeviceIdle* idle = input.facts.main_idle();
  if (idle == nullptr) return out;
  for (const Gap& gap : idle->largest) {
    for (const GapPart& part : gap.blame) {
      const bool silent = part.label == HostLabel::kPython || part.label == HostLabel::kNoEvent;
      if (!silent || part.length_ns < kPause) continue;
      const std::string what = part.detail.empty() ? "host, no event" : std::string(input.trace.text(part.detail));
      auto site = std::find_if(out.begin(), out.end(), [&](const PauseSite& s) { return s.what == what; });
      if (site == out.end()) {
        out.push_back({what, names_garbage_collection(what), 0, 0, gap.at});
        site = out.end() - 1;
      }
      site->per_step_ns += part.length_ns;
      ++site->count;
    }
  }
  for (PauseSite& site : out) site.per_step_ns = per_step(input, site.per_step_ns);
  std::stable_sort(out.begin(), out.end(),
                   [](const PauseSite& a, const PauseSite& b) { return a.per_step_ns > b.per_step_ns; });
  return out;
}

Estimate scaled(const Estimate& whole, double part) {
  const auto scale = [&](DurationNs ns) { return static_cast<DurationNs>(static_cast<double>(ns) * part); };
  return {scale(whole.low_ns), scale(whole.mid_ns), scale(whole.high_ns)};
}

}  // namespace

Pauses gather_pauses(const RuleInput& input, bool garbage_collection) {
  Pauses out;
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
    out.cost = cost_of(input, scaled(removed->saving, part));
    out.share = out.cost.ratio.value_or(0);
  } else if (removed == nullptr) {
    out.share = static_cast<double>(out.per_step_ns) / static_cast<double>(recorded_step_ns(input));
  }
  return out;
}

}  // namespace stepscope

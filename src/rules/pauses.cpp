// The re-simulation removes all pauses at once, so the saving is shared out by length. Without it the idle gaps
// are read: a part of at least 5 ms blamed on Python or on no event is a pause; only the 32 longest gaps are kept,
// so this is a lower bound. 5 ms is long for the host of a training loop (a launch takes 5 us) and short against the
// pauses that hurt: Python's full garbage collection of a training program takes 20 to 200 ms. Without a GPU in the
// file a pause is such a stretch of the training thread in which no operator runs.
#include "rules/pauses.h"

#include <algorithm>
#include <set>
#include <utility>

#include "rules/host_only.h"
#include "stats/quantiles.h"

namespace stepscope {
namespace {

constexpr DurationNs kPause = 5'000'000;

bool names_garbage_collection(std::string_view name) {
  return name.find("gc.collect") != std::string_view::npos ||
         name.find("function collect>") != std::string_view::npos || name.find("garbage") != std::string_view::npos ||
         name.find("gc.py") != std::string_view::npos;
}

bool is_silent(HostLabel label) { return label == HostLabel::kPython || label == HostLabel::kNoEvent; }

std::string name_of(const RuleInput& input, StringId name) {
  return name.empty() ? "host, no event" : std::string(input.trace.text(name));
}

void add_pause(const RuleInput& input, StringId name, DurationNs length_ns, Interval example,
               std::vector<PauseSite>& out) {
  const std::string what = name_of(input, name);
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

// What a frame has of the long silent stretches of one step. A stretch may go through many frames, and each has its own
// part of it: one name for the whole gave the line that sleeps 20 ms the 5 ms of the next one.
struct SilentPart {
  StringId name;
  DurationNs length_ns = 0;
  Interval longest;  // without another frame in it
};
void add_parts(const std::vector<HostSlice>& slices, std::size_t begin, std::size_t end, std::vector<SilentPart>& out) {
  const std::size_t first_of_stretch = out.size();
  for (std::size_t at = begin; at < end;) {
    Interval run{slices[at].start_ns, slices[at].end_ns};
    const StringId name = slices[at].detail;
    for (++at; at < end && slices[at].detail == name; ++at) run.end_ns = slices[at].end_ns;
    auto part = std::find_if(out.begin() + static_cast<std::ptrdiff_t>(first_of_stretch), out.end(),
                             [&](const SilentPart& each) { return each.name == name; });
    if (part == out.end()) part = out.insert(out.end(), {name, 0, run});
    part->length_ns += run.length_ns();
    if (run.length_ns() > part->longest.length_ns()) part->longest = run;
  }
}
std::vector<SilentPart> silent_parts(const std::vector<HostSlice>& slices) {
  std::vector<SilentPart> out;
  for (std::size_t at = 0; at < slices.size(); ++at) {
    if (!is_silent(slices[at].label)) continue;
    const std::size_t begin = at;
    while (at < slices.size() && is_silent(slices[at].label)) ++at;
    if (slices[at - 1].end_ns - slices[begin].start_ns >= kPause) add_parts(slices, begin, at, out);
  }
  return out;
}

// A site has its mean over the steps that pause as long as most do: one stretch of 600 ms in 30 steps is no matter of
// the step that is shown. Not its own median, since a frame is known from samples that may come less than once a step.
DurationNs typical_ns(const std::vector<DurationNs>& site_ns, const std::vector<DurationNs>& all_ns,
                      DurationNs median_of_all) {
  DurationNs sum = 0;
  DurationNs steps = 0, steps_with = 0;
  for (std::size_t step = 0; step < all_ns.size(); ++step) {
    if (all_ns[step] > 2 * median_of_all) continue;
    sum += site_ns[step];
    ++steps;
    if (site_ns[step] > 0) ++steps_with;
  }
  return steps == 0 || steps_with * 2 < steps ? 0 : std::min(sum / steps, median_of_all);
}

LongPauses pauses_on_host(const RuleInput& input, bool garbage_collection) {
  struct Site {
    PauseSite site;
    std::vector<DurationNs> by_step_ns;
    DurationNs all_ns = 0;
  };
  std::vector<Site> sites;
  const std::vector<std::vector<HostSlice>> steps = host_only_slices(input);
  std::vector<DurationNs> by_step_ns(steps.size());
  for (std::size_t step = 0; step < steps.size(); ++step) {
    for (const SilentPart& part : silent_parts(steps[step])) {
      const std::string what = name_of(input, part.name);
      if (names_garbage_collection(what) != garbage_collection) continue;
      by_step_ns[step] += part.length_ns;
      auto at = std::find_if(sites.begin(), sites.end(), [&](const Site& each) { return each.site.what == what; });
      if (at == sites.end()) {
        at = sites.insert(at, {{what, garbage_collection, 0, 0, part.longest}, {}, 0});
        at->by_step_ns.resize(steps.size());
      }
      at->by_step_ns[step] += part.length_ns;
      at->all_ns += part.length_ns;
      ++at->site.count;
      if (part.longest.length_ns() > at->site.example.length_ns()) at->site.example = part.longest;
    }
  }
  LongPauses out;
  out.per_step_ns = median_ns(by_step_ns).value_or(0);
  for (Site& each : sites) each.site.per_step_ns = typical_ns(each.by_step_ns, by_step_ns, out.per_step_ns);
  std::stable_sort(sites.begin(), sites.end(), [](const Site& a, const Site& b) {
    return std::pair(a.site.per_step_ns, a.all_ns) > std::pair(b.site.per_step_ns, b.all_ns);
  });
  for (Site& each : sites) out.sites.push_back(std::move(each.site));
  out.cost = host_only_cost(input, std::move(by_step_ns));
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

// What the replay saves, at most what silent stretches cost in the typical step, since the medians with and without
// them may be of different steps. And less the wait for data that a pause hides: while the training thread pauses the
// loader catches up, and in steps without a pause the GPU waits for it instead. A first step says nothing of that
// alone, as loaders start in it.
Estimate within_typical(const RuleInput& input, Estimate saving) {
  constexpr double kBeyond = 1.2;  // what is replayed without the profiler may differ from what was recorded
  constexpr std::size_t kLeastSteps = 2;
  const DeviceIdle* idle = input.facts.main_idle();
  if (idle == nullptr || idle->blame_by_step_ns.size() != input.facts.steps.steps.size()) return saving;
  std::vector<DurationNs> silent, loader, loader_without_pause, loader_beside_pause;
  const auto blamed = [](const IdleByCause& step, HostLabel label) { return step[static_cast<std::size_t>(label)]; };
  for (const IdleByCause& step : idle->blame_by_step_ns) {
    silent.push_back(blamed(step, HostLabel::kPython) + blamed(step, HostLabel::kNoEvent));
    loader.push_back(blamed(step, HostLabel::kDataLoader));
  }
  const DurationNs typical_ns = median_ns(silent).value_or(0);
  if (static_cast<double>(saving.mid_ns) > kBeyond * static_cast<double>(typical_ns)) {
    saving = {std::min(saving.low_ns, typical_ns), typical_ns, std::min(saving.high_ns, typical_ns)};
  }
  for (std::size_t step = 0; step < silent.size(); ++step) {
    (silent[step] * 2 < typical_ns ? loader_without_pause : loader_beside_pause).push_back(loader[step]);
  }
  if (loader_without_pause.size() < kLeastSteps) return saving;
  const DurationNs hidden_ns = median_ns(loader_without_pause).value_or(0) - median_ns(loader_beside_pause).value_or(0);
  for (DurationNs* end : {&saving.low_ns, &saving.mid_ns, &saving.high_ns}) {
    *end = std::max<DurationNs>(0, *end - std::max<DurationNs>(0, hidden_ns));
  }
  return saving;
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
    out.cost = cost_of(input, scaled(within_typical(input, removed->saving), part), *removed);
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

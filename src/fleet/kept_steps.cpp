// A random sample, by a hash of the step's number: ranks of one run, which know nothing of each other, keep the same
// steps, and of a sample a smaller one is the sample of the whole. The first ones alone were rejected, since a run that
// becomes slower later looks like one that does not; every fifth step, say, since what a program does every tenth would
// be in none of them or in half.
//
// Some stay wherever they stand: the first few, as ranks are replayed over consecutive steps (fleet/reduced_replay.h),
// and 32 of 1,024 move no median; the last, which says when the recording ended; and the steps of memory's peaks, of
// which only the largest counts.
#include "fleet/kept_steps.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "fleet/work_rows.h"

namespace stepscope {
namespace {

constexpr std::size_t kFirstSteps = 32;

// The finalizer of SplitMix64: each bit of the number moves every bit of the answer. The same on every machine, as
// files are compared byte by byte.
std::uint64_t mix(std::int64_t number) {
  std::uint64_t bits = static_cast<std::uint64_t>(number) + 0x9E3779B97F4A7C15U;
  bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9U;
  bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EBU;
  return bits ^ (bits >> 31);
}

template <class Peak>
std::size_t find_peak(std::span<const SummaryStep> steps, Peak peak) {
  const auto at = std::max_element(steps.begin(), steps.end(), [&](const SummaryStep& a, const SummaryStep& b) {
    return a.*peak < b.*peak;  // a missing one is the least
  });
  return static_cast<std::size_t>(at - steps.begin());
}

}  // namespace

std::vector<bool> spread_steps(std::span<const SummaryStep> steps, std::size_t most) {
  if (steps.size() <= most) return std::vector<bool>(steps.size(), true);
  std::vector<bool> stays(steps.size(), false);
  for (std::size_t i = 0; i < std::min(kFirstSteps, most / 16); ++i) stays[i] = true;
  stays.back() = true;
  stays[find_peak(steps, &SummaryStep::allocated_peak_bytes)] = true;
  stays[find_peak(steps, &SummaryStep::reserved_peak_bytes)] = true;
  std::vector<std::pair<std::uint64_t, std::size_t>> others;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (!stays[i]) others.emplace_back(mix(steps[i].number), i);
  }
  std::sort(others.begin(), others.end());
  const std::size_t chosen = steps.size() - others.size();
  for (std::size_t i = 0; chosen + i < most; ++i) stays[others[i].second] = true;
  return stays;
}

void keep_steps(RankSummary& summary, const std::vector<bool>& stays) {
  std::vector<std::optional<std::uint32_t>> moved;
  std::vector<SummaryStep> kept;
  for (std::size_t step = 0; step < summary.steps.size(); ++step) {
    moved.push_back(stays[step] ? std::optional(static_cast<std::uint32_t>(kept.size())) : std::nullopt);
    if (stays[step]) kept.push_back(summary.steps[step]);
  }
  add_bounded(summary.steps_not_kept_count, static_cast<std::int64_t>(summary.steps.size() - kept.size()));
  summary.steps = std::move(kept);
  const std::size_t lost = std::erase_if(summary.collectives, [&](const SummaryCollective& each) {
    return each.step >= moved.size() || !moved[each.step];
  });
  add_bounded(summary.collectives_not_kept_count, static_cast<std::int64_t>(lost));
  for (SummaryCollective& each : summary.collectives) each.step = *moved[each.step];
  for (SummaryWork& row : summary.work) {
    std::vector<DurationNs> busy;
    for (std::size_t step = 0; step < std::min(moved.size(), row.busy_by_step_ns.size()); ++step) {
      if (moved[step]) busy.push_back(row.busy_by_step_ns[step]);
    }
    row.busy_by_step_ns = std::move(busy);
  }
}

}  // namespace stepscope

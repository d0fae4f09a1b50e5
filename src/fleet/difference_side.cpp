// Rows of one identity are one row, and every step of every run has a value in every series.
#include "fleet/difference_side.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

namespace stepscope {
namespace {

// Eleven days: sums of so many steps as fit a summary stay far from the end of 64 bits.
constexpr DurationNs kLongestStepNs = 1'000'000'000'000'000;

bool is_time(DurationNs time_ns) { return time_ns >= 0 && time_ns <= kLongestStepNs; }

PartSeries zeros_like(const PartSeries& steps) {
  PartSeries zeros;
  for (const std::vector<double>& run : steps) zeros.emplace_back(run.size(), 0.0);
  return zeros;
}

DurationNs idle_of(const SummaryStep& step) {
  return std::accumulate(step.idle_ns.begin(), step.idle_ns.end(), DurationNs{0});
}

WorkIdentity identity_of(const SummaryWork& work, const SharedNames& names) {
  return {work.operator_name, names.has_shapes ? work.shapes : std::string(), work.kernel,
          names.has_places ? work.place : std::string(), work.kernel_class};
}

class WorkBuilder {
 public:
  WorkBuilder(RankSide& side, const SharedNames& names) : side_(side), names_(names) {}

  void run() {
    PartSeries rest = side_.gpu_busy_ns;
    for (std::size_t run = 0; run < side_.runs.size(); ++run) {
      std::size_t first_step = 0;
      for (const RankSummary* window : side_.runs[run]) {
        const auto steps = std::span(rest[run]).subspan(first_step, window->steps.size());
        for (const SummaryWork& work : window->work) add(work, run, first_step, steps);
        first_step += window->steps.size();
      }
    }
    const bool has_rest = std::any_of(rest.begin(), rest.end(), [](const std::vector<double>& steps) {
      return std::any_of(steps.begin(), steps.end(), [](double value) { return value > 0; });
    });
    if (!has_rest) return;
    WorkSeries& row = row_of({{}, {}, {}, {}, KernelClass::kOther});
    for (std::size_t run = 0; run < rest.size(); ++run) {
      for (std::size_t step = 0; step < rest[run].size(); ++step) row.busy_ns[run][step] += rest[run][step];
    }
  }

 private:
  WorkSeries& row_of(WorkIdentity identity) {
    const auto [at, is_new] = index_.try_emplace(std::move(identity), side_.work.size());
    if (is_new) side_.work.push_back({at->first, 0, zeros_like(side_.step_ns)});
    return side_.work[at->second];
  }

  // `rest`: of the steps of its window, which begin with the run's `first_step`.
  void add(const SummaryWork& work, std::size_t run, std::size_t first_step, std::span<double> rest) {
    WorkSeries& row = row_of(identity_of(work, names_));
    row.call_count +=
        static_cast<double>(work.count) / counted_steps(side_.runs[run]) / static_cast<double>(side_.runs.size());
    for (std::size_t step = 0; step < std::min(rest.size(), work.busy_by_step_ns.size()); ++step) {
      const auto busy = static_cast<double>(work.busy_by_step_ns[step]);
      row.busy_ns[run][first_step + step] += busy;
      rest[step] -= busy;
    }
  }

  RankSide& side_;
  const SharedNames& names_;
  std::map<WorkIdentity, std::size_t> index_;
};

}  // namespace

std::string find_contradiction(const RankSummary& rank) {
  std::vector<DurationNs> left;
  for (const SummaryStep& step : rank.steps) {
    if (!is_time(step.duration_ns) || !is_time(step.gpu_busy_ns) || !is_time(step.exposed_communication_ns) ||
        !std::all_of(step.idle_ns.begin(), step.idle_ns.end(), is_time)) {
      return "a step has a time that cannot be";
    }
    if (!rank.is_host_only && step.gpu_busy_ns + idle_of(step) != step.duration_ns) {
      return "busy and idle do not sum to the step";
    }
    const DurationNs most_exposed = rank.is_host_only ? step.duration_ns : step.gpu_busy_ns;
    if (step.exposed_communication_ns > most_exposed) return "more communication than busy time";
    left.push_back(step.gpu_busy_ns);
  }
  for (const SummaryWork& work : rank.work) {
    if (work.count < 0 || rank.steps_not_kept_count < 0 || work.busy_by_step_ns.size() > left.size())
      return "a row of work does not fit the steps";
    for (std::size_t step = 0; step < work.busy_by_step_ns.size(); ++step) {
      if (!is_time(work.busy_by_step_ns[step])) return "work has a time that cannot be";
      left[step] -= work.busy_by_step_ns[step];
      if (left[step] < 0) return "work sums to more than the busy time";
    }
  }
  for (const SummaryOperator& row : rank.operators) {
    if (row.count < 0 || row.self_cpu_ns < 0 || row.self_cpu_ns > kLongestStepNs * 1000) {
      return "an operator has a time that cannot be";
    }
  }
  return "";
}

Windows windows_of(const RankRuns& runs) {
  Windows all;
  for (const Windows& windows : runs) all.insert(all.end(), windows.begin(), windows.end());
  return all;
}

double counted_steps(const Windows& run) {
  double count = 0;
  for (const RankSummary* window : run) {
    count += static_cast<double>(window->steps.size()) + static_cast<double>(window->steps_not_kept_count);
  }
  return std::max(1.0, count);
}

RankSide build_rank_side(const RankRuns& runs, const SharedNames& names) {
  RankSide side;
  side.runs = runs;
  side.step_ns = series_of(runs, [](const SummaryStep& step) { return step.duration_ns; });
  side.gpu_busy_ns = series_of(runs, [](const SummaryStep& step) { return step.gpu_busy_ns; });
  side.idle_ns = series_of(runs, idle_of);
  side.exposed_ns = series_of(runs, [](const SummaryStep& step) { return step.exposed_communication_ns; });
  side.gpu_work_ns =
      series_of(runs, [](const SummaryStep& step) { return step.gpu_busy_ns - step.exposed_communication_ns; });
  for (std::size_t cause = 0; cause < kHostLabelCount; ++cause) {
    side.cause_ns[cause] = series_of(runs, [&](const SummaryStep& step) { return step.idle_ns[cause]; });
  }
  WorkBuilder(side, names).run();
  return side;
}

PartSeries sum_class(const RankSide& side, KernelClass kernel_class) {
  PartSeries sum = zeros_like(side.step_ns);
  for (const WorkSeries& row : side.work) {
    if (row.identity.kernel_class != kernel_class) continue;
    for (std::size_t run = 0; run < sum.size(); ++run) {
      for (std::size_t step = 0; step < sum[run].size(); ++step) sum[run][step] += row.busy_ns[run][step];
    }
  }
  return sum;
}

std::vector<DurationNs> apportion(std::span<const double> parts, DurationNs total) {
  std::vector<DurationNs> whole;
  std::vector<std::size_t> order(parts.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  DurationNs left = total;
  for (const double part : parts) {
    whole.push_back(static_cast<DurationNs>(std::floor(part)));
    left -= whole.back();
  }
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return parts[a] - std::floor(parts[a]) > parts[b] - std::floor(parts[b]);
  });
  if (order.empty()) return whole;
  // Rounding of the doubles may leave a little too much or too little; it goes round and round, and never below 0.
  for (std::size_t k = 0; left > 0; k = (k + 1) % order.size(), --left) ++whole[order[k]];
  for (std::size_t k = 0, idle = 0; left < 0 && idle < order.size(); k = (k + 1) % order.size()) {
    DurationNs& part = whole[order[order.size() - 1 - k]];
    idle = part > 0 ? 0 : idle + 1;
    if (part > 0) --part, ++left;
  }
  return whole;
}

}  // namespace stepscope

// Each side's mean step is cut into whole nanoseconds once, at the leaves: rows of work and causes of idle. Everything
// above them is a sum of leaves, so nothing that sums on paper fails to sum on screen.
#include "fleet/difference_rank.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "rules/finding.h"
#include "stats/quantiles.h"

namespace stepscope {
namespace {

// Rows below a thousandth of the step explain nothing alone and would cost the others their confidence; their class
// and the rest of the table still hold them.
constexpr double kSmallestJudgedRatio = 0.001;

double between_runs_of(const WorkIdentity& identity) {
  if (identity.kernel_class == KernelClass::kCommunication) return kHostBetweenRunsRatio;
  if (identity.kernel_class != KernelClass::kCopy) return kGpuBetweenRunsRatio;
  // CUDA's own words: "Memcpy HtoD (Pageable -> Device)". A copy without words may be of either kind.
  const bool is_pinned = identity.kernel.find("Pinned") != std::string::npos;
  const bool is_on_device = identity.kernel.find("DtoD") != std::string::npos;
  return is_pinned || is_on_device ? kCopyBetweenRunsRatio : kHostBetweenRunsRatio;
}

double between_runs_of(HostLabel cause) {
  return cause == HostLabel::kKernelGap ? kGapBetweenRunsRatio : kHostBetweenRunsRatio;
}

// The leaves of one side.
struct Leaves {
  std::vector<DurationNs> work_ns;  // by row of RankSide::work
  std::array<DurationNs, kHostLabelCount> cause_ns{};
  DurationNs exposed_ns = 0;
};

Leaves cut(const RankSide& side) {
  std::vector<double> parts;
  for (const WorkSeries& row : side.work) parts.push_back(mean_of_runs(row.busy_ns));
  for (const PartSeries& cause : side.cause_ns) parts.push_back(mean_of_runs(cause));
  const std::vector<DurationNs> whole = apportion(parts, std::llround(mean_of_runs(side.step_ns)));
  Leaves leaves;
  const auto causes = whole.end() - static_cast<std::ptrdiff_t>(kHostLabelCount);
  leaves.work_ns.assign(whole.begin(), causes);
  std::copy(causes, whole.end(), leaves.cause_ns.begin());
  leaves.exposed_ns = std::llround(mean_of_runs(side.exposed_ns));
  return leaves;
}

// A side's mean step, or a part of it, and how far runs of it lie apart: what one thing decides (the GPU's clock, its
// pauses, the host) goes up and down together, different things do not.
struct RunNoise {
  double whole_ns = 0;
  double gpu_ns = 0, gap_ns = 0, elsewhere_ns = 0;

  void add_work(const WorkIdentity& identity, double ns) {
    const double ratio = between_runs_of(identity);
    whole_ns += ns;
    (ratio == kGpuBetweenRunsRatio ? gpu_ns : elsewhere_ns) += ratio * ns;
  }
  void add_idle(HostLabel cause, double ns) {
    whole_ns += ns;
    (cause == HostLabel::kKernelGap ? gap_ns : elsewhere_ns) += between_runs_of(cause) * ns;
  }
  [[nodiscard]] double sum() const { return std::hypot(gpu_ns, gap_ns, elsewhere_ns); }
};

// Of two sides as one ratio that stands for either.
double between_runs_ratio(const RunNoise& before, const RunNoise& after) {
  const double whole = std::hypot(before.whole_ns, after.whole_ns);
  return whole > 0 ? std::hypot(before.sum(), after.sum()) / whole : 0;
}

class Builder {
 public:
  Builder(const RankSide& before, const RankSide& after, const CompareOptions& options)
      : before_(before), after_(after), options_(options), first_(cut(before)), second_(cut(after)) {}

  RankDifference run() {
    out_.before = describe(before_);
    out_.after = describe(after_);
    out_.is_host_only = is_host_only(before_) && is_host_only(after_);
    if (out_.is_host_only) {
      add_whole_step();
    } else {
      add_work();
      add_groups();
      add_totals();
    }
    add_operators();
    add_findings();
    add_memory();
    return std::move(out_);
  }

 private:
  static bool is_host_only(const RankSide& side) {
    const Windows all = windows_of(side.runs);
    return std::all_of(all.begin(), all.end(), [](const RankSummary* each) { return each->is_host_only; });
  }

  static DifferenceSide describe(const RankSide& side) {
    DifferenceSide out;
    std::vector<double> medians;
    const RankSummary& first = *side.runs.front().front();
    out.rank = first.rank;
    out.device_name = first.device_name;
    out.torch_version = first.torch_version;
    for (const Windows& run : side.runs) out.sources.push_back(run.front()->source);
    std::vector<double> all;
    for (const std::vector<double>& run : side.step_ns) {
      if (const auto median = quantile(run, 0.5)) medians.push_back(*median);
      all.insert(all.end(), run.begin(), run.end());
    }
    out.step_count = static_cast<std::int64_t>(all.size());
    out.median_ns = std::llround(quantile(medians, 0.5).value_or(0));
    out.least_ns = std::llround(quantile(all, 0).value_or(0));
    out.greatest_ns = std::llround(quantile(all, 1).value_or(0));
    out.unprofiled_step = estimate_of(side);
    return out;
  }

  void add_whole_step() {
    const DurationNs first = std::llround(mean_of_runs(before_.step_ns));
    const DurationNs second = std::llround(mean_of_runs(after_.step_ns));
    out_.mean_step = change(first, second, before_.step_ns, after_.step_ns, kHostBetweenRunsRatio, 1);
    compare_steps(kHostBetweenRunsRatio);
  }

  PartChange change(DurationNs before_ns, DurationNs after_ns, const PartSeries& before, const PartSeries& after,
                    double between_runs_ratio, std::size_t judged_together) const {
    const PartJudgement judgement =
        judge_part(before, after, {options_.confidence_ratio, between_runs_ratio, judged_together});
    PartChange change{before_ns, after_ns, std::nullopt, judgement.is_told && before_ns != after_ns};
    if (judgement.noise) change.noise_ns = std::llround(*judgement.noise);
    return change;
  }

  [[nodiscard]] bool is_judged(DurationNs before_ns, DurationNs after_ns) const {
    const double longest = std::max(mean_of_runs(before_.step_ns), mean_of_runs(after_.step_ns));
    return static_cast<double>(std::max(before_ns, after_ns)) >= kSmallestJudgedRatio * longest;
  }

  void add_work() {
    const std::vector<WorkPair> pairs = match_work(before_.work, after_.work);
    std::size_t judged = 0;
    for (const WorkPair& pair : pairs) {
      WorkDifference& row = out_.work.emplace_back();
      row.match = pair.match;
      if (pair.before) {
        row.before = before_.work[*pair.before].identity;
        row.before_call_count = before_.work[*pair.before].call_count;
        row.busy.before_ns = first_.work_ns[*pair.before];
      }
      if (pair.after) {
        row.after = after_.work[*pair.after].identity;
        row.after_call_count = after_.work[*pair.after].call_count;
        row.busy.after_ns = second_.work_ns[*pair.after];
      }
      judged += is_judged(row.busy.before_ns, row.busy.after_ns) ? 1 : 0;
      split(row);
    }
    const PartSeries none_before = zeros(before_), none_after = zeros(after_);
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      PartChange& busy = out_.work[i].busy;
      if (!is_judged(busy.before_ns, busy.after_ns)) continue;
      const PartSeries& first = pairs[i].before ? before_.work[*pairs[i].before].busy_ns : none_before;
      const PartSeries& second = pairs[i].after ? after_.work[*pairs[i].after].busy_ns : none_after;
      // Of a row that became another kind, the noisier kind.
      double ratio = 0;
      if (pairs[i].before) ratio = between_runs_of(out_.work[i].before);
      if (pairs[i].after) ratio = std::max(ratio, between_runs_of(out_.work[i].after));
      busy = change(busy.before_ns, busy.after_ns, first, second, ratio, judged);
    }
    sort_by_difference(out_.work, [](const WorkDifference& row) -> const PartChange& { return row.busy; });
  }

  static PartSeries zeros(const RankSide& side) {
    PartSeries series = side.step_ns;
    for (std::vector<double>& run : series) std::fill(run.begin(), run.end(), 0.0);
    return series;
  }

  // At the mean of both sides, so that swapping them changes the signs only.
  static void split(WorkDifference& row) {
    const double first = row.before_call_count, second = row.after_call_count;
    const DurationNs difference = row.busy.difference_ns();
    if (first <= 0 || second <= 0) {
      row.by_calls_ns = difference;
      return;
    }
    const double time = static_cast<double>(row.busy.before_ns) / first;
    const double later_time = static_cast<double>(row.busy.after_ns) / second;
    row.by_calls_ns = std::llround((second - first) * (time + later_time) / 2);
    row.by_time_ns = difference - row.by_calls_ns;
  }

  static double median_over(const PartSeries& series) {
    std::vector<double> medians;
    for (const std::vector<double>& run : series) {
      if (const auto median = quantile(run, 0.5)) medians.push_back(*median);
    }
    return quantile(medians, 0.5).value_or(0);
  }
  static DurationNs median_change(const PartSeries& before, const PartSeries& after) {
    return std::llround(median_over(after) - median_over(before));
  }

  void add_groups() {
    std::vector<std::size_t> causes;
    for (std::size_t i = 0; i < kHostLabelCount; ++i) {
      if (first_.cause_ns[i] > 0 || second_.cause_ns[i] > 0) causes.push_back(i);
    }
    std::map<KernelClass, PartChange> classes = sums_of_classes();
    const std::size_t together = causes.size() + classes.size();
    for (auto& [kernel_class, busy] : classes) {
      const auto is_class = [of = kernel_class](const WorkIdentity& identity) { return identity.kernel_class == of; };
      const double ratio =
          between_runs_ratio(noise_of_work(before_, first_, is_class), noise_of_work(after_, second_, is_class));
      out_.classes.push_back({kernel_class,
                              change(busy.before_ns, busy.after_ns, sum_class(before_, kernel_class),
                                     sum_class(after_, kernel_class), ratio, together),
                              median_change(sum_class(before_, kernel_class), sum_class(after_, kernel_class))});
    }
    for (const std::size_t i : causes) {
      out_.causes.push_back({static_cast<HostLabel>(i),
                             change(first_.cause_ns[i], second_.cause_ns[i], before_.cause_ns[i], after_.cause_ns[i],
                                    between_runs_of(static_cast<HostLabel>(i)), together),
                             median_change(before_.cause_ns[i], after_.cause_ns[i])});
    }
    sort_by_difference(out_.classes, [](const ClassDifference& row) -> const PartChange& { return row.busy; });
    sort_by_difference(out_.causes, [](const IdleDifference& row) -> const PartChange& { return row.idle; });
  }

  [[nodiscard]] std::map<KernelClass, PartChange> sums_of_classes() const {
    std::map<KernelClass, PartChange> classes;
    for (std::size_t i = 0; i < before_.work.size(); ++i) {
      classes[before_.work[i].identity.kernel_class].before_ns += first_.work_ns[i];
    }
    for (std::size_t i = 0; i < after_.work.size(); ++i) {
      classes[after_.work[i].identity.kernel_class].after_ns += second_.work_ns[i];
    }
    std::erase_if(classes, [](const auto& each) { return each.second.before_ns == 0 && each.second.after_ns == 0; });
    return classes;
  }

  template <class Wanted>
  static RunNoise noise_of_work(const RankSide& side, const Leaves& leaves, Wanted is_wanted) {
    RunNoise noise;
    for (std::size_t i = 0; i < side.work.size(); ++i) {
      const WorkIdentity& identity = side.work[i].identity;
      if (is_wanted(identity)) noise.add_work(identity, static_cast<double>(leaves.work_ns[i]));
    }
    return noise;
  }

  static RunNoise noise_of_idle(const Leaves& leaves, RunNoise noise) {
    for (std::size_t i = 0; i < kHostLabelCount; ++i) {
      noise.add_idle(static_cast<HostLabel>(i), static_cast<double>(leaves.cause_ns[i]));
    }
    return noise;
  }

  void add_totals() {
    PartChange busy, idle;
    for (const ClassDifference& row : out_.classes) add_part(row.busy, busy);
    for (const IdleDifference& row : out_.causes) add_part(row.idle, idle);
    const auto all = [](const WorkIdentity&) { return true; };
    const RunNoise busy_before = noise_of_work(before_, first_, all), busy_after = noise_of_work(after_, second_, all);
    out_.gpu_busy = change(busy.before_ns, busy.after_ns, before_.gpu_busy_ns, after_.gpu_busy_ns,
                           between_runs_ratio(busy_before, busy_after), 1);
    out_.idle = change(idle.before_ns, idle.after_ns, before_.idle_ns, after_.idle_ns,
                       between_runs_ratio(noise_of_idle(first_, {}), noise_of_idle(second_, {})), 1);
    out_.exposed_communication =
        change(first_.exposed_ns, second_.exposed_ns, before_.exposed_ns, after_.exposed_ns, kHostBetweenRunsRatio, 1);
    const auto computes = [](const WorkIdentity& identity) {
      return identity.kernel_class != KernelClass::kCommunication;
    };
    out_.gpu_work = change(
        busy.before_ns - first_.exposed_ns, busy.after_ns - second_.exposed_ns, before_.gpu_work_ns, after_.gpu_work_ns,
        between_runs_ratio(noise_of_work(before_, first_, computes), noise_of_work(after_, second_, computes)), 1);
    const double step_ratio =
        between_runs_ratio(noise_of_idle(first_, busy_before), noise_of_idle(second_, busy_after));
    out_.mean_step = change(busy.before_ns + idle.before_ns, busy.after_ns + idle.after_ns, before_.step_ns,
                            after_.step_ns, step_ratio, 1);
    compare_steps(step_ratio);
  }

  static void add_part(const PartChange& part, PartChange& sum) {
    sum.before_ns += part.before_ns;
    sum.after_ns += part.after_ns;
  }

  void compare_steps(double step_ratio) {
    CompareOptions options = options_;
    if (before_.runs.size() == 1 && after_.runs.size() == 1) {
      if (!options.between_runs_ratio) options.between_runs_ratio = step_ratio;
      out_.between_runs_ratio = options.between_runs_ratio;
    }
    out_.step = compare_samples(before_.step_ns, after_.step_ns, options);
  }

  struct OperatorSide {
    double call_count = 0, self_cpu_ns = 0;  // a step, mean over runs
    std::vector<double> by_run_ns;
  };

  static void add_operators_of(const RankSide& side, std::map<std::string, std::array<OperatorSide, 2>>& rows,
                               std::size_t which) {
    for (std::size_t run = 0; run < side.runs.size(); ++run) {
      const double steps = counted_steps(side.runs[run]);
      const auto runs = static_cast<double>(side.runs.size());
      for (const RankSummary* window : side.runs[run]) {
        for (const SummaryOperator& row : window->operators) {
          OperatorSide& at = rows[row.name][which];
          at.by_run_ns.resize(side.runs.size());
          at.by_run_ns[run] += static_cast<double>(row.self_cpu_ns) / steps;
          at.self_cpu_ns += static_cast<double>(row.self_cpu_ns) / steps / runs;
          at.call_count += static_cast<double>(row.count) / steps / runs;
        }
      }
    }
  }

  void add_operators() {
    std::map<std::string, std::array<OperatorSide, 2>> rows;
    add_operators_of(before_, rows, 0);
    add_operators_of(after_, rows, 1);
    for (auto& [name, sides] : rows) {
      sides[0].by_run_ns.resize(before_.runs.size());
      sides[1].by_run_ns.resize(after_.runs.size());
      OperatorDifference& row = out_.operators.emplace_back();
      row.name = name;
      row.before_call_count = sides[0].call_count;
      row.after_call_count = sides[1].call_count;
      row.self_cpu = judge_operator(sides, rows.size());
    }
    sort_by_difference(out_.operators, [](const OperatorDifference& row) -> const PartChange& { return row.self_cpu; });
  }

  [[nodiscard]] PartChange judge_operator(const std::array<OperatorSide, 2>& sides, std::size_t together) const {
    PartChange change{std::llround(sides[0].self_cpu_ns), std::llround(sides[1].self_cpu_ns), std::nullopt, false};
    const NoiseOptions options{options_.confidence_ratio, kHostBetweenRunsRatio, together};
    // One run a side: its mean stands for each of its steps, so that only the noise between runs is left.
    const auto series = [](const OperatorSide& side) {
      PartSeries runs;
      for (const double value : side.by_run_ns) runs.push_back({value, value});
      return runs;
    };
    const PartJudgement judgement = judge_part(series(sides[0]), series(sides[1]), options);
    if (judgement.noise) change.noise_ns = std::llround(*judgement.noise);
    change.is_told = judgement.is_told && change.difference_ns() != 0;
    return change;
  }

  // The median of several runs' estimates, each end for itself; of a run, of its windows.
  static std::optional<Estimate> estimate_of(const RankSide& side) {
    std::vector<Estimate> estimates;
    for (const Windows& run : side.runs) {
      std::vector<Estimate> of_run;
      for (const RankSummary* window : run) {
        if (!window->unprofiled_step) return std::nullopt;
        of_run.push_back(*window->unprofiled_step);
      }
      estimates.push_back(median_of(of_run));
    }
    if (estimates.empty()) return std::nullopt;
    return median_of(estimates);
  }

  // Not of none.
  static Estimate median_of(const std::vector<Estimate>& estimates) {
    std::vector<DurationNs> low, mid, high;
    for (const Estimate& each : estimates) {
      low.push_back(each.low_ns);
      mid.push_back(each.mid_ns);
      high.push_back(each.high_ns);
    }
    return {*median_ns(low), *median_ns(mid), *median_ns(high)};
  }

  // Of several runs: in at least half of them, with the numbers of the costliest. A run has what at least half of its
  // windows have.
  static std::map<std::string, SummaryFinding> findings_of(const RankSide& side) {
    std::map<std::string, SummaryFinding> worst;
    std::map<std::string, std::size_t> runs_with;
    for (const Windows& run : side.runs) {
      std::map<std::string, std::set<const RankSummary*>> windows_with;
      for (const RankSummary* window : run) {
        for (const SummaryFinding& finding : window->findings) {
          windows_with[finding.id].insert(window);
          const auto [at, is_new] = worst.try_emplace(finding.id, finding);
          if (!is_new && cost_of(finding) > cost_of(at->second)) at->second = finding;
        }
      }
      for (const auto& [id, windows] : windows_with) runs_with[id] += windows.size() * 2 >= run.size() ? 1 : 0;
    }
    std::erase_if(worst, [&](const auto& each) { return runs_with[each.first] * 2 < side.runs.size(); });
    return worst;
  }

  static DurationNs cost_of(const SummaryFinding& finding) { return finding.saving ? finding.saving->mid_ns : -1; }

  void add_findings() {
    std::map<std::string, SummaryFinding> first = findings_of(before_), second = findings_of(after_);
    for (const auto& [id, finding] : first) {
      const auto at = second.find(id);
      if (at == second.end()) {
        out_.findings.push_back({FindingChange::kGone, id, finding, std::nullopt});
      } else {
        out_.findings.push_back({FindingChange::kStayed, id, finding, at->second});
      }
    }
    for (const auto& [id, finding] : second) {
      if (!first.contains(id)) out_.findings.push_back({FindingChange::kAppeared, id, std::nullopt, finding});
    }
    const auto shown = [](const FindingDifference& each) -> const SummaryFinding& {
      return each.after ? *each.after : *each.before;
    };
    const auto order = [&](const FindingDifference& each) {
      return std::tuple(each.change == FindingChange::kStayed, shown(each).severity != severity_name(Severity::kFault),
                        -std::max(each.before ? cost_of(*each.before) : -1, each.after ? cost_of(*each.after) : -1));
    };
    std::stable_sort(out_.findings.begin(), out_.findings.end(),
                     [&](const FindingDifference& a, const FindingDifference& b) { return order(a) < order(b); });
  }

  template <class Member>
  static std::optional<std::int64_t> peak_of(const RankSide& side, Member member) {
    std::optional<std::int64_t> peak;
    for (const RankSummary* window : windows_of(side.runs)) {
      for (const SummaryStep& step : window->steps) {
        if (step.*member) peak = std::max(peak.value_or(*(step.*member)), *(step.*member));
      }
    }
    return peak;
  }

  void add_memory() {
    out_.memory = {
        peak_of(before_, &SummaryStep::allocated_peak_bytes), peak_of(after_, &SummaryStep::allocated_peak_bytes),
        peak_of(before_, &SummaryStep::reserved_peak_bytes), peak_of(after_, &SummaryStep::reserved_peak_bytes)};
  }

  template <class Row, class Part>
  static void sort_by_difference(std::vector<Row>& rows, Part part) {
    std::stable_sort(rows.begin(), rows.end(), [&](const Row& a, const Row& b) {
      return std::abs(part(a).difference_ns()) > std::abs(part(b).difference_ns());
    });
  }

  const RankSide& before_;
  const RankSide& after_;
  const CompareOptions& options_;
  Leaves first_, second_;
  RankDifference out_;
};

}  // namespace

RankDifference compute_rank_difference(const RankSide& before, const RankSide& after, const CompareOptions& options) {
  return Builder(before, after, options).run();
}

}  // namespace stepscope

// Parts of a step are compared part by part with the typical rank (the lower median over ranks), not with one rank
// chosen as typical: one rank's noise would be told as the other's excess.
//
// The same kernel on the same shapes at the same place takes equally long on equal GPUs. So a rank whose kernels take
// longer than the typical rank's has a slow GPU (clocks, power, a neighbour, an older part), not more work. Rows that
// few ranks have are left out: what one rank alone does is more work. Kernels that run beside a waiting
// collective are slower too (matmuls up to 1.8 times on the recorded straggler's partner), so a rank that waits may
// look slow; who judges by this ratio looks only at ranks that do not wait.
#include "fleet/rank_costs.h"

#include <algorithm>
#include <functional>
#include <unordered_map>

#include "fleet/order.h"
#include "rules/finding.h"
#include "stats/quantiles.h"

namespace stepscope {
namespace {

// Shares of a class from which its slowness is worth a name.
constexpr double kClassShare = 0.10;

template <class Get>
std::optional<DurationNs> median_over_steps(const RankSummary& rank, const Get& get) {
  std::vector<DurationNs> values;
  for (const SummaryStep& step : rank.steps) values.push_back(get(step));
  return median_ns(values);
}

template <class Get>
std::optional<std::int64_t> peak_over_steps(const RankSummary& rank, const Get& get) {
  std::optional<std::int64_t> peak;
  for (const SummaryStep& step : rank.steps) {
    const std::optional<std::int64_t> value = get(step);
    if (value) peak = std::max(peak.value_or(*value), *value);
  }
  return peak;
}

// Classes share the busy time without exposed communication as the kernels of the steps show.
CostParts mean_parts(const RankSummary& rank) {
  CostParts parts{};
  if (rank.steps.empty()) return parts;
  const auto count = static_cast<DurationNs>(rank.steps.size());
  for (const SummaryStep& step : rank.steps) {
    for (std::size_t cause = 0; cause < kHostLabelCount; ++cause)
      parts[cause] = plus_ns(parts[cause], step.idle_ns[cause]);
    DurationNs& transfers = parts[part_of(KernelClass::kCommunication)];
    transfers = plus_ns(transfers, step.exposed_communication_ns);
  }
  for (const SummaryWork& work : rank.work) {
    if (work.kernel_class == KernelClass::kCommunication) continue;
    DurationNs& part = parts[part_of(work.kernel_class)];
    for (const DurationNs busy : work.busy_by_step_ns) part = plus_ns(part, busy);
  }
  for (DurationNs& part : parts) part /= count;
  return parts;
}

// The fault that costs most, else the first of any.
const SummaryFinding* first_finding_of(const RankSummary& rank) {
  const auto fault = std::find_if(rank.findings.begin(), rank.findings.end(), [](const SummaryFinding& f) {
    return f.severity == severity_name(Severity::kFault);
  });
  if (fault != rank.findings.end()) return &*fault;
  return rank.findings.empty() ? nullptr : &rank.findings.front();
}

// No GPU was recorded; not one that is busy for 0 ns. What is no wait for collectives is the host's work.
void measure_host(const RankSummary& rank, FleetRank& row) {
  if (rank.collectives.empty()) return;
  row.exposed_communication_ns =
      median_over_steps(rank, [](const SummaryStep& step) { return step.exposed_communication_ns; });
  row.parts_ns = mean_parts(rank);
  for (const SummaryStep& step : rank.steps) {
    DurationNs& work = row.parts_ns[part_of(HostLabel::kNoEvent)];
    work =
        plus_ns(work, (step.duration_ns - step.exposed_communication_ns) / static_cast<DurationNs>(rank.steps.size()));
  }
}

void measure_rank(const RankSummary& rank, FleetRank& row) {
  if (const SummaryFinding* first = first_finding_of(rank)) {
    row.first_finding = first->id;
    if (first->saving) row.first_finding_saving_ns = first->saving->mid_ns;
  }
  row.allocated_peak_bytes = peak_over_steps(rank, [](const SummaryStep& step) { return step.allocated_peak_bytes; });
  row.reserved_peak_bytes = peak_over_steps(rank, [](const SummaryStep& step) { return step.reserved_peak_bytes; });
  if (row.headline_withheld) return;
  row.step_ns = median_over_steps(rank, [](const SummaryStep& step) { return step.duration_ns; });
  if (row.is_times_only) return;
  if (rank.is_host_only) return measure_host(rank, row);
  row.gpu_busy_ns = median_over_steps(rank, [](const SummaryStep& step) { return step.gpu_busy_ns; });
  row.exposed_communication_ns =
      median_over_steps(rank, [](const SummaryStep& step) { return step.exposed_communication_ns; });
  row.compute_ns =
      median_over_steps(rank, [](const SummaryStep& step) { return step.gpu_busy_ns - step.exposed_communication_ns; });
  row.parts_ns = mean_parts(rank);
}

bool is_comparable(const SummaryWork& work) {
  return !work.kernel.empty() && work.count > 0 && work.gpu_sum_ns > 0 &&
         work.kernel_class != KernelClass::kCommunication && work.kernel_class != KernelClass::kCopy &&
         work.kernel_class != KernelClass::kSet;
}

std::uint64_t hash_of_work(const SummaryWork& work) {
  std::uint64_t hash = std::hash<std::string>{}(work.operator_name);
  for (const std::string* text : {&work.shapes, &work.kernel, &work.place})
    hash = (hash ^ std::hash<std::string>{}(*text)) * 0x9E3779B97F4A7C15U;
  return hash;
}

struct ClassTimes {
  double own = 0, typical = 0;
  [[nodiscard]] double ratio() const { return typical > 0 ? own / typical : 1; }
};

void compare_rank(const RankSummary& rank, const std::unordered_map<std::uint64_t, double>& typical, FleetRank& row) {
  std::array<ClassTimes, kKernelClassCount> classes{};
  ClassTimes all;
  for (const SummaryWork& work : rank.work) {
    if (!is_comparable(work)) continue;
    const auto at = typical.find(hash_of_work(work));
    if (at == typical.end()) continue;
    const ClassTimes times{static_cast<double>(work.gpu_sum_ns), at->second * static_cast<double>(work.count)};
    for (ClassTimes* sum : {&all, &classes[static_cast<std::size_t>(work.kernel_class)]}) {
      sum->own += times.own;
      sum->typical += times.typical;
    }
  }
  if (all.typical <= 0) return;
  row.kernel_time_ratio = all.ratio();
  for (std::size_t i = 0; i < classes.size(); ++i) {
    if (classes[i].own < kClassShare * all.own || classes[i].ratio() <= row.slowest_class_ratio) continue;
    row.slowest_class = static_cast<KernelClass>(i);
    row.slowest_class_ratio = classes[i].ratio();
    row.other_classes_ratio = ClassTimes{all.own - classes[i].own, all.typical - classes[i].typical}.ratio();
  }
}

template <class Get>
std::optional<FleetSpread> spread_of(const FleetFacts& facts, const Get& get) {
  std::vector<std::pair<std::int64_t, std::size_t>> values;
  for (std::size_t row = 0; row < facts.ranks.size(); ++row) {
    const std::optional<std::int64_t> value = get(facts.ranks[row]);
    if (value) values.emplace_back(*value, row);
  }
  if (values.empty()) return std::nullopt;
  // Of equal values the lowest rank.
  const auto by_value = [](const auto& a, const auto& b) { return a.first < b.first; };
  const auto low = *std::min_element(values.begin(), values.end(), by_value);
  const auto high = *std::max_element(values.begin(), values.end(), by_value);
  const std::int64_t median = lower_median(values).first;
  return FleetSpread{low.first, median, high.first, low.second, high.second};
}

}  // namespace

std::string cost_part_words(std::size_t part) {
  const std::string_view name = part < kHostLabelCount
                                    ? host_label_name(static_cast<HostLabel>(part))
                                    : kernel_class_name(static_cast<KernelClass>(part - kHostLabelCount));
  std::string words(name);
  std::replace(words.begin(), words.end(), '_', ' ');
  if (part == part_of(HostLabel::kNoEvent)) return "host work that no event names";
  if (part == part_of(HostLabel::kOptimizer)) return "optimizer on the host";
  if (part == part_of(HostLabel::kOperator)) return "operators on the host";
  if (part == part_of(HostLabel::kPython)) return "Python";
  if (part == part_of(HostLabel::kUnlinked)) return "idle of unknown cause";
  if (part == part_of(KernelClass::kCommunication)) return "transfers";
  if (part >= kHostLabelCount && part != part_of(KernelClass::kCopy) && part != part_of(KernelClass::kSet))
    words += " kernels";
  return words;
}

void measure_ranks(const RunSummary& run, FleetFacts& facts) {
  for (FleetRank& row : facts.ranks) measure_rank(run.ranks[row.summary], row);
}

void compare_kernels(const RunSummary& run, FleetFacts& facts) {
  std::unordered_map<std::uint64_t, std::vector<double>> means;
  std::size_t judged = 0;
  for (const FleetRank& row : facts.ranks) {
    if (row.headline_withheld) continue;
    ++judged;
    for (const SummaryWork& work : run.ranks[row.summary].work) {
      if (is_comparable(work))
        means[hash_of_work(work)].push_back(static_cast<double>(work.gpu_sum_ns) / static_cast<double>(work.count));
    }
  }
  if (judged < 2) return;
  std::unordered_map<std::uint64_t, double> typical;
  for (auto& [hash, of_ranks] : means) {
    if (2 * of_ranks.size() > judged) typical[hash] = lower_median(of_ranks);
  }
  for (FleetRank& row : facts.ranks) {
    if (!row.headline_withheld) compare_rank(run.ranks[row.summary], typical, row);
  }
}

void spread_over_ranks(FleetFacts& facts) {
  facts.step_ns = spread_of(facts, [](const FleetRank& row) { return row.step_ns; });
  facts.wait_ns = spread_of(facts, [](const FleetRank& row) { return row.wait_ns; });
  facts.own_ns = spread_of(facts, [](const FleetRank& row) { return row.own_ns; });
  facts.compute_ns = spread_of(facts, [](const FleetRank& row) { return row.compute_ns; });
  facts.exposed_communication_ns = spread_of(facts, [](const FleetRank& row) { return row.exposed_communication_ns; });
  facts.allocated_peak_bytes = spread_of(facts, [](const FleetRank& row) { return row.allocated_peak_bytes; });
  facts.reserved_peak_bytes = spread_of(facts, [](const FleetRank& row) { return row.reserved_peak_bytes; });
  std::vector<DurationNs> values;
  for (std::size_t part = 0; part < kCostPartCount; ++part) {
    values.clear();
    for (const FleetRank& row : facts.ranks) {
      if (row.step_ns) values.push_back(row.parts_ns[part]);
    }
    facts.typical_parts_ns[part] = lower_median(values);
  }
}

}  // namespace stepscope

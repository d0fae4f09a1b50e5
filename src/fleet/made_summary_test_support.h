// Summaries of invented runs, for tests of what is computed from them.
#pragma once

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "fleet/rank_summary.h"
#include "stats/random.h"

namespace stepscope {

// One row of work: calls a step and the busy time that each step spends in it.
inline SummaryWork made_work(const std::string& operator_name, const std::string& kernel, KernelClass kernel_class,
                             std::vector<DurationNs> busy_by_step_ns, std::int64_t calls_a_step = 10) {
  SummaryWork work;
  work.operator_name = operator_name;
  work.shapes = "[[64, 64], [64, 64]]";
  work.kernel = kernel;
  work.place = "forward";
  work.kernel_class = kernel_class;
  work.count = calls_a_step * static_cast<std::int64_t>(busy_by_step_ns.size());
  for (const DurationNs busy : busy_by_step_ns) work.gpu_sum_ns += busy;
  work.busy_by_step_ns = std::move(busy_by_step_ns);
  return work;
}

// Steps whose busy time is the sum of `work`, with idle time by cause added.
inline RankSummary made_rank(std::vector<SummaryWork> work, const std::map<HostLabel, std::vector<DurationNs>>& idle) {
  RankSummary rank;
  rank.source = "made.json";
  rank.device_name = "NVIDIA H200";
  rank.has_shapes = true;
  rank.step_source = "ProfilerStep";
  std::size_t step_count = work.empty() ? 0 : work.front().busy_by_step_ns.size();
  for (const auto& [cause, by_step] : idle) step_count = std::max(step_count, by_step.size());
  for (std::size_t i = 0; i < step_count; ++i) {
    SummaryStep step;
    step.number = static_cast<std::int64_t>(i);
    for (const SummaryWork& row : work) {
      step.gpu_busy_ns += row.busy_by_step_ns[i];
      if (row.kernel_class == KernelClass::kCommunication) step.exposed_communication_ns += row.busy_by_step_ns[i];
    }
    step.duration_ns = step.gpu_busy_ns;
    for (const auto& [cause, by_step] : idle) {
      step.idle_ns[static_cast<std::size_t>(cause)] = by_step[i];
      step.duration_ns += by_step[i];
    }
    rank.steps.push_back(step);
  }
  rank.work = std::move(work);
  return rank;
}

// Values around `typical` with a relative standard deviation of about `spread`.
inline std::vector<DurationNs> scattered(Random& random, std::size_t count, double typical_ns, double spread) {
  std::vector<DurationNs> values;
  for (std::size_t i = 0; i < count; ++i) {
    // Twelve uniform draws are as good as a normal one here.
    double sum = -6;
    for (int k = 0; k < 12; ++k) sum += random.unit();
    values.push_back(std::max<DurationNs>(0, std::llround(typical_ns * (1 + spread * sum))));
  }
  return values;
}

// A run of a small training step: 30 ms of matmuls in two rows, 8 ms of other work, 2 ms of idle time.
struct MadeRun {
  std::uint64_t seed = 1;
  std::size_t step_count = 8;
  double matmul_factor = 1;
  std::string matmul_kernel = "gemm_128x128";
  double loader_ns = 300'000;
};

inline RankSummary made_run(const MadeRun& made) {
  Random random(made.seed);
  const std::size_t count = made.step_count;
  const auto matmul = [&](double ns) { return scattered(random, count, ns * made.matmul_factor, 0.0015); };
  return made_rank(
      {made_work("aten::mm", made.matmul_kernel, KernelClass::kMatmul, matmul(20e6)),
       made_work("aten::addmm", "gemm_64x64", KernelClass::kMatmul, matmul(10e6)),
       made_work("aten::add", "add", KernelClass::kElementwise, scattered(random, count, 5e6, 0.0015)),
       made_work("aten::layer_norm", "norm", KernelClass::kNormalisation, scattered(random, count, 3e6, 0.0015))},
      {{HostLabel::kDataLoader, scattered(random, count, made.loader_ns, 0.1)},
       {HostLabel::kOperator, scattered(random, count, 0.3e6, 0.2)},
       {HostLabel::kKernelGap, scattered(random, count, 1.4e6, 0.05)}});
}

}  // namespace stepscope

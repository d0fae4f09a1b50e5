// odd-matmul-sizes: matrices whose sizes are no multiples of 8, so that the tensor cores are fed in small bites.
//
// Symptom: the GPU is busy and slow. Evidence: matmul kernels of 16-bit types whose names say that they load fewer than
// 8 elements at once (CUTLASS: align1, align2, align4), with the operators and sizes where shapes were recorded.
// Threshold: 10 % of the GPU time (0 on every recording but the planted one, 75 % there); below, padding brings a few
// percent. The saving follows from the sizes and the rate that aligned matmuls reach (analyze/aligned_matmuls.h). A
// fault when even the low end of the saving is 5 % of the step, else a note. Kernels whose names do not tell (other
// makers, newer libraries) count by their sizes alone, from 20 % of the GPU time on, as a note without a saving: a
// library may have an aligned kernel for them. False alarm: sizes that cannot be padded, such as a tensor that another
// program hands over.
#include <algorithm>
#include <cmath>

#include "analyze/aligned_matmuls.h"
#include "analyze/matmul_shapes.h"
#include "rules/costs.h"
#include "rules/matmul_advice.h"
#include "rules/rule_list.h"
#include "rules/wording.h"

namespace stepscope {
namespace {

constexpr double kNarrowShare = 0.10;
constexpr double kDoubtfulShare = 0.20;
constexpr double kFault = 0.05;

double low_ratio(const Cost& cost) {
  if (!cost.saving || !cost.ratio || cost.saving->mid_ns <= 0) return 0;
  return *cost.ratio * static_cast<double>(cost.saving->low_ns) / static_cast<double>(cost.saving->mid_ns);
}

// What the saving rests on, in words.
std::string describe_source(const AlignedMatmuls& aligned, std::string_view dtype) {
  switch (aligned.weakest_source().value_or(RateSource::kRecording)) {
    case RateSource::kMeasured:
      return "the sizes, at the rate of this recording's aligned matmuls (" +
             std::to_string(std::llround(aligned.rate(dtype).mid / 1e12)) + " TFLOP/s)";
    case RateSource::kPeak:
      return "the sizes, at 50 to 85 % of the device's peak, which large aligned matmuls reach";
    case RateSource::kRecording:
      break;
  }
  return "a guess: aligned sizes ran such kernels 3 to 6 times as fast on an H200, less on older devices; "
         "profile(..., record_shapes=True) narrows it";
}

void add_price(const RuleInput& input, const DeviceBusy& busy, const Cost& cost, Finding& finding) {
  if (cost.saving) {
    const AlignedMatmuls aligned(input.trace, input.facts.timeline, input.facts.classes, busy.device,
                                 input.facts.steps.window);
    finding.evidence.push_back({"The saving, " + format_duration(cost.saving->low_ns) + " to " +
                                    format_duration(cost.saving->high_ns) + " a step, follows from " +
                                    describe_source(aligned, input.facts.efficiency.peak_dtype) + ".",
                                std::nullopt});
  }
  set_cost(finding, input, cost, "With padded sizes");
}

}  // namespace

std::optional<Finding> find_odd_matmul_sizes(const RuleInput& input) {
  const DeviceBusy* busy = input.facts.main_busy();
  if (busy == nullptr || busy->gpu_sum_ns <= 0) return std::nullopt;
  const MatmulShapes shapes =
      compute_matmul_shapes(input.trace, input.facts.timeline, input.facts.classes, input.facts.steps, busy->device);
  const auto share = [&](DurationNs part) { return static_cast<double>(part) / static_cast<double>(busy->gpu_sum_ns); };
  const bool proven = share(shapes.narrow_ns) >= kNarrowShare;
  if (!proven && share(shapes.doubtful_ns) < kDoubtfulShare) return std::nullopt;

  const Cost cost = proven ? cost_of(input, Transform::kMatmulsAligned) : Cost{};
  Finding finding;
  finding.id = "odd-matmul-sizes";
  finding.severity = proven && low_ratio(cost) >= kFault ? Severity::kFault : Severity::kNote;
  const DurationNs slow = proven ? shapes.narrow_ns : shapes.doubtful_ns;
  const std::string odd = describe_odd_matmul(input);
  finding.title = "Matmuls with sizes that are no multiples of 8 take " + format_percent(share(slow)) +
                  " of the GPU time" + (odd.empty() ? "" : ", such as " + odd);
  finding.evidence.push_back({proven ? "Their kernels load fewer than 8 elements at once, as their names say: " +
                                           describe_per_step(input, slow) + "."
                                     : "Their kernels' names do not say how they load, so padding may bring between "
                                       "nothing and two thirds of " +
                                           describe_per_step(input, slow) + ".",
                              std::nullopt});
  add_matmul_sizes(input, finding);
  if (finding.advice.empty()) {
    finding.advice.emplace_back("Make hidden width, vocabulary and batch multiples of 8, better 64");
    finding.advice.emplace_back("profile(..., record_shapes=True) names the sizes");
  }
  if (proven) add_price(input, *busy, cost, finding);
  return finding;
}

}  // namespace stepscope

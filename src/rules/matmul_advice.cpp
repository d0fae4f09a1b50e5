// A size is worth a sentence when kernels with odd sizes take 5 % of the matmul time: below, padding cannot bring
// more than a percent or two. Data types of 4 bytes without tensor cores do not care, but the advice is to leave them.
// 40 to 60 % MFU is what well-tuned large dense training runs report (PaLM 46 %, MegaScale 55 %, Llama 3 38 to 43 %).
#include "rules/matmul_advice.h"

#include "analyze/matmul_shapes.h"
#include "rules/wording.h"

namespace stepscope {
namespace {

constexpr double kOddShare = 0.05;
constexpr std::size_t kShown = 2;

// Without odd sizes in it when these cost too little to be named.
MatmulShapes costly_odd_shapes(const RuleInput& input) {
  const DeviceBusy* busy = input.facts.main_busy();
  if (busy == nullptr) return {};
  MatmulShapes shapes =
      compute_matmul_shapes(input.trace, input.facts.timeline, input.facts.classes, input.facts.steps, busy->device);
  if (static_cast<double>(shapes.odd_ns) < kOddShare * static_cast<double>(shapes.matmul_ns)) shapes.odd.clear();
  return shapes;
}

}  // namespace

std::string describe_odd_matmul(const RuleInput& input) {
  const MatmulShapes shapes = costly_odd_shapes(input);
  if (shapes.odd.empty()) return {};
  return std::string(input.trace.text(shapes.odd.front().operator_name)) + " of " + shapes.odd.front().sizes;
}

void add_matmul_sizes(const RuleInput& input, Finding& finding) {
  const MatmulShapes shapes = costly_odd_shapes(input);
  if (shapes.odd.empty()) return;
  for (std::size_t at = 0; at < shapes.odd.size() && at < kShown; ++at) {
    const OddMatmul& odd = shapes.odd[at];
    finding.evidence.push_back({std::string(input.trace.text(odd.operator_name)) + " of " + odd.sizes + ": " +
                                    std::to_string(odd.odd_size) + " is no multiple of 8; " +
                                    describe_per_step(input, odd.gpu_sum_ns) + ".",
                                std::nullopt});
  }
  const std::int64_t size = shapes.odd.front().odd_size;
  finding.advice.push_back("Pad sizes to multiples of 8, better 64: " + std::to_string(size) + " -> " +
                           std::to_string((size + 63) / 64 * 64) + " (vocabulary, hidden width, batch)");
}

void add_efficiency(const RuleInput& input, Finding& finding) {
  const Efficiency& efficiency = input.facts.efficiency;
  if (!efficiency.mfu_ratio) return;
  finding.evidence.push_back({"MFU " + format_percent(*efficiency.mfu_ratio) + " of the peak for " +
                                  efficiency.peak_dtype + "; well-tuned runs of large dense models reach 40 to 60 %.",
                              std::nullopt});
}

}  // namespace stepscope

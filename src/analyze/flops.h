// FLOPs of the operators of a trace, from their recorded shapes or as the program told them: forward and backward, each
// once.
//
// A nested operator that repeats its parent's work (three nested attention operators) counts once. Formulas are
// in efficiency/operator_flops.h. Elementwise work (add, mul) is left out, as in every published MFU: it is not what
// the peak is about. Operators belong to the step on the host in which they began.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analyze/steps.h"

namespace stepscope {

struct OperatorFlops {
  std::string name;  // "aten::mm"
  std::int64_t call_count = 0;
  double flops = 0;  // in the window
};

struct Flops {
  bool shapes_recorded = false;    // or FLOPs told
  double total = 0;                // in the window, full attention
  double total_causal_halved = 0;  // the same, causal attention counted half
  double model = 0;                // total without operators recomputed inside backward: for MFU
  double model_causal_halved = 0;
  double attention_forward = 0;
  std::vector<double> by_step;  // full attention, recomputed work included; one for each of Steps::steps
  double recomputed = 0;        // forward operators inside backward (activation recomputation): HFU only
  std::int64_t causal_attention_count = 0;
  std::vector<OperatorFlops> by_operator;      // largest first
  std::vector<std::string> unknown_operators;  // matmul-like operators with time and no formula
  std::string dominant_dtype;  // of the matmuls' kernels/inputs: "bf16", "fp16", "tf32", "fp32", ...; empty if unknown
};

[[nodiscard]] Flops compute_flops(const Trace& trace, const Steps& steps);

}  // namespace stepscope

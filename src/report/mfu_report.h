// `stepscope mfu` as data: what a step computes, by every way of counting that the input allows, against what the GPUs
// could have computed, by every step time that is known. The outputs choose words and places.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "report/page.h"
#include "report/report.h"
#include "stepscope/efficiency.h"

namespace stepscope {

// How the FLOPs of a step are counted.
enum class MfuCount : std::uint8_t {
  kFormula,                  // 6 N + 12 layers d_model context a token
  kFormulaWithoutEmbedding,  // the same, N without one embedding table
  kOperators,                // the trace's operators, attention in full
  kOperatorsCausalHalved,    // the same, causal attention counted half
};

enum class MfuStepSource : std::uint8_t {
  kGiven,       // --step-s
  kRecorded,    // median step of the trace, slowed by the profiler
  kUnprofiled,  // an estimate of it without the profiler
  kWindow,      // mean step of the trace, which `stepscope report` divides by
};

enum class Recompute : std::uint8_t { kNotSaid, kNone, kFull, kGiven };

struct MfuStepTime {
  MfuStepSource source = MfuStepSource::kGiven;
  double step_s = 0;
};

// A number with where it comes from.
struct MfuGpus {
  double count = 1;
  std::string_view source = "default";  // "given", "default", "trace_world_size", "trace_devices"
};

struct MfuPeak {
  double flops_per_s = 0;              // of one GPU, dense
  std::string source;                  // the sheet and its date, or "given"
  std::string device_name;             // empty when the peak was given without one
  std::string dtype;                   // empty when nobody said
  std::string_view dtype_source = "";  // "given", "trace", "assumed"
};

struct MfuModel {
  ModelShape shape;             // without attention: layers, d_model and context 0
  double vocab = 0;             // 0: not given
  double embedding_params = 0;  // vocab * d_model
  double tokens_per_step = 0;   // of all GPUs
};

// Of one rank's trace; FLOPs are for a mean step and one GPU.
struct MfuTrace {
  std::string path;
  ReportStatus status = ReportStatus::kComplete;
  std::size_t step_count = 0;
  std::vector<MfuStepTime> step_times;
  std::string steps_not_available;  // why there are none
  double operator_flops = 0;        // model FLOPs: without recomputation
  double operator_flops_causal_halved = 0;
  double recomputed_flops = 0;
  std::string operators_not_available;  // why operator_flops is 0
  std::vector<std::string> operators_without_formula;
};

struct MfuInput {
  std::optional<MfuModel> model;
  std::optional<double> step_s;
  MfuGpus gpus;
  MfuPeak peak;
  Recompute recompute = Recompute::kNotSaid;
  double recomputed_flops = 0;  // of all GPUs in a step, with Recompute::kGiven
  std::optional<MfuTrace> trace;
};

struct MfuRow {
  MfuCount count = MfuCount::kFormula;
  double flops = 0;                              // of a step on one GPU, without recomputation
  std::optional<double> recomputed_flops;        // done again; missing when nobody said
  std::vector<std::optional<double>> mfu_ratio;  // by step time; missing at 100% or more
  std::vector<std::optional<double>> hfu_ratio;  // missing also without recomputed_flops
};

struct MfuReport {
  MfuInput input;
  std::optional<TokenFlops> token;      // with a model
  std::vector<MfuStepTime> step_times;  // the first is the headline's
  std::vector<MfuRow> rows;             // the first is the headline's; its MFU at the first step time is known
};

// Errors: arguments that the formula refuses, no step time or nothing counted, 100% or more in the headline.
[[nodiscard]] Result<MfuReport> build_mfu_report(MfuInput input);

[[nodiscard]] std::string write_mfu_text(const MfuReport& report, const Style& style);
[[nodiscard]] std::string write_mfu_json(const MfuReport& report);

}  // namespace stepscope

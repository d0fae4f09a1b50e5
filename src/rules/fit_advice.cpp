// One place for all rules, so that a rule need not know every producer, and a new producer is one table.
//
// Rejected: a list of advice for each producer in each rule. Most rules would repeat themselves, and the one that was
// forgotten would tell a JAX user to call torch.compile.
#include "rules/fit_advice.h"

#include <algorithm>
#include <array>

#include "analyze/framework.h"
#include "analyze/recording_words.h"
#include "rules/costs.h"

namespace stepscope {
namespace {

struct OtherAdvice {
  std::string_view id;
  std::vector<std::string> lines;
  bool is_last_resort = false;  // only where nothing else is left
};

const std::vector<OtherAdvice>& jax_advice() {
  static const std::vector<OtherAdvice> kTable = {
      {"host-overhead",
       {"Read results less often: float(x), np.asarray(x) and print(x) wait for the device",
        "More work a call: jax.lax.scan over several steps inside one jax.jit, or a larger batch",
        "jax.jit(step, donate_argnums=...): buffers that stay where they are spare updates of the graph"}},
      {"compute-bound",
       {"bfloat16 parameters and activations; jax.default_matmul_precision('tensorfloat32') to stay in fp32",
        "Kernels of the report above: larger batch, sizes that are multiples of 8"}},
      {"no-tensor-cores",
       {"bfloat16 inputs to the matmuls: x.astype(jnp.bfloat16)", "jax.default_matmul_precision('tensorfloat32')"}},
      {"hidden-sync",
       {"Read results after the step: float(x), x.item(), np.asarray(x) and print(x) wait for the device"}},
      {"blocking-copy", {"jax.device_put(batch) for the next step before this one is read"}},
      {"exposed-copy", {"jax.device_put(batch) for the next step before this one is read"}},
      {"data-loader-stall", {"Make the next batch in another thread or process, and jax.device_put it ahead"}},
      {"allocator-thrash",
       {"Let XLA keep its pool: XLA_PYTHON_CLIENT_PREALLOCATE=true, and no XLA_PYTHON_CLIENT_ALLOCATOR=platform"}},
      {"unfused-optimizer", {"The update inside the step's jax.jit, so that XLA fuses it"}},
      {"outlier-step",
       {"stepscope view FILE shows this step; jax.config.update('jax_log_compiles', True) whether it was compiled "
        "again"},
       true},
      {"graph-step", {"To see operators: XLA_FLAGS=--xla_gpu_enable_command_buffer= (empty) for one recording"}},
      {"exposed-communication", {"XLA_FLAGS=--xla_gpu_enable_latency_hiding_scheduler=true"}},
      {"odd-matmul-sizes", {"Make hidden width, vocabulary and batch multiples of 8, better 64"}},
  };
  return kTable;
}

// Of files that JAX's own profiler wrote.
const std::vector<OtherAdvice>& jax_profiler_advice() {
  static const std::vector<OtherAdvice> kTable = {
      {"profiler-distortion",
       {"Time the step without the profiler: jax.block_until_ready around 20 steps",
        "Record less: jax.profiler.ProfileOptions, python_tracer_level = 0, host_tracer_level = 1"}},
      {"warm-up-in-window", {"Call the jitted step a few times before jax.profiler.start_trace"}},
      {"host-pause", {"jax.profiler.TraceAnnotation(\"name\") around parts of the loop names the pause"}},
      {"incomplete-data", {"Record again: a few steps between jax.profiler.start_trace and stop_trace"}},
  };
  return kTable;
}

const std::vector<OtherAdvice>& cpp_advice() {
  static const std::vector<OtherAdvice> kTable = {
      {"host-overhead",
       {"Capture the step as a CUDA graph (cudaStreamBeginCapture) and launch that: one call a step",
        "Fewer, larger kernels: fuse elementwise work, a larger batch"}},
      {"compute-bound",
       {"bf16 or fp16 operands of the matmuls, with fp32 sums",
        "stepscope ops FILE --by name --sort self_device_time_total: the operators to make faster"}},
      {"no-tensor-cores",
       {"bf16 or fp16 operands of the matmuls; to stay in fp32: CUBLAS_COMPUTE_32F_FAST_TF32 of cublasGemmEx"}},
      {"hidden-sync",
       {"Read results after the step: cudaMemcpyAsync into pinned memory, and wait for an event when they are used"}},
      {"blocking-copy", {"Copies from pinned memory: cudaMallocHost, then cudaMemcpyAsync for the next step's data"}},
      {"exposed-copy",
       {"Copy on a stream of its own while kernels run: cudaMemcpyAsync from pinned memory, an event before the use"}},
      {"data-loader-stall",
       {"Make the next batch in another thread that keeps a queue of two", "A cheaper sample: cache what is decoded"}},
      {"allocator-thrash",
       {"Allocate before the loop and reuse, or cudaMallocAsync from a pool that keeps its memory "
        "(cudaMemPoolAttrReleaseThreshold)"}},
      {"unfused-optimizer", {"One kernel over all parameters in place of one for each"}},
      {"profiler-distortion",
       {"Time the step without a recording before and after a change: StepTimer (stepscope/step_timer.h)",
        "Record less: with_stack=False, record_shapes=False, profile_memory=False"}},
      {"exposed-communication", {"Start each gradient's reduction when it is ready, on a stream of its own"}},
  };
  return kTable;
}

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

template <std::size_t kCount>
bool has_any(std::string_view line, const std::array<std::string_view, kCount>& words) {
  return std::any_of(words.begin(), words.end(), [&](std::string_view word) { return has(line, word); });
}

bool speaks_of_torch(std::string_view line) {
  constexpr std::array<std::string_view, 13> kWords = {
      "torch",      "TORCH",      "profile(",        "DataLoader",  "FSDP",     "DDP",         "with_stack=",
      "pin_memory", "to(device,", "record_function", "prefetch_fa", "PYTORCH_", "non_blocking"};
  return has_any(line, kWords);
}

bool speaks_of_python(std::string_view line) {
  constexpr std::array<std::string_view, 3> kWords = {"gc.", "Python", ".item()"};
  return has_any(line, kWords);
}

// What no line is left of gets `fallback`.
template <class Unfit>
void replace_advice(const std::vector<OtherAdvice>& table, std::string_view fallback, const Unfit& is_unfit,
                    Finding& finding) {
  const auto at =
      std::find_if(table.begin(), table.end(), [&](const OtherAdvice& row) { return row.id == finding.id; });
  if (at != table.end() && !at->is_last_resort) {
    finding.advice = at->lines;
    return;
  }
  std::erase_if(finding.advice, is_unfit);
  if (!finding.advice.empty()) return;
  if (at != table.end()) {
    finding.advice = at->lines;
  } else {
    finding.advice.emplace_back(fallback);
  }
}

// A capture of a JAX program has the switches of `stepscope run`, and no calls of jax.profiler.
void fit_to_jax(RecordingTool tool, Finding& finding) {
  const bool is_jaxs_own = tool == RecordingTool::kJax;
  if (is_jaxs_own) {
    const auto& table = jax_profiler_advice();
    const auto at =
        std::find_if(table.begin(), table.end(), [&](const OtherAdvice& row) { return row.id == finding.id; });
    if (at != table.end()) {
      finding.advice = at->lines;
      return;
    }
  } else {
    for (std::string& line : finding.advice) line = fit_recording_words(tool, std::move(line));
  }
  const std::string_view fallback = is_jaxs_own ? "jax.profiler.TraceAnnotation names parts of the step"
                                                : "nvtx.annotate(\"name\") around parts of the loop names them";
  replace_advice(jax_advice(), fallback, speaks_of_torch, finding);
}

// CUDA graphs and compilation are advised by host-overhead and compute-bound.
void fit_to_compiled(Finding& finding, bool compiled, bool graph) {
  if (!compiled && !graph) return;
  if (finding.id == "host-overhead" && graph) {
    finding.advice = {"More work a graph: a larger batch, or several steps captured as one",
                      "Move what the host does between graphs out of the loop: reading values, copies, logging"};
    return;
  }
  if (finding.id == "host-overhead" && compiled) {
    finding.advice.front() = "torch.compile(model, mode='reduce-overhead'): the compiled code as CUDA graphs";
    return;
  }
  for (std::string& line : finding.advice) {
    if (!line.starts_with("torch.compile(model)")) continue;
    line = compiled ? "It is compiled already; torch.compile(mode='max-autotune') tries more kernels for the matmuls"
                    : "torch.compile(model) before the capture: fuses elementwise work and normalisation";
  }
}

// Stacks that are in the file already are not advised; where they name nothing, a span does.
void fit_to_stacks(const TraceInfo& info, Finding& finding) {
  if (!info.with_stack) return;
  const std::string span = "record_function(\"name\") around parts of the loop";
  const std::string stacks = "profile(..., with_stack=True)";
  for (std::string& line : finding.advice) {
    for (const std::string& ending : {"; so does " + span, std::string()}) {
      for (const char* verb : {" names the lines", " names the line"}) {
        const std::string advised = stacks + verb + ending;
        const auto at = line.find(advised);
        if (at != std::string::npos) line.replace(at, advised.size(), span + " names what they do");
      }
    }
  }
}

}  // namespace

void fit_advice(const RuleInput& input, std::vector<Finding>& findings) {
  if (findings.empty()) return;
  for (Finding& finding : findings) fit_to_stacks(input.trace.info, finding);
  const RecordingTool tool = find_recording_tool(input.trace);
  const Framework framework = find_framework(input.trace);
  if (framework == Framework::kJax) {
    for (Finding& finding : findings) fit_to_jax(tool, finding);
    return;
  }
  if (framework == Framework::kCpp) {
    const auto is_unfit = [](std::string_view line) { return speaks_of_torch(line) || speaks_of_python(line); };
    for (Finding& finding : findings) {
      // First, so that the words of a recording are kept where they exist in C++ too.
      for (std::string& line : finding.advice) line = fit_recording_words(tool, std::move(line));
      replace_advice(cpp_advice(), "STEPSCOPE_SPAN(\"name\") names parts of the step", is_unfit, finding);
      for (std::string& line : finding.advice) line = fit_recording_words(tool, std::move(line));
    }
    return;
  }
  const bool compiled = is_torch_compiled(input.trace);
  for (Finding& finding : findings) {
    fit_to_compiled(finding, compiled, runs_as_graph(input));
    for (std::string& line : finding.advice) line = fit_recording_words(tool, std::move(line));
  }
}

}  // namespace stepscope

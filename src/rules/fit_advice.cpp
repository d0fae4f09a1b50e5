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

struct JaxAdvice {
  std::string_view id;
  std::vector<std::string> lines;
};

const std::vector<JaxAdvice>& jax_advice() {
  static const std::vector<JaxAdvice> kTable = {
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
      {"profiler-distortion",
       {"Time the step without the profiler: jax.block_until_ready around 20 steps",
        "Record less: jax.profiler.ProfileOptions, python_tracer_level = 0, host_tracer_level = 1"}},
      {"warm-up-in-window", {"Call the jitted step a few times before jax.profiler.start_trace"}},
      {"outlier-step", {"jax.config.update('jax_log_compiles', True) shows whether a step was compiled again"}},
      {"host-pause", {"jax.profiler.TraceAnnotation(\"name\") around parts of the loop names the pause"}},
      {"graph-step", {"To see operators: XLA_FLAGS=--xla_gpu_enable_command_buffer= (empty) for one recording"}},
      {"exposed-communication", {"XLA_FLAGS=--xla_gpu_enable_latency_hiding_scheduler=true"}},
      {"odd-matmul-sizes", {"Make hidden width, vocabulary and batch multiples of 8, better 64"}},
      {"incomplete-data", {"Record again: a few steps between jax.profiler.start_trace and stop_trace"}},
  };
  return kTable;
}

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

bool speaks_of_torch(std::string_view line) {
  constexpr std::array<std::string_view, 8> kWords = {"torch", "TORCH", "profile(",   "DataLoader",
                                                      "FSDP",  "DDP",   "with_stack", "pin_memory"};
  return std::any_of(kWords.begin(), kWords.end(), [&](std::string_view word) { return has(line, word); });
}

void fit_to_jax(Finding& finding) {
  const auto& table = jax_advice();
  const auto at = std::find_if(table.begin(), table.end(), [&](const JaxAdvice& row) { return row.id == finding.id; });
  if (at != table.end()) {
    finding.advice = at->lines;
    return;
  }
  std::erase_if(finding.advice, speaks_of_torch);
  if (finding.advice.empty()) finding.advice.emplace_back("jax.profiler.TraceAnnotation names parts of the step");
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

}  // namespace

void fit_advice(const RuleInput& input, std::vector<Finding>& findings) {
  if (findings.empty()) return;
  if (find_framework(input.trace) == Framework::kJax) {
    for (Finding& finding : findings) fit_to_jax(finding);
    return;
  }
  const bool compiled = is_torch_compiled(input.trace);
  for (Finding& finding : findings) {
    fit_to_compiled(finding, compiled, runs_as_graph(input));
    for (std::string& line : finding.advice) line = fit_recording_words(input.trace.info, std::move(line));
  }
}

}  // namespace stepscope

// Each distinct name is judged once, when it is first met, and the answer kept in an array by StringId: a pass over
// 3 M Python frames then costs a load and a branch for each. Names are those that PyTorch 2.1 to 2.11, Triton and
// the CUDA runtime use; a frame of torch/_dynamo that only runs compiled code (eval_frame) is no compilation.
#include "analyze/warm_up_events.h"

#include <algorithm>

namespace stepscope {
namespace {

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

std::optional<WarmUpKind> classify_call(std::string_view name, ApiKind kind) {
  if (kind == ApiKind::kModuleLoad) return WarmUpKind::kModuleLoad;
  for (const std::string_view part : {"CtxCreate", "PrimaryCtxRetain", "InitDevice", "cublasCreate", "cudnnCreate"}) {
    if (contains(name, part)) return WarmUpKind::kContext;
  }
  return std::nullopt;
}

std::optional<WarmUpKind> classify_host_name(std::string_view name) {
  for (const std::string_view part :
       {"CachingAutotuner", "benchmark_all_configs", "cudnn_benchmark", "do_bench", "triton/runtime/autotuner.py"}) {
    if (contains(name, part)) return WarmUpKind::kAutotune;
  }
  for (const std::string_view part :
       {"_compile.compile_inner", "torch/_dynamo/convert_frame", "compile_fx_inner", "triton/compiler/",
        "torch/_inductor/compile_fx", "torch/_inductor/codecache", "entire_frame_compile",
        "torch/utils/cpp_extension.py", "OutputGraph.call_user_compiler"}) {
    if (contains(name, part)) return WarmUpKind::kCompile;
  }
  return std::nullopt;
}

// What is known of each string so far.
enum class Known : std::uint8_t { kUnseen, kNothing, kSign };

class Collector {
 public:
  Collector(const Steps& steps, WarmUpEvents& out) : steps_(steps), out_(out) {}

  void add(WarmUpKind kind, StringId name, TimeNs start_ns, TimeNs end_ns) {
    const auto step = steps_.find_by_host_time(start_ns);
    if (!step) return;
    WarmUpSign& sign = out_.by_step[*step][static_cast<std::size_t>(kind)];
    if (sign.count++ == 0 || end_ns - start_ns > sign.longest_ns) {
      sign.longest_ns = end_ns - start_ns;
      sign.example = {start_ns, end_ns};
      sign.name = name;
    }
  }

  template <class Table>
  void add_named(const Trace& trace, const Table& table, std::vector<Known>& known) {
    for (const auto id : table.ids().ids()) {
      const StringId name = table.name[id];
      Known& state = known[name.value];
      if (state == Known::kNothing) continue;
      const auto kind = classify_host_name(trace.text(name));
      state = kind ? Known::kSign : Known::kNothing;
      if (kind) add(*kind, name, table.start_ns[id], table.end_ns[id]);
    }
  }

 private:
  const Steps& steps_;
  WarmUpEvents& out_;
};

// Three steps without a sign: a warm-up that pauses for one or two (a second graph, the backward pass) goes on.
std::vector<bool> find_recompiling(const WarmUpEvents& events) {
  constexpr std::size_t kClean = 3;
  std::vector<bool> out(events.by_step.size(), false);
  std::size_t clean = 0;
  bool is_warm = false;
  for (std::size_t step = 0; step < out.size(); ++step) {
    is_warm = is_warm || clean >= kClean;
    out[step] = is_warm && events.by_step[step][static_cast<std::size_t>(WarmUpKind::kCompile)].count > 0;
    clean = events.has_sign(step) ? 0 : clean + 1;
  }
  return out;
}

}  // namespace

WarmUpSign WarmUpEvents::of(WarmUpKind kind, std::optional<bool> recompiling) const {
  WarmUpSign all;
  for (std::size_t step = 0; step < by_step.size(); ++step) {
    if (recompiling && step_recompiles[step] != *recompiling) continue;
    const WarmUpSign& sign = by_step[step][static_cast<std::size_t>(kind)];
    if (sign.count == 0) continue;
    const std::int64_t count = all.count + sign.count;
    if (all.count == 0 || sign.longest_ns > all.longest_ns) all = sign;
    all.count = count;
  }
  return all;
}

bool WarmUpEvents::has_sign(std::size_t step) const {
  return std::any_of(by_step[step].begin(), by_step[step].end(), [](const WarmUpSign& sign) { return sign.count > 0; });
}

std::int64_t WarmUpEvents::step_count(bool recompiling) const {
  std::int64_t count = 0;
  for (std::size_t step = 0; step < by_step.size(); ++step) {
    if (has_sign(step) && step_recompiles[step] == recompiling) ++count;
  }
  return count;
}

WarmUpEvents compute_warm_up_events(const Trace& trace, const Steps& steps) {
  WarmUpEvents out;
  out.by_step.resize(steps.steps.size());
  Collector collector(steps, out);
  std::vector<Known> known(trace.strings.size(), Known::kUnseen);
  collector.add_named(trace, trace.ops, known);
  collector.add_named(trace, trace.spans, known);
  collector.add_named(trace, trace.frames, known);

  std::vector<Known> known_calls(trace.strings.size(), Known::kUnseen);
  const Calls& calls = trace.calls;
  for (const CallId id : calls.ids().ids()) {
    Known& state = known_calls[calls.name[id].value];
    if (state == Known::kNothing) continue;
    const auto kind = classify_call(trace.text(calls.name[id]), calls.kind[id]);
    state = kind ? Known::kSign : Known::kNothing;
    if (kind) collector.add(*kind, calls.name[id], calls.start_ns[id], calls.end_ns[id]);
  }
  out.step_recompiles = find_recompiling(out);
  return out;
}

}  // namespace stepscope

#include "analyze/program_spans.h"

#include <algorithm>
#include <unordered_map>

#include "analyze/launches.h"

namespace stepscope {
namespace {

std::string_view without_domain(std::string_view name) {
  constexpr std::string_view kDomain = "TSL:";
  if (name.starts_with(kDomain)) name.remove_prefix(kDomain.size());
  return name;
}

// XLA's annotations look like `Kind:#key=value,key=value#`.
bool is_annotation(std::string_view name) {
  const std::size_t mark = name.find(":#");
  return mark != std::string_view::npos && name.ends_with('#') && name.size() > mark + 2 &&
         name.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz") == mark;
}

bool is_program(std::string_view name) {
  return name.starts_with("PjitFunction(") || without_domain(name).starts_with("XlaModule:#");
}

struct Program {
  ProgramRuns runs;
  DurationNs gpu_ns = 0;  // of work launched in them
  DurationNs host_ns = 0;
};

DurationNs launched_in(const Trace& trace, ThreadId thread, Interval host) {
  const IdRange<CallId> calls = trace.calls_of_thread[thread];
  const auto starts = trace.calls.start_ns.raw();
  const auto first = std::lower_bound(starts.begin() + calls.begin, starts.begin() + calls.end, host.start_ns);
  DurationNs total = 0;
  for (auto at = static_cast<std::uint32_t>(first - starts.begin()); at < calls.end && starts[at] < host.end_ns; ++at) {
    for (const GpuEventId event : trace.gpu_events_of(CallId(at))) {
      if (trace.gpu_events.fault[event] != TimeFault::kNone) continue;
      total += trace.gpu_events.end_ns[event] - trace.gpu_events.start_ns[event];
    }
  }
  return total;
}

}  // namespace

bool is_compiler_span(std::string_view name) {
  // Of torch.compile's own phases; its `Torch-Compiled Region` is a run.
  if (name.ends_with(" (dynamo_timed)")) return true;
  return is_annotation(without_domain(name));
}

ProgramRuns find_program_runs(const Trace& trace, ThreadId thread) {
  std::vector<Program> programs;
  std::unordered_map<StringId, std::size_t> index;  // kNone: no program
  constexpr std::size_t kNone = ~std::size_t{0};
  auto look_at = [&](StringId name, Interval host) {
    const auto [at, is_new] = index.try_emplace(name, kNone);
    if (is_new && is_program(trace.text(name))) {
      at->second = programs.size();
      programs.push_back({{name, {}}});
    }
    if (at->second == kNone) return;
    Program& program = programs[at->second];
    std::vector<Interval>& runs = program.runs.runs;
    if (!runs.empty() && host.start_ns < runs.back().end_ns) return;  // nested
    runs.push_back(host);
    program.gpu_ns += launched_in(trace, thread, host);
    program.host_ns += host.length_ns();
  };
  for (const SpanId span : trace.spans_of_thread[thread].ids()) {
    look_at(trace.spans.name[span], {trace.spans.start_ns[span], trace.spans.end_ns[span]});
  }
  for (const OpId op : trace.ops_of_thread[thread].ids()) {
    look_at(trace.ops.name[op], {trace.ops.start_ns[op], trace.ops.end_ns[op]});
  }
  const Program* best = nullptr;
  for (const Program& each : programs) {
    if (each.runs.runs.size() < 2) continue;
    // Of two with the same work one encloses the other and takes longer.
    if (best == nullptr || each.gpu_ns > best->gpu_ns || (each.gpu_ns == best->gpu_ns && each.host_ns > best->host_ns))
      best = &each;
  }
  return best == nullptr ? ProgramRuns{} : best->runs;
}

}  // namespace stepscope

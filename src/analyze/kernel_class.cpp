// Classes by event: the name's class, looked up once for each distinct name, and `optimizer` for what was launched
// inside an Optimizer.step span.
//
// A span decides over the name because foreach and for-loop optimizers run the same ATen kernels as the model does. It
// does not make a copy, a set or a collective an optimizer kernel: those keep their own accounts.
#include "analyze/kernel_class.h"

namespace stepscope {
namespace {

constexpr std::string_view kOptimizerStepPrefix = "Optimizer.step#";

// Both tables are sorted by start within a thread, so one walk over each finds the calls inside the spans.
void mark_optimizer(const Trace& trace, ThreadId thread, const std::vector<bool>& is_optimizer_name,
                    KernelClasses& classes) {
  const IdRange<CallId> calls = trace.calls_of_thread[thread];
  std::uint32_t at = calls.begin;
  for (const SpanId span : trace.spans_of_thread[thread].ids()) {
    if (!is_optimizer_name[trace.spans.name[span].value]) continue;
    while (at < calls.end && trace.calls.start_ns[CallId(at)] < trace.spans.start_ns[span]) ++at;
    for (; at < calls.end && trace.calls.start_ns[CallId(at)] < trace.spans.end_ns[span]; ++at) {
      for (const GpuEventId id : trace.gpu_events_of(CallId(at))) {
        KernelClass& of = classes.of[id];
        if (of == KernelClass::kCopy || of == KernelClass::kSet || of == KernelClass::kCommunication) continue;
        of = KernelClass::kOptimizer;
      }
    }
  }
}

// By StringId; asks each distinct span name once.
std::vector<bool> find_optimizer_names(const Trace& trace) {
  std::vector<bool> is_optimizer(trace.strings.size(), false);
  StringId previous;
  for (const StringId name : trace.spans.name.raw()) {
    if (name == previous) continue;
    previous = name;
    if (trace.text(name).starts_with(kOptimizerStepPrefix)) is_optimizer[name.value] = true;
  }
  return is_optimizer;
}

}  // namespace

std::string_view kernel_class_name(KernelClass kernel_class) {
  constexpr std::array<std::string_view, kKernelClassCount> kNames = {
      "matmul",    "attention", "convolution",   "normalisation", "elementwise", "reduction",
      "embedding", "optimizer", "communication", "copy",          "set",         "other"};
  return kNames[static_cast<std::size_t>(kernel_class)];
}

KernelClasses compute_kernel_classes(const Trace& trace) {
  constexpr auto kUnasked = static_cast<std::uint8_t>(kKernelClassCount);
  const GpuEvents& events = trace.gpu_events;
  KernelClasses classes;
  classes.of.raw().resize(events.size(), KernelClass::kOther);
  classes.tensor_cores.assign(trace.strings.size(), TensorCores::kUnknown);
  std::vector<std::uint8_t> known(trace.strings.size(), kUnasked);  // for kernels; copies and sets need no name
  for (const GpuEventId id : events.ids().ids()) {
    if (events.kind[id] != GpuEventKind::kKernel) {
      classes.of[id] = events.kind[id] == GpuEventKind::kCopy ? KernelClass::kCopy : KernelClass::kSet;
      continue;
    }
    const StringId name = events.name[id];
    std::uint8_t& of_name = known[name.value];
    if (of_name == kUnasked) {
      of_name = static_cast<std::uint8_t>(classify_kernel_name(trace.text(name), GpuEventKind::kKernel));
      classes.tensor_cores[name.value] = classify_tensor_cores(trace.text(name));
    }
    classes.of[id] = static_cast<KernelClass>(of_name);
  }
  const std::vector<bool> is_optimizer_name = find_optimizer_names(trace);
  for (const ThreadId thread : trace.threads.ids().ids()) mark_optimizer(trace, thread, is_optimizer_name, classes);
  return classes;
}

}  // namespace stepscope

// The longest texts stand first, since their parts are texts too; what was replaced is not looked at again.
#include "analyze/recording_words.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "analyze/framework.h"
#include "trace/producers.h"

namespace stepscope {
namespace {

struct Words {
  std::string_view torch, capture, session, jax, other;
};

constexpr std::string_view kSwitch = "stepscope run ";
// Whole sentences stand first, for the tools that have no option; of the others it is the option that is replaced.
constexpr std::ptrdiff_t kSentenceCount = 2;

constexpr std::array<Words, 15> kWords = {{
    {"Not recorded. Record with profile_memory=True to see peaks by step.",
     "Not recorded. Record with stepscope run --memory to see peaks by step.",
     "Not recorded. Record with SessionOptions::profile_memory = true to see peaks by step.",
     "Not recorded: JAX's traces hold no allocations. jax.profiler.save_device_memory_profile(\"memory.prof\") writes "
     "what is held at one instant.",
     "Not recorded: the file holds no allocations."},
    {"; record with profile_memory=True", "; record with stepscope run --memory",
     "; record with SessionOptions::profile_memory = true", ", which JAX's traces never hold", ""},
    {"torch.profiler.profile(record_shapes=True)", "stepscope run --shapes", "SessionOptions::record_shapes = true",
     "the operators' shapes", "the operators' shapes"},
    {"torch.profiler.profile(..., with_stack=True)", "stepscope run without --no-stacks",
     "SessionOptions::with_stack = true", "python_tracer_level = 1 (jax.profiler.ProfileOptions)", "Python stacks"},
    {"profile(..., record_shapes=True)", "stepscope run --shapes", "SessionOptions::record_shapes = true",
     "a recording with the operators' shapes", "a recording with the operators' shapes"},
    {"profile(..., with_stack=True)", "stepscope run without --no-stacks", "SessionOptions::with_stack = true",
     "python_tracer_level = 1 (jax.profiler.ProfileOptions)", "a recording with Python stacks"},
    {"with_stack=False, record_shapes=False, profile_memory=False", "stepscope run --no-stacks, without --shapes",
     "SessionOptions::with_stack, record_shapes and profile_memory = false",
     "python_tracer_level = 0, host_tracer_level = 1 (jax.profiler.ProfileOptions)", "GPU work and API calls alone"},
    {"with_stack=False, profile_memory=False", "stepscope run --no-stacks, without --memory",
     "SessionOptions::with_stack and profile_memory = false",
     "python_tracer_level = 0, host_tracer_level = 1 (jax.profiler.ProfileOptions)", "GPU work and API calls alone"},
    {"schedule(skip_first=10, wait=1, warmup=2, active=3)", "stepscope run --schedule skip=10,wait=1,warmup=2,active=3",
     "make_schedule({.skip_first = 10, .wait = 1, .warmup = 2, .active = 3})",
     "jax.profiler.start_trace after some 10 steps", "begin after some 10 steps"},
    {"schedule(wait=1, warmup=2, active=3)", "stepscope run --schedule wait=1,warmup=2,active=3",
     "make_schedule({.wait = 1, .warmup = 2, .active = 3})", "a few steps", "a few steps"},
    {"Call prof.step() in the loop, or name the span that is one step: --steps NAME",
     "Name the span that is one step: stepscope run --step NAME when recording, --steps NAME when reading",
     "Give the session a schedule and call session.step() in the loop, or name the span that is one step: "
     "--steps NAME",
     "Put each step in jax.profiler.StepTraceAnnotation, or name the span that is one step: --steps NAME",
     "Name the span that is one step: --steps NAME"},
    {"Call prof.step() after each step, or name a span: --steps NAME",
     "Name the span that is one step: stepscope run --step NAME when recording, --steps NAME when reading",
     "Call session.step() after each step, or name a span: --steps NAME",
     "Put each step in jax.profiler.StepTraceAnnotation, or name a span: --steps NAME",
     "Name the span that is one step: --steps NAME"},
    {"record_shapes=True", "stepscope run --shapes", "SessionOptions::record_shapes = true", "the operators' shapes",
     "the operators' shapes"},
    {"with_stack=True", "stepscope run without --no-stacks", "SessionOptions::with_stack = true",
     "python_tracer_level = 1 (jax.profiler.ProfileOptions)", "Python stacks"},
    {"profile_memory=True", "stepscope run --memory", "SessionOptions::profile_memory = true", "its allocations",
     "its allocations"},
}};

// A capture whose program asked for its windows is most often one of `stepscope.torch`, which takes torch.profiler's
// own words; `stepscope run` of a program that starts windows itself leaves the same remark, so the switch is told
// beside.
bool is_asked_by_program(const TraceInfo& info) {
  return std::any_of(info.remarks.begin(), info.remarks.end(), [](const std::string& remark) {
    return remark.starts_with("a start was asked for by the program");
  });
}

// Of a file without aten:: operators: what torch.profiler alone writes, into the head of the file or as names.
bool is_from_torch(const Trace& trace) {
  const TraceInfo& info = trace.info;
  if (info.record_shapes || info.profile_memory || info.with_stack || info.with_flops || info.with_modules) return true;
  if (info.cuda_runtime_version || info.cupti_version || info.rank) return true;
  const auto& memory = trace.devices.memory_bytes.raw();
  if (std::any_of(memory.begin(), memory.end(), [](MaybeInt bytes) { return bytes.has_value(); })) return true;
  constexpr std::array<std::string_view, 7> kNames = {"ProfilerStep#", "Optimizer.", "nn.Module: ",          "torch",
                                                      "autograd::",    "triton_",    "enumerate(DataLoader)"};
  for (std::uint32_t at = 0; at < trace.strings.size(); ++at) {
    const std::string_view name = trace.text(StringId{at});
    if (std::any_of(kNames.begin(), kNames.end(), [&](std::string_view part) { return name.starts_with(part); })) {
      return true;
    }
  }
  return false;
}

std::string words_for(const Words& words, RecordingTool tool) {
  switch (tool) {
    case RecordingTool::kSession:
      return std::string(words.session);
    case RecordingTool::kJax:
      return std::string(words.jax);
    case RecordingTool::kOther:
      return std::string(words.other);
    case RecordingTool::kCapture:
      return std::string(words.capture);
    default:
      break;
  }
  std::string both(words.torch);
  if (words.capture.starts_with(kSwitch)) both += " (or " + std::string(words.capture) + ")";
  return both;
}

}  // namespace

RecordingTool find_recording_tool(const Trace& trace) {
  if (trace.info.producer == kSessionProducer) return RecordingTool::kSession;
  if (trace.info.producer == kCaptureProducer) {
    return is_asked_by_program(trace.info) ? RecordingTool::kCaptureByProgram : RecordingTool::kCapture;
  }
  switch (find_framework(trace)) {
    case Framework::kPyTorch:
      return RecordingTool::kTorch;
    case Framework::kJax:
      return RecordingTool::kJax;
    default:
      return is_from_torch(trace) ? RecordingTool::kTorch : RecordingTool::kOther;
  }
}

std::string fit_recording_words(RecordingTool tool, std::string text) {
  if (tool == RecordingTool::kTorch) return text;
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view rest = std::string_view(text).substr(at);
    const auto* found =
        std::find_if(kWords.begin(), kWords.end(), [&](const Words& words) { return rest.starts_with(words.torch); });
    if (tool == RecordingTool::kCaptureByProgram && found - kWords.begin() < kSentenceCount) found = kWords.end();
    if (found == kWords.end()) {
      out += text[at++];
      continue;
    }
    out += words_for(*found, tool);
    at += found->torch.size();
  }
  return out;
}

std::string fit_recording_words(const Trace& trace, std::string text) {
  return fit_recording_words(find_recording_tool(trace), std::move(text));
}

std::string no_memory_events_words(const Trace& trace) {
  const std::string none = "the trace has no memory events";
  if (trace.info.profile_memory) return none + ", though they were asked for";
  const RecordingTool tool = find_recording_tool(trace);
  std::string text = fit_recording_words(tool, none + "; record with profile_memory=True");
  if (tool == RecordingTool::kTorch) text += ", or with `stepscope run --memory`";
  return text;
}

}  // namespace stepscope

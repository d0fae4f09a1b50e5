// The longest texts stand first, since their parts are texts too.
#include "analyze/recording_words.h"

#include <array>
#include <string_view>

#include "trace/producers.h"

namespace stepscope {
namespace {

struct Words {
  std::string_view torch, capture, session;
};

constexpr std::array<Words, 13> kWords = {{
    {"torch.profiler.profile(record_shapes=True)", "stepscope run --shapes", "SessionOptions::record_shapes = true"},
    {"torch.profiler.profile(..., with_stack=True)", "stepscope run without --no-stacks",
     "SessionOptions::with_stack = true"},
    {"profile(..., record_shapes=True)", "stepscope run --shapes", "SessionOptions::record_shapes = true"},
    {"profile(..., with_stack=True)", "stepscope run without --no-stacks", "SessionOptions::with_stack = true"},
    {"with_stack=False, record_shapes=False, profile_memory=False", "stepscope run --no-stacks, without --shapes",
     "SessionOptions::with_stack, record_shapes and profile_memory = false"},
    {"with_stack=False, profile_memory=False", "stepscope run --no-stacks, without --memory",
     "SessionOptions::with_stack and profile_memory = false"},
    {"schedule(skip_first=10, wait=1, warmup=2, active=3)", "stepscope run --schedule skip=10,wait=1,warmup=2,active=3",
     "make_schedule({.skip_first = 10, .wait = 1, .warmup = 2, .active = 3})"},
    {"schedule(wait=1, warmup=2, active=3)", "stepscope run --schedule wait=1,warmup=2,active=3",
     "make_schedule({.wait = 1, .warmup = 2, .active = 3})"},
    {"Call prof.step() in the loop, or name the span that is one step: --steps NAME",
     "Name the span that is one step: stepscope run --step NAME when recording, --steps NAME when reading",
     "Give the session a schedule and call session.step() in the loop, or name the span that is one step: "
     "--steps NAME"},
    {"Call prof.step() after each step, or name a span: --steps NAME",
     "Name the span that is one step: stepscope run --step NAME when recording, --steps NAME when reading",
     "Call session.step() after each step, or name a span: --steps NAME"},
    {"record_shapes=True", "stepscope run --shapes", "SessionOptions::record_shapes = true"},
    {"with_stack=True", "stepscope run without --no-stacks", "SessionOptions::with_stack = true"},
    {"profile_memory=True", "stepscope run --memory", "SessionOptions::profile_memory = true"},
}};

}  // namespace

std::string fit_recording_words(const TraceInfo& info, std::string text) {
  const bool is_session = info.producer == kSessionProducer;
  if (info.producer != kCaptureProducer && !is_session) return text;
  for (const auto& [torch, capture, session] : kWords) {
    const std::string_view ours = is_session ? session : capture;
    for (std::size_t at = text.find(torch); at != std::string::npos; at = text.find(torch, at + ours.size())) {
      text.replace(at, torch.size(), ours);
    }
  }
  return text;
}

}  // namespace stepscope

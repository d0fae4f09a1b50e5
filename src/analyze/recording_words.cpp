// The longest texts stand first, since their parts are texts too.
#include "analyze/recording_words.h"

#include <array>
#include <string_view>
#include <utility>

namespace stepscope {
namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 13> kWords = {{
    {"torch.profiler.profile(record_shapes=True)", "stepscope run --shapes"},
    {"torch.profiler.profile(..., with_stack=True)", "stepscope run without --no-stacks"},
    {"profile(..., record_shapes=True)", "stepscope run --shapes"},
    {"profile(..., with_stack=True)", "stepscope run without --no-stacks"},
    {"with_stack=False, record_shapes=False, profile_memory=False", "stepscope run --no-stacks, without --shapes"},
    {"with_stack=False, profile_memory=False", "stepscope run --no-stacks, without --memory"},
    {"schedule(skip_first=10, wait=1, warmup=2, active=3)",
     "stepscope run --schedule skip=10,wait=1,warmup=2,active=3"},
    {"schedule(wait=1, warmup=2, active=3)", "stepscope run --schedule wait=1,warmup=2,active=3"},
    {"Call prof.step() in the loop, or name the span that is one step: --steps NAME",
     "Name the span that is one step: stepscope run --step NAME when recording, --steps NAME when reading"},
    {"Call prof.step() after each step, or name a span: --steps NAME",
     "Name the span that is one step: stepscope run --step NAME when recording, --steps NAME when reading"},
    {"record_shapes=True", "stepscope run --shapes"},
    {"with_stack=True", "stepscope run without --no-stacks"},
    {"profile_memory=True", "stepscope run --memory"},
}};

}  // namespace

std::string fit_recording_words(const TraceInfo& info, std::string text) {
  if (info.producer != "capture") return text;
  for (const auto& [torch, capture] : kWords) {
    for (std::size_t at = text.find(torch); at != std::string::npos; at = text.find(torch, at + capture.size())) {
      text.replace(at, torch.size(), capture);
    }
  }
  return text;
}

}  // namespace stepscope

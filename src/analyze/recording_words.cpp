// The longest texts stand first, since their parts are texts too; what was replaced is not looked at again.
#include "analyze/recording_words.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "trace/producers.h"

namespace stepscope {
namespace {

struct Words {
  std::string_view torch, capture, session;
};

constexpr std::string_view kSwitch = "stepscope run ";

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

// A capture whose program asked for its windows is most often one of `stepscope.torch`, which takes torch.profiler's
// own words; `stepscope run` of a program that starts windows itself leaves the same remark, so the switch is told
// beside.
bool is_asked_by_program(const TraceInfo& info) {
  return std::any_of(info.remarks.begin(), info.remarks.end(), [](const std::string& remark) {
    return remark.starts_with("a start was asked for by the program");
  });
}

std::string words_for(const Words& words, const TraceInfo& info) {
  if (info.producer == kSessionProducer) return std::string(words.session);
  if (!is_asked_by_program(info)) return std::string(words.capture);
  std::string both(words.torch);
  if (words.capture.starts_with(kSwitch)) both += " (or " + std::string(words.capture) + ")";
  return both;
}

}  // namespace

std::string fit_recording_words(const TraceInfo& info, std::string text) {
  if (info.producer != kCaptureProducer && info.producer != kSessionProducer) return text;
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view rest = std::string_view(text).substr(at);
    const auto* found =
        std::find_if(kWords.begin(), kWords.end(), [&](const Words& words) { return rest.starts_with(words.torch); });
    if (found == kWords.end()) {
      out += text[at++];
      continue;
    }
    out += words_for(*found, info);
    at += found->torch.size();
  }
  return out;
}

}  // namespace stepscope

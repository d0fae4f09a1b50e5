// The separators of the format cannot be escaped, so names lose them, as torch's do.
#include "report/folded.h"

#include "report/text.h"

namespace stepscope {
namespace {

std::string frame_text(std::string_view name) {
  std::string text(name);
  for (char& c : text) {
    if (c == ' ' || c == ';' || c == '\t' || c == '\n') c = '_';
  }
  return clean_text(text);
}

}  // namespace

std::string write_folded(const Trace& trace, const FoldedStacks& folded) {
  std::string out;
  for (const FoldedStack& stack : folded.stacks) {
    const std::int64_t time_us = stack.time_ns / 1000;
    if (time_us <= 0) continue;
    for (std::size_t i = 0; i < stack.frames.size(); ++i) {
      if (i > 0) out += ';';
      out += frame_text(trace.text(stack.frames[i]));
    }
    out += ' ' + std::to_string(time_us) + '\n';
  }
  return out;
}

}  // namespace stepscope

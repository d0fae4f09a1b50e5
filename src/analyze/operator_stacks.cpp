// See operator_stacks.h.
#include "analyze/operator_stacks.h"

namespace stepscope {

OperatorStacks::OperatorStacks(const Trace& trace, const AveragesOptions& options)
    : trace_(trace), depth_(options.stack_depth), stacks_(1) {
  by_frames_.emplace(std::vector<FrameName>{}, 0);
  if (options.group_by != GroupBy::kStack) return;
  for (const StringId text : trace.ops.call_stack.raw()) {
    if (!text.empty()) {
      reads_call_stacks_ = true;
      return;
    }
  }
  reads_frames_ = options.python_stacks && !trace.frames.empty();
  if (!reads_frames_) return;
  by_frame_.assign(trace.frames.start_ns.size(), 0);
  operator_frames_ = compute_operator_frames(trace);
  links_ = compute_backward_links(trace);
}

void OperatorStacks::begin_thread(ThreadId thread) {
  if (reads_frames_) cursor_.emplace(trace_, thread);
}

std::uint32_t OperatorStacks::at(const HostNode& node) {
  const OpId op = node.op();
  if (reads_call_stacks_) return op.has_value() ? of_call_stack(trace_.ops.call_stack[op]) : 0;
  if (!reads_frames_ || !cursor_ || node.table == HostTable::kCall) return 0;
  FrameId frame = cursor_->innermost(node.start_ns);
  if (!frame.has_value() && op.has_value() && links_.forward[op].has_value()) {
    frame = operator_frames_[links_.forward[op]];
  }
  return frame.has_value() ? of_frame(frame) : 0;
}

std::vector<std::string_view> OperatorStacks::frames(std::uint32_t number) const {
  std::vector<std::string_view> out;
  const auto first_line = static_cast<FrameName>(trace_.strings.size());
  for (const FrameName name : stacks_[number]) {
    out.push_back(name < first_line ? trace_.text(StringId{name})
                                    : call_stack_lines_.view(StringId{name - first_line}));
  }
  return out;
}

std::uint32_t OperatorStacks::intern(std::vector<FrameName> frames) {
  const auto [at, is_new] = by_frames_.try_emplace(std::move(frames), static_cast<std::uint32_t>(stacks_.size()));
  if (is_new) stacks_.push_back(at->first);
  return at->second;
}

std::uint32_t OperatorStacks::of_frame(FrameId innermost) {
  std::uint32_t& known = by_frame_[innermost.value];
  if (known == 0) {
    std::vector<FrameName> frames;
    for (FrameId frame = innermost; frame.has_value() && frames.size() < depth_; frame = trace_.frames.parent[frame]) {
      frames.push_back(trace_.frames.name[frame].value);
    }
    known = intern(std::move(frames)) + 1;
  }
  return known - 1;
}

std::uint32_t OperatorStacks::of_call_stack(StringId text) {
  if (text.empty()) return 0;
  if (const auto known = by_call_stack_.find(text); known != by_call_stack_.end()) return known->second;
  const auto first_line = static_cast<FrameName>(trace_.strings.size());
  std::vector<FrameName> frames;
  std::string_view rest = trace_.text(text);
  while (!rest.empty() && frames.size() < depth_) {
    const std::size_t end = std::min(rest.find(';'), rest.size());
    if (end > 0) frames.push_back(first_line + call_stack_lines_.intern(rest.substr(0, end)).value);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  const std::uint32_t number = intern(std::move(frames));
  by_call_stack_.emplace(text, number);
  return number;
}

}  // namespace stepscope

// The Python stack of each operator and span, cut to some depth and numbered.
//
// Old files carry a `Call stack` with each operator; newer ones only the Python frames of the thread, from which the
// stack is read off. Work of the backward pass runs on a thread without Python: its stack is that of the forward
// operator that caused it, as in torch. Stacks are interned, so grouping by stack compares numbers.
#pragma once

#include <map>
#include <optional>

#include "analyze/averages.h"
#include "analyze/backward_links.h"
#include "analyze/host_nodes.h"
#include "analyze/python_frames.h"

namespace stepscope {

class OperatorStacks {
 public:
  // Does nothing unless the options group by stack.
  OperatorStacks(const Trace& trace, const AveragesOptions& options);

  // Nodes of one thread must be asked for in order of start; call begin_thread() before the first.
  void begin_thread(ThreadId thread);
  // Number of the node's stack; 0 is the empty stack.
  [[nodiscard]] std::uint32_t at(const HostNode& node);
  // Frames of a stack, innermost first.
  [[nodiscard]] std::vector<std::string_view> frames(std::uint32_t number) const;

 private:
  // A frame's name: a StringId of the trace, or a line of a `Call stack`, numbered behind the trace's strings.
  using FrameName = std::uint32_t;
  [[nodiscard]] std::uint32_t intern(std::vector<FrameName> frames);
  [[nodiscard]] std::uint32_t of_frame(FrameId innermost);
  [[nodiscard]] std::uint32_t of_call_stack(StringId text);

  const Trace& trace_;
  std::size_t depth_;
  bool reads_call_stacks_ = false;
  bool reads_frames_ = false;
  Column<OpId, FrameId> operator_frames_;
  BackwardLinks links_;
  std::optional<FrameCursor> cursor_;
  std::vector<std::uint32_t> by_frame_;  // number + 1; 0 = not yet known
  std::map<StringId, std::uint32_t> by_call_stack_;
  std::map<std::vector<FrameName>, std::uint32_t> by_frames_;
  std::vector<std::vector<FrameName>> stacks_;
  StringPool call_stack_lines_;
};

}  // namespace stepscope

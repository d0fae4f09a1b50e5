// A trie of frames: a node is (parent node, frame name), so a frame finds its node from its parent's in one look-up,
// and no stack is ever written out before it has a line. See stacks.h.
#include "analyze/stacks.h"

#include <tsl/robin_map.h>

#include <algorithm>
#include <limits>

#include "analyze/averages.h"
#include "analyze/backward_links.h"
#include "analyze/python_frames.h"
#include "base/hash.h"

namespace stepscope {
namespace {

constexpr DurationNs kNsPerUs = 1000;
constexpr std::uint32_t kMaxDepth = 1000;
constexpr std::size_t kMaxTextBytes = std::size_t{512} << 20;

void append_frame(std::string& out, std::string_view frame) {
  for (const char c : frame) out.push_back(c == ' ' || c == ';' || c == '\t' || c == '\n' ? '_' : c);
}

class StackTrie {
 public:
  using Node = std::uint32_t;
  static constexpr Node kRoot = 0;

  explicit StackTrie(const Trace& trace) : trace_(trace), nodes_(1) {}

  Node child(Node parent, StringId name) { return child_named(parent, name.value); }
  // Of a `Call stack`: lines innermost first, joined by `;`.
  Node of_call_stack(StringId text) {
    const auto [at, is_new] = by_call_stack_.try_emplace(text.value, kRoot);
    if (!is_new) return at->second;
    std::vector<std::string_view> lines;
    std::string_view rest = trace_.text(text);
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find(';'), rest.size());
      if (end > 0) lines.push_back(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    Node node = kRoot;
    for (auto line = lines.rbegin(); line != lines.rend(); ++line) node = child_named(node, name_of(*line));
    return at.value() = node;
  }
  void add(Node node, DurationNs time_ns) { nodes_[node].time_ns += time_ns; }

  [[nodiscard]] std::vector<FoldedStack> lines() const {
    std::vector<FoldedStack> out;
    std::size_t text_bytes = 0;
    DurationNs left_out_ns = 0;
    for (Node node = 1; node < nodes_.size(); ++node) {
      const DurationNs time_ns = nodes_[node].time_ns;
      if (time_ns < kNsPerUs) continue;
      if (text_bytes > kMaxTextBytes) {
        left_out_ns += time_ns;
        continue;
      }
      out.push_back({text(node), time_ns / kNsPerUs});
      text_bytes += out.back().stack.size();
    }
    if (left_out_ns >= kNsPerUs) out.push_back({"(stacks_left_out)", left_out_ns / kNsPerUs});
    return out;
  }

 private:
  // A string of the trace, or a line of a `Call stack` that is none: those are numbered behind the trace's.
  using FrameName = std::uint32_t;

  FrameName name_of(std::string_view line) {
    if (names_.empty()) {
      for (const StringId name : trace_.frames.name.raw()) names_.try_emplace(trace_.text(name), name.value);
    }
    const auto first_line = static_cast<FrameName>(trace_.strings.size());
    const auto [at, is_new] = names_.try_emplace(line, static_cast<FrameName>(first_line + lines_.size()));
    if (is_new) lines_.push_back(line);
    return at->second;
  }
  [[nodiscard]] std::string_view text_of(FrameName name) const {
    const std::size_t first_line = trace_.strings.size();
    return name < first_line ? trace_.text(StringId{name}) : lines_[name - first_line];
  }
  Node child_named(Node parent, FrameName name) {
    if (nodes_[parent].depth >= kMaxDepth) return parent;
    const std::uint64_t key = (std::uint64_t{parent} << 32) | name;
    const auto [at, is_new] = index_.try_emplace(key, static_cast<Node>(nodes_.size()));
    if (is_new) nodes_.push_back({parent, nodes_[parent].depth + 1, name, 0});
    return at->second;
  }

  [[nodiscard]] std::string text(Node node) const {
    std::vector<FrameName> names;
    for (Node at = node; at != kRoot; at = nodes_[at].parent) names.push_back(nodes_[at].name);
    std::string out;
    for (auto name = names.rbegin(); name != names.rend(); ++name) {
      if (!out.empty()) out.push_back(';');
      append_frame(out, text_of(*name));
    }
    return out;
  }

  struct Entry {
    Node parent = kRoot;
    std::uint32_t depth = 0;
    FrameName name = 0;
    DurationNs time_ns = 0;
  };
  const Trace& trace_;
  std::vector<Entry> nodes_;
  tsl::robin_map<std::uint64_t, Node, MixedHash> index_;
  tsl::robin_map<std::uint32_t, Node> by_call_stack_;
  tsl::robin_map<std::string_view, FrameName> names_;  // of the frames and of lines_
  std::vector<std::string_view> lines_;                // in the trace's strings
};

using FrameNodes = Column<FrameId, StackTrie::Node>;

FrameNodes add_frames(const Trace& trace, StackTrie& trie) {
  FrameNodes out;
  out.raw().resize(trace.frames.start_ns.size());
  for (const FrameId frame : trace.frames.ids().ids()) {
    const FrameId parent = trace.frames.parent[frame];
    out[frame] = trie.child(parent.has_value() ? out[parent] : StackTrie::kRoot, trace.frames.name[frame]);
  }
  return out;
}

void add_cpu_time(const Trace& trace, const FrameNodes& node_of, const Column<OpId, FrameId>& operator_frames,
                  const BackwardLinks& links, StackTrie& trie) {
  for (const FrameId frame : trace.frames.ids().ids()) {
    const FrameId parent = trace.frames.parent[frame];
    const DurationNs length = trace.frames.end_ns[frame] - trace.frames.start_ns[frame];
    trie.add(node_of[frame], length);
    if (parent.has_value()) trie.add(node_of[parent], -length);
  }
  // Operators under Python are in their frame's time already; autograd's thread has no Python of its own.
  for (const OpId op : trace.ops.ids().ids()) {
    const OpId parent = trace.ops.parent[op];
    const bool is_outermost = !parent.has_value() || links.is_backward[parent] == 0;
    if (operator_frames[op].has_value() || !links.forward[op].has_value() || !is_outermost) continue;
    const FrameId frame = operator_frames[links.forward[op]];
    if (frame.has_value()) trie.add(node_of[frame], trace.ops.end_ns[op] - trace.ops.start_ns[op]);
  }
}

void add_device_time(const Trace& trace, const FrameNodes& node_of, const Column<OpId, FrameId>& operator_frames,
                     const BackwardLinks& links, StackTrie& trie) {
  // Kernels launched by no operator (compiled and custom ones) have the frame of their launch call.
  const Column<CallId, FrameId> call_frames = compute_call_frames(trace);
  const GpuEvents& events = trace.gpu_events;
  for (const GpuEventId id : events.ids().ids()) {
    if (events.fault[id] != TimeFault::kNone) continue;
    const DurationNs length = events.end_ns[id] - events.start_ns[id];
    // A kernel of a graph: the line that captured it, not the one that replays it.
    if (const StringId stack = events.call_stack[id]; !stack.empty()) {
      trie.add(trie.of_call_stack(stack), length);
      continue;
    }
    FrameId frame;
    if (const OpId op = events.op[id]; op.has_value()) {
      frame = operator_frames[op];
      if (!frame.has_value() && links.forward[op].has_value()) frame = operator_frames[links.forward[op]];
    } else if (events.call[id].has_value()) {
      frame = call_frames[events.call[id]];
    }
    if (frame.has_value()) trie.add(node_of[frame], length);
  }
}

std::vector<FoldedStack> from_frames(const Trace& trace, bool is_device) {
  StackTrie trie(trace);
  const FrameNodes node_of = add_frames(trace, trie);
  const Column<OpId, FrameId> operator_frames = compute_operator_frames(trace);
  const BackwardLinks links = compute_backward_links(trace);
  (is_device ? add_device_time : add_cpu_time)(trace, node_of, operator_frames, links, trie);
  return trie.lines();
}

// Old files: each operator carries its own stack, and its self time is that of the table.
std::vector<FoldedStack> from_call_stacks(const Trace& trace, bool is_device) {
  AveragesOptions options;
  options.group_by = GroupBy::kStack;
  options.stack_depth = std::numeric_limits<std::size_t>::max();
  const Averages averages = compute_averages(trace, options);
  std::vector<FoldedStack> out;
  tsl::robin_map<std::string, std::size_t> index;
  std::vector<DurationNs> times_ns;
  for (const AverageRow& row : averages.rows) {
    if (row.stack.empty()) continue;
    FoldedStack line;
    for (auto frame = row.stack.rbegin(); frame != row.stack.rend(); ++frame) {
      if (!line.stack.empty()) line.stack.push_back(';');
      append_frame(line.stack, *frame);
    }
    const auto [at, is_new] = index.try_emplace(line.stack, out.size());
    if (is_new) {
      out.push_back(std::move(line));
      times_ns.push_back(0);
    }
    times_ns[at->second] += is_device ? row.self_device_time_total_ns : row.self_cpu_time_total_ns;
  }
  for (std::size_t i = 0; i < out.size(); ++i) out[i].value_us = times_ns[i] / kNsPerUs;
  std::erase_if(out, [](const FoldedStack& line) { return line.value_us <= 0; });
  return out;
}

}  // namespace

std::optional<std::vector<FoldedStack>> compute_folded_stacks(const Trace& trace, std::string_view metric) {
  if (metric.ends_with("_total")) metric.remove_suffix(std::string_view("_total").size());
  const bool is_device = metric == "self_device_time" || metric == "self_cuda_time" || metric == "self_xpu_time" ||
                         metric == "self_privateuse1_time";
  if (!is_device && metric != "self_cpu_time") return std::nullopt;
  return trace.frames.empty() ? from_call_stacks(trace, is_device) : from_frames(trace, is_device);
}

}  // namespace stepscope

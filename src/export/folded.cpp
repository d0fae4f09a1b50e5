// A trie: a node is (parent, name), and its line is written once, at the end. Depth is bounded since each line repeats
// its whole stack: a hostile file of nested rows would else write the square of its size.
#include "export/folded.h"

#include <tsl/robin_map.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/hash.h"
#include "export/json_text.h"
#include "export/text_buffer.h"
#include "export/timed_rows.h"

namespace stepscope {
namespace {

constexpr DurationNs kNsPerUs = 1000;
constexpr std::uint32_t kMostDepth = 1000;

class FoldedTrie {
 public:
  using Node = std::uint32_t;
  explicit FoldedTrie(const Trace& trace) : trace_(trace), nodes_(1) {}

  Node child(Node parent, StringId name) { return child(parent, name.value); }
  Node root(const std::string& name) {
    const auto [at, is_new] = own_.try_emplace(name, static_cast<std::uint32_t>(names_.size()));
    if (is_new) names_.push_back(name);
    return child(0, static_cast<std::uint32_t>(trace_.strings.size()) + at->second);
  }
  void add(Node node, DurationNs time_ns) { nodes_[node].time_ns += time_ns; }

  void write(TextBuffer& out) const {
    std::vector<std::uint32_t> path;
    std::string line;
    for (Node node = 1; node < nodes_.size() && !out.failed(); ++node) {
      if (nodes_[node].time_ns < kNsPerUs) continue;
      path.clear();
      for (Node at = node; at != 0; at = nodes_[at].parent) path.push_back(nodes_[at].name);
      line.clear();
      for (auto name = path.rbegin(); name != path.rend(); ++name) {
        if (!line.empty()) line += ';';
        append_name(*name, line);
      }
      out.put(line);
      out.put(' ');
      out.put_integer(nodes_[node].time_ns / kNsPerUs);
      out.put('\n');
    }
  }

 private:
  struct Entry {
    Node parent = 0;
    std::uint32_t name = 0, depth = 0;
    DurationNs time_ns = 0;
  };

  Node child(Node parent, std::uint32_t name) {
    if (nodes_[parent].depth >= kMostDepth) return parent;
    const auto [at, is_new] = index_.try_emplace(std::uint64_t{parent} << 32U | name, static_cast<Node>(nodes_.size()));
    if (is_new) nodes_.push_back({parent, name, nodes_[parent].depth + 1, 0});
    return at->second;
  }

  void append_name(std::uint32_t name, std::string& line) const {
    const std::size_t begin = line.size();
    const std::size_t own = trace_.strings.size();
    append_valid_utf8(name < own ? trace_.text(StringId{name}) : std::string_view(names_[name - own]), line);
    for (std::size_t i = begin; i < line.size(); ++i) {
      const auto c = static_cast<unsigned char>(line[i]);
      if (c <= ' ' || c == ';' || c == 0x7f) line[i] = '_';
    }
    if (line.size() == begin) line += '_';
  }

  const Trace& trace_;
  std::vector<Entry> nodes_;
  tsl::robin_map<std::uint64_t, Node, MixedHash> index_;
  tsl::robin_map<std::string, std::uint32_t> own_;
  std::vector<std::string> names_;  // those that are no strings of the trace
};

// Takes the lanes of a thread: what is open is a path of nodes.
class CpuTime {
 public:
  CpuTime(const Trace& trace, FoldedTrie& trie) : trace_(trace), trie_(trie) {}
  void thread(ThreadId id) {
    const StringId name = trace_.threads.name[id];
    name_.clear();
    if (name.empty()) name_ += "thread ";
    name_ += trace_.text(name.empty() ? trace_.threads.key[id] : name);
    for_each_lane(rows_of_thread(trace_, id), *this);
  }
  void begin_lane(std::size_t lane) {
    path_.assign(1, trie_.root(lane == 0 ? name_ : name_ + " overlapping " + std::to_string(lane)));
  }
  void begin(const TimedRow& row) {
    const FoldedTrie::Node outer = path_.back();
    path_.push_back(trie_.child(outer, row.name(trace_)));
    trie_.add(path_.back(), row.end_ns - row.start_ns);
    if (path_.size() > 2) trie_.add(outer, row.start_ns - row.end_ns);
  }
  void end(const TimedRow&, TimeNs) { path_.pop_back(); }
  void end_lane(std::size_t) {}

 private:
  const Trace& trace_;
  FoldedTrie& trie_;
  std::string name_;
  std::vector<FoldedTrie::Node> path_;
};

void add_gpu_time(const Trace& trace, FoldedTrie& trie) {
  const GpuEvents& events = trace.gpu_events;
  std::vector<StringId> path;
  for (const GpuEventId id : events.ids().ids()) {
    if (events.fault[id] != TimeFault::kNone) continue;
    path.clear();
    for (OpId op = events.op[id]; op.has_value(); op = trace.ops.parent[op]) path.push_back(trace.ops.name[op]);
    if (path.empty() && !events.op_name[id].empty()) path.push_back(events.op_name[id]);
    if (path.empty() && events.call[id].has_value()) path.push_back(trace.calls.name[events.call[id]]);
    FoldedTrie::Node node = trie.root(std::string("GPU ") + std::to_string(trace.devices.number[events.device[id]]));
    for (auto name = path.rbegin(); name != path.rend(); ++name) node = trie.child(node, *name);
    trie.add(trie.child(node, events.name[id]), events.end_ns[id] - events.start_ns[id]);
  }
}

}  // namespace

Status write_folded(const Trace& trace, FoldedTime time, const TextSink& sink) {
  FoldedTrie trie(trace);
  if (time == FoldedTime::kGpu) {
    add_gpu_time(trace, trie);
  } else {
    CpuTime cpu(trace, trie);
    for (const ThreadId id : trace.threads.ids().ids()) cpu.thread(id);
  }
  TextBuffer out(sink);
  trie.write(out);
  return out.finish();
}

}  // namespace stepscope

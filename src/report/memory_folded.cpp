// Folded stacks of a live set. Whole stacks and not only the user's line: a flame graph is for what a table of lines
// hides, which layer of a module called it. Allocations without a stack are one line each for their reason, so that the
// sum is the live set's.
#include <algorithm>
#include <map>

#include "report/memory_build.h"
#include "report/text.h"

namespace stepscope {
namespace {

void append_frame(std::string& out, std::string_view frame) {
  for (const char c : frame) out.push_back(c == ' ' || c == ';' || c == '\t' || c == '\n' ? '_' : c);
}

std::string stack_text(const MemorySnapshot& snapshot, SnapshotStackId stack) {
  std::string text;
  const auto frames = snapshot.frames_of(stack);
  for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) {
    if (!text.empty()) text += ';';
    append_frame(text, clean_text(describe_frame(snapshot, *frame)));
  }
  return text;
}

}  // namespace

Result<std::string> write_memory_folded(const MemorySnapshot& snapshot, const MemoryFacts& facts,
                                        const MemoryReportOptions& options) {
  const auto device = find_shown_device(snapshot, facts, options.device_number);
  if (!device) return device.error();
  if (!device->has_value()) return std::string();
  const auto chosen = choose_moment(snapshot, facts, *device, options);
  if (!chosen) return chosen.error();
  std::map<SnapshotStackId, std::int64_t> bytes_by_stack;
  std::int64_t older_bytes = 0, frameless_bytes = 0;
  const Allocations& all = facts.allocations;
  for (const AllocationId id : find_live(snapshot, facts, *device, chosen->moment)) {
    if (all.stack[id].has_value()) {
      bytes_by_stack[all.stack[id]] += all.requested_bytes[id];
    } else {
      (all.alloc_entry[id].has_value() ? frameless_bytes : older_bytes) += all.requested_bytes[id];
    }
  }
  // Two stacks may read alike once their frames are escaped.
  std::map<std::string, std::int64_t> lines;
  for (const auto& [stack, bytes] : bytes_by_stack) lines[stack_text(snapshot, stack)] += bytes;
  const auto add_reason = [&](std::string_view reason, std::int64_t bytes) {
    std::string text;
    append_frame(text, reason);
    lines[text] += bytes;
  };
  add_reason(kOlderThanHistory, older_bytes);
  add_reason(kNoFramesRecorded, frameless_bytes);
  std::vector<std::pair<std::int64_t, std::string_view>> sorted;
  for (const auto& [text, bytes] : lines) {
    if (bytes > 0) sorted.emplace_back(-bytes, text);
  }
  std::sort(sorted.begin(), sorted.end());
  std::string out;
  for (const auto& [negative, text] : sorted) {
    out += text;
    out += ' ' + std::to_string(-negative) + '\n';
  }
  return out;
}

}  // namespace stepscope

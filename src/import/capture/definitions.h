// Texts, frames and stacks of a capture, by the numbers that its records use.
//
// A definition may be missing (its chunk was damaged) and numbers may be anything (a hostile file): they are looked up
// in maps, never used as indices. Stacks are kept as our own list of nodes in which a caller always stands before its
// callee, so no walk can run in a circle.
#pragma once

#include <tsl/robin_map.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/hash.h"
#include "base/string_pool.h"
#include "import/capture/native_names.h"
#include "wire/records.h"

namespace stepscope::capture_format {

// Row of Stacks; 0 is the empty stack.
using StackNode = std::uint32_t;

class Definitions {
 public:
  explicit Definitions(StringPool& strings) : strings_(strings), nodes_(1) {}

  void set_process(const CaptureInfo& info);
  void add(const WireStringDefinition& definition);
  void add(const WireFrameDefinition& definition);
  void add(const WireStackDefinition& definition);

  [[nodiscard]] StringId text(WireString number);
  [[nodiscard]] StackNode stack(WireStack number);
  // Numbers that were asked for and nowhere defined.
  [[nodiscard]] std::uint64_t undefined_count() const { return undefined_count_; }

  struct Node {
    StackNode caller = 0;
    std::uint32_t depth = 0;  // of frames; 0: the empty stack
    StringId frame;           // "train.py(52): step"; of a native one a text that shown_frame() turns into such
    bool is_native = false;
  };
  [[nodiscard]] const Node& node(StackNode stack) const { return nodes_[stack]; }
  // Opens the files that native frames name (native_names.h), once all definitions are there. Paths of those that
  // have changed since the recording.
  [[nodiscard]] std::vector<std::string> find_native_names();
  // What to call a frame. "plain.cu(37): main"; without a line "plain(0): main", without a name "plain(0):
  // plain+0x1a2b".
  [[nodiscard]] StringId shown_frame(StackNode stack) const;
  // Is it a function of CUDA's that is linked into the program, seen inside the call `name`?
  [[nodiscard]] bool is_inside_call(StackNode stack, std::string_view name) const;
  // The frames, outermost first.
  void frames(StackNode stack, std::vector<StackNode>& into) const;
  // As Ops::call_stack: innermost first, joined by `;`.
  [[nodiscard]] StringId call_stack(StackNode stack);

 private:
  [[nodiscard]] std::string_view shown_file(std::string_view file) const;

  StringPool& strings_;
  std::vector<std::string> prefixes_;  // of file names, longest first, each with its last /
  tsl::robin_map<WireString, StringId, MixedHash> texts_;
  tsl::robin_map<std::uint32_t, StringId, MixedHash> frames_;  // their names
  tsl::robin_map<WireStack, StackNode, MixedHash> stacks_;
  std::vector<Node> nodes_;
  tsl::robin_map<StackNode, StringId, MixedHash> call_stacks_;
  std::vector<native::NativeFrame> native_frames_;
  tsl::robin_map<std::uint32_t, std::size_t, MixedHash> native_of_name_;  // by Node::frame; row of native_frames_
  std::vector<StringId> native_names_, native_functions_;                 // of native_frames_
  std::uint64_t undefined_count_ = 0;
};

}  // namespace stepscope::capture_format

// Runs a pickle's data opcodes on a stack of Values; whatever names code is refused with what it asked for.
//
// A pickle is a program for a small stack machine. Of its 68 opcodes 14 import or call something: these end the reading
// at once. The others only build lists, dicts, numbers and texts, which SnapshotTree turns into rows. FRAME and the
// lengths of texts are not believed: text is taken as it arrives, in windows, so a length allocates nothing.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "memory/byte_window.h"
#include "memory/pickle_opcodes.h"
#include "memory/snapshot_tree.h"
#include "memory/value_stack.h"

namespace stepscope::snapshot_reading {

class PickleMachine {
 public:
  PickleMachine(ByteWindow& window, SnapshotTree& tree, Notes& notes);

  // Runs to STOP, or to the end of a cut input, whose open lists and dicts are closed as they are. The outermost
  // object.
  [[nodiscard]] Result<Value> run();
  [[nodiscard]] int protocol() const { return protocol_; }

 private:
  enum class Outcome : std::uint8_t { kContinue, kStop, kCut, kFail };

  Outcome run_opcodes();
  Outcome run_rare(Op op);
  Outcome run_rarest(Op op);
  Outcome run_text_opcode(Op op);
  Outcome run_container_opcode(Op op);
  Outcome refuse(Op op);
  Outcome fail(Op op, std::string_view why);

  void push(Value value) { stack_.push_back(value); }
  // The first item above the last mark.
  [[nodiscard]] std::size_t fence() const { return marks_.empty() ? 0 : marks_.back(); }
  [[nodiscard]] bool has(std::size_t count) const { return stack_.size() - fence() >= count; }
  [[nodiscard]] std::span<Value> top(std::size_t count) { return stack_.from(stack_.size() - count); }
  // Ends the last mark; nothing without one. The items above it.
  [[nodiscard]] bool take_mark(std::size_t& begin);
  Outcome append(Op op, std::size_t items_begin);
  Outcome set_items(Op op, std::size_t items_begin);
  Outcome put(Op op, std::uint64_t at);
  Outcome get(Op op, std::uint64_t at);

  // Of what follows the opcode at hand; at_ moves behind it.
  [[nodiscard]] std::uint64_t little_endian(std::size_t bytes) const;
  // False: the input ends before. The view is good until the next read.
  [[nodiscard]] bool read_bytes(std::uint64_t count, std::string_view& into);
  [[nodiscard]] bool read_line(std::string_view& into);
  [[nodiscard]] Value integer_of_bytes(std::string_view little_endian);
  [[nodiscard]] bool integer_of_line(std::string_view line, Value& into);

  Value close_what_is_open();
  void close_range(std::size_t begin, bool is_dict);

  ByteWindow& window_;
  SnapshotTree& tree_;
  Notes& notes_;
  ValueStack stack_;
  std::vector<std::size_t> marks_;
  const std::uint8_t* at_ = nullptr;  // behind the opcode at work
  std::uint64_t op_offset_ = 0;
  std::string scratch_;
  int protocol_ = 0;
  Error error_;
};

}  // namespace stepscope::snapshot_reading

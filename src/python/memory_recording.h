// A memory snapshot as Python holds it: what was read, what follows from it, and its tables.
//
// Tables name a place in the history by `event`, the number of an entry within its device, as docs/formats/memory.md
// does. Stacks and lines are words of one dictionary each, made when the first table that has them is asked for: a
// snapshot of half a million entries has some thousands of different stacks.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "memory/facts.h"
#include "python/table_maker.h"
#include "report/memory_report.h"

namespace stepscope::python {

class MemoryRecording {
 public:
  MemoryRecording(MemorySnapshot snapshot, MemoryFacts facts)
      : snapshot_(std::move(snapshot)), facts_(std::move(facts)) {}

  [[nodiscard]] const MemorySnapshot& snapshot() const { return snapshot_; }
  [[nodiscard]] const MemoryFacts& facts() const { return facts_; }

  // What the allocator did, as recorded: also of a file of which no other number is sound.
  [[nodiscard]] TablePointer events(SnapshotDeviceId device) const;
  [[nodiscard]] TablePointer segments(SnapshotDeviceId device) const;
  [[nodiscard]] TablePointer blocks(SnapshotDeviceId device) const;
  // The four levels at each moment: one row more than there are events.
  [[nodiscard]] TablePointer levels(SnapshotDeviceId device) const;
  [[nodiscard]] TablePointer allocations(SnapshotDeviceId device) const;
  // Of them, those that are live at the moment.
  [[nodiscard]] TablePointer live(SnapshotDeviceId device, std::size_t moment) const;
  [[nodiscard]] TablePointer steps(SnapshotDeviceId device) const;

 private:
  struct Texts {
    std::shared_ptr<const ArrowColumn> stacks, lines;
    std::vector<std::uint32_t> word_of_stack, line_of_stack;  // by stack
    [[nodiscard]] std::uint32_t stack_word(SnapshotStackId stack) const {
      return stack.has_value() ? word_of_stack[stack.value] : 0;
    }
    [[nodiscard]] std::uint32_t line_word(SnapshotStackId stack) const {
      return stack.has_value() ? line_of_stack[stack.value] : 0;
    }
  };
  [[nodiscard]] const Texts& texts() const;
  [[nodiscard]] TablePointer allocations_of(SnapshotDeviceId device, const std::vector<AllocationId>& rows) const;
  [[nodiscard]] std::int64_t event_of(SnapshotDeviceId device, SnapshotEntryId entry) const;
  [[nodiscard]] std::int64_t time_of(SnapshotEntryId entry) const;
  [[nodiscard]] std::int64_t stream_of(SnapshotStreamId stream) const;

  MemorySnapshot snapshot_;
  MemoryFacts facts_;
  mutable std::once_flag texts_made_;
  mutable Texts texts_;
};

[[nodiscard]] TablePointer groups_table(const std::vector<LiveGroup>& groups);
[[nodiscard]] TablePointer differences_table(const MemoryDiffReport& diff);
[[nodiscard]] TablePointer what_ifs_table(const MemoryWhatIfReport& what_ifs);

}  // namespace stepscope::python

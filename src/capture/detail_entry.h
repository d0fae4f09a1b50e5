// What few records carry (stack, source line, shapes, types, FLOPs), packed into a log and unpacked after the stop.
//
// Numbers are copied as they are while the program runs; JSON text is made from them afterwards, which takes the
// formatting (some 150 ns for two shapes) and its allocations out of the program's time.
//
//   head | line in head.name | file | flops | stack and input counts | addresses | (dims count, type bytes, dims,
//   type)*
#pragma once

#include <cstdint>
#include <optional>
#include <source_location>
#include <span>

#include "capture/recorder.h"
#include "capture/thread_log.h"
#include "stepscope/span.h"

namespace stepscope {

struct DetailSource {
  std::span<void* const> stack;
  const char* file = nullptr;
  std::uint32_t line = 0;
  double flops = -1;
  std::span<const OpInput> inputs;  // one of these two
  DimLists dims;
};

// Writes it into the thread's log; its number there, or empty when it has no room.
[[nodiscard]] std::optional<std::uint32_t> write_detail(ThreadState& thread, const DetailSource& source);
// From an entry of kind kDetail.
[[nodiscard]] RecordDetail read_detail(const EntryHead& entry);

}  // namespace stepscope

// From events of the rings to records of the capture file. Worker's thread only.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "agent/ledger.h"
#include "capture/capture_file.h"
#include "capture/event_ring.h"

namespace stepscope::agent {

class HookWriter {
 public:
  HookWriter(CaptureFile& file, Ledger& ledger) : file_(file), ledger_(ledger) {}

  void write(const RingThread& thread, std::span<const HookEvent> events);
  [[nodiscard]] WireString name_of(NameId name);
  [[nodiscard]] WireStack stack_of(std::uint32_t stack);

 private:
  void write_thread(const RingThread& thread);
  void write_op(const HookEvent& event, std::int64_t thread_id);
  void write_span(const HookEvent& event, std::int64_t thread_id, WireSpanSource source);
  void write_call(const HookEvent& event, std::int64_t thread_id);
  void write_allocation(const HookEvent& event, std::int64_t thread_id);
  void write_device_memory(const HookEvent& event, std::int64_t thread_id);
  void write_memory_level(const HookEvent& event, std::int64_t thread_id);

  CaptureFile& file_;
  Ledger& ledger_;
  std::unordered_map<std::int64_t, std::string> threads_;  // as written
  std::vector<WireString> names_;                          // by NameId; 0: not written yet
  std::vector<WireStack> stacks_, native_stacks_;          // by the agent's number
};

}  // namespace stepscope::agent

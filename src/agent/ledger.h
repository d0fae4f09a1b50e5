// What should have come and what came: every launch call seen against every record received, by correlation number.
//
// Calls and records come in any order, late, twice or never. Correlation numbers only rise, so a table of the last
// kSlots numbers, each at its number modulo the size, matches them in flat memory: an entry is judged when its slot is
// taken by a later number, or at the end. A hash map of what is open was rejected: a graph launch has as many records
// as nodes, so that its entry could never be removed by its record. A step of a host-bound loop makes 5,300 numbers,
// so that a million reach some 200 steps back. Worker's thread only.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "base/time.h"
#include "wire/visitor.h"

namespace stepscope::agent {

enum class CallClass : std::uint8_t {
  kOther,   // allocations
  kLaunch,  // one kernel
  kGraph,   // a graph: any number of records
  kCopy,    // copies and sets: mostly one record, none for 0 bytes
  kSync,
};

class Ledger {
 public:
  explicit Ledger(std::size_t slot_count = std::size_t{1} << 20);

  // A call that ended: `expects_record` if it is a launch that was instrumented from start to end, did not fail, and
  // ran now (not into a graph that is captured).
  void note_call(std::uint32_t correlation, CallClass kind, bool expects_record);
  void note_record(std::int32_t device, std::uint32_t correlation, bool is_kernel, TimeNs start_ns, TimeNs end_ns);
  void set_dropped_by_cupti(std::uint64_t count) { host_.dropped_by_cupti_count = count; }
  void set_dropped_by_cap(std::uint64_t count) { host_.dropped_by_cap_count = count; }
  void set_dropped_host(std::uint64_t count) { host_.dropped_host_count = count; }

  // Launches that still wait for their (first) record.
  [[nodiscard]] std::uint64_t outstanding_count() const { return outstanding_count_; }
  // Nothing more will come: judges all that is open.
  void settle();
  // One record for the host (-1) and one for each device.
  void write(WireVisitor& out) const;
  [[nodiscard]] const WireLedger& host() const { return host_; }
  [[nodiscard]] WireLedger device(std::int32_t number) const;

 private:
  struct Slot {
    std::uint32_t correlation = 0;
    std::int16_t device = -1;  // of the record
    CallClass kind = CallClass::kOther;
    bool has_call : 1 = false;
    bool expects_record : 1 = false;
    bool has_record : 1 = false;
  };
  Slot& slot_for(std::uint32_t correlation);
  void judge(Slot& slot);
  WireLedger& of_device(std::int32_t number);

  std::vector<Slot> slots_;
  std::map<std::int32_t, WireLedger> devices_;
  WireLedger host_;
  std::uint64_t outstanding_count_ = 0;
};

}  // namespace stepscope::agent

// Matching by slot. A number that comes after its slot was judged opens it anew and counts as unmatched then: late by
// a million calls is as good as lost, and said.
#include "agent/ledger.h"

#include <bit>

namespace stepscope::agent {

Ledger::Ledger(std::size_t slot_count) : slots_(std::bit_ceil(slot_count)) {}

WireLedger& Ledger::of_device(std::int32_t number) {
  WireLedger& ledger = devices_[number];
  ledger.device = number;
  return ledger;
}

WireLedger Ledger::device(std::int32_t number) const {
  const auto found = devices_.find(number);
  return found == devices_.end() ? WireLedger{} : found->second;
}

void Ledger::judge(Slot& slot) {
  if (slot.has_call && slot.expects_record && !slot.has_record) {
    ++host_.unmatched_count;
    --outstanding_count_;
  }
  if (slot.has_record && !slot.has_call) ++of_device(slot.device).unmatched_count;
  slot = {};
}

Ledger::Slot& Ledger::slot_for(std::uint32_t correlation) {
  Slot& slot = slots_[correlation & (slots_.size() - 1)];
  if (slot.correlation != correlation) judge(slot);
  slot.correlation = correlation;
  return slot;
}

void Ledger::note_call(std::uint32_t correlation, CallClass kind, bool expects_record) {
  if (kind == CallClass::kOther || kind == CallClass::kSync) return;
  Slot& slot = slot_for(correlation);
  if (kind != CallClass::kCopy && expects_record) ++host_.launch_count;
  slot.has_call = true;
  slot.kind = kind;
  slot.expects_record = expects_record && kind != CallClass::kCopy;
  if (slot.expects_record && !slot.has_record) ++outstanding_count_;
}

void Ledger::note_record(std::int32_t device, std::uint32_t correlation, bool is_kernel, TimeNs start_ns,
                         TimeNs end_ns) {
  WireLedger& ledger = of_device(device);
  ++ledger.gpu_event_count;
  if (start_ns <= 0 || end_ns <= 0 || end_ns < start_ns) ++ledger.bad_time_count;
  if (correlation == 0) {
    ++ledger.unmatched_count;
    return;
  }
  Slot& slot = slot_for(correlation);
  if (slot.expects_record && !slot.has_record) --outstanding_count_;
  // A second kernel of a call that launches one: a record that came twice.
  if (slot.has_record && is_kernel && slot.has_call && slot.kind == CallClass::kLaunch) ++ledger.unmatched_count;
  slot.has_record = true;
  slot.device = static_cast<std::int16_t>(device);
}

void Ledger::settle() {
  for (Slot& slot : slots_) judge(slot);
}

void Ledger::write(WireVisitor& out) const {
  out.on(host_);
  for (const auto& [number, ledger] : devices_) out.on(ledger);
}

}  // namespace stepscope::agent

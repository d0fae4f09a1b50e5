// Findings in memory snapshots: what raised the peak, what failed, what never comes back; the list, and what each is
// given.
//
// A list of its own beside rules.h: those rules read a trace and save nanoseconds, these read a snapshot and save
// bytes. Their ids share one space, since a finding's id is its file and its page in docs/findings.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "memory/allocator_what_if.h"
#include "memory/facts.h"
#include "rules/finding.h"

namespace stepscope {

struct MemoryEvidence {
  std::string text;                  // one sentence with its numbers
  std::optional<std::size_t> event;  // entry of the device to look at: stepscope memory FILE --at '#event'
};

struct MemoryFinding {
  std::string id;  // = file, and page in docs/findings: "memory-spike"
  Severity severity = Severity::kNote;
  std::optional<std::int64_t>
      saving_bytes;  // by how much the peak of `saving_level` would be lower; missing: not known
  MemoryLevelKind saving_level = MemoryLevelKind::kAllocated;
  std::string title;  // one sentence: what is wrong, with the user's own names
  std::vector<MemoryEvidence> evidence;
  std::vector<std::string> advice;  // each a thing to type or change
  std::string gain;                 // empty if not predicted
};

// One device. What-ifs are those that were run, and are given only when the replay of the recording was proven.
struct MemoryRuleInput {
  const MemorySnapshot& snapshot;
  const MemoryFacts& facts;
  SnapshotDeviceId device;
  std::span<const AllocatorWhatIf> what_ifs = {};
  std::span<const AllocationId> live_at_peak = {};  // of the allocated level

  [[nodiscard]] const DeviceMemoryFacts& device_facts() const { return facts.devices[device]; }
  [[nodiscard]] const LevelFacts& level(MemoryLevelKind kind) const {
    return device_facts().levels[static_cast<std::size_t>(kind)];
  }
  // Number of an entry within the device; only for entries of this device.
  [[nodiscard]] std::size_t event_of(SnapshotEntryId entry) const {
    return entry.value - snapshot.devices.entries[device].begin;
  }
};

struct MemoryRule {
  std::string_view id;
  std::optional<MemoryFinding> (*find)(const MemoryRuleInput&);
};

[[nodiscard]] std::optional<MemoryFinding> find_out_of_memory(const MemoryRuleInput& input);
[[nodiscard]] std::optional<MemoryFinding> find_fragmentation(const MemoryRuleInput& input);
[[nodiscard]] std::optional<MemoryFinding> find_memory_growth(const MemoryRuleInput& input);
[[nodiscard]] std::optional<MemoryFinding> find_memory_spike(const MemoryRuleInput& input);
[[nodiscard]] std::optional<MemoryFinding> find_allocator_retries(const MemoryRuleInput& input);
[[nodiscard]] std::optional<MemoryFinding> find_activations_dominate(const MemoryRuleInput& input);
[[nodiscard]] std::optional<MemoryFinding> find_optimizer_state(const MemoryRuleInput& input);

[[nodiscard]] std::span<const MemoryRule> memory_rules();

// Runs all of them on one device, none without a history. Order: out-of-memory first; then faults, notes, information;
// inside a severity by bytes saved, then as listed.
[[nodiscard]] std::vector<MemoryFinding> find_all_memory(const MemoryRuleInput& input);

}  // namespace stepscope

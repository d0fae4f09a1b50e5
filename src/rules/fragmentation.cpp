// fragmentation: memory is reserved that is never in use at once, because it is free in the wrong pieces.
//
// Symptom: nvidia-smi shows far more than the tensors need; out of memory with memory free. Evidence: the peak of what
// is reserved against the peak of what is active, or a request that failed though enough was free in all.
// Threshold: kShare of the reserved peak. Each stream's pools round up to whole segments; under expandable_segments,
// where nothing else is lost, a recorded loop loses 7.5 % so (tests/data/memory/h200/snapx), and with the default
// setting 25 % (snap). And kLeastBytes: a pool holds one segment of 20 MiB half empty without any fragmentation, and
// a process has a few pools.
// False alarm: a program that allocates for a phase that is over (a large evaluation) and keeps the cache.
#include <algorithm>

#include "rules/memory_rules.h"
#include "rules/memory_wording.h"
#include "rules/wording.h"

namespace stepscope {
namespace {

constexpr double kShare = 0.15;
constexpr std::int64_t kLeastBytes = 128LL << 20;

// Nothing is advised that the re-simulation, where it ran, has refuted.
void add_advice(const MemoryRuleInput& input, std::int64_t reserved_peak, bool failed, MemoryFinding& finding) {
  const AllocatorWhatIf* best = best_setting(input);
  if (best != nullptr && failed) finding.advice.push_back(setting_to_type(*best));
  if (best == nullptr || best->run.reserved_peak_bytes >= reserved_peak) {
    if (input.what_ifs.empty()) {
      finding.advice.emplace_back("stepscope memory FILE --what-if shows what each setting would reserve");
    }
    finding.advice.emplace_back("Allocate the largest batch first, or pad lengths to a few sizes");
    return;
  }
  if (!failed) finding.advice.push_back(setting_to_type(*best));
  finding.saving_bytes = reserved_peak - best->run.reserved_peak_bytes;
  finding.gain = "under it the same requests reserve at most " + format_memory(best->run.reserved_peak_bytes);
}

}  // namespace

std::optional<MemoryFinding> find_fragmentation(const MemoryRuleInput& input) {
  const LevelFacts& reserved = input.level(MemoryLevelKind::kReserved);
  const std::int64_t active = input.level(MemoryLevelKind::kActive).peak_bytes;
  const auto& ooms = input.device_facts().ooms;
  const bool failed = !ooms.empty() && ooms.back().is_fragmentation;
  const std::int64_t unused = reserved.peak_bytes - active;
  const bool is_large =
      unused >= kLeastBytes && static_cast<double>(unused) >= kShare * static_cast<double>(reserved.peak_bytes);
  if (!failed && !is_large) return std::nullopt;

  MemoryFinding finding;
  finding.id = "fragmentation";
  finding.severity = failed ? Severity::kFault : Severity::kNote;
  finding.saving_level = MemoryLevelKind::kReserved;
  if (failed) {
    const OomFacts& oom = ooms.back();
    finding.title = "The request that failed was for " + format_memory(oom.request_bytes) +
                    ", and more than that was free, in pieces that were too small";
  } else {
    finding.title =
        format_memory(unused) + " of the " + format_memory(reserved.peak_bytes) + " reserved were never in use at once";
  }
  std::string text = "Reserved peaks at " + format_memory(reserved.peak_bytes) + ", in use at once were at most " +
                     format_memory(active) + ", so " +
                     format_percent(static_cast<double>(std::max<std::int64_t>(unused, 0)) /
                                    static_cast<double>(std::max<std::int64_t>(reserved.peak_bytes, 1))) +
                     " is never needed.";
  std::optional<std::size_t> event;
  if (reserved.peak_entry.has_value()) event = input.event_of(reserved.peak_entry);
  finding.evidence.push_back({text, event});
  const Fragmentation& free = input.device_facts().fragmentation;
  if (free.free_bytes > 0) {
    text = "At the end " + format_memory(free.free_bytes) + " are free in " +
           count_of(free.free_piece_count, "piece", "pieces") + ", the largest of " +
           format_memory(free.largest_free_bytes);
    if (const std::int64_t graphs = input.device_facts().free_in_private_pools_bytes; graphs > 0) {
      text += "; " + format_memory(graphs) + " of it only for CUDA graphs";
    }
    finding.evidence.push_back({text + ".", std::nullopt});
  }
  add_advice(input, reserved.peak_bytes, failed, finding);
  return finding;
}

}  // namespace stepscope

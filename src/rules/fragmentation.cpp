// fragmentation: memory is reserved that is never in use at once, because it is free in the wrong pieces.
//
// Symptom: nvidia-smi shows far more than the tensors need; out of memory with memory free. Evidence: the peak of what
// is reserved against the peak of what is active, or a request that failed though enough was free in all.
// Threshold: kShare of the reserved peak. Each stream's pools round up to whole segments; under expandable_segments,
// where nothing else is lost, a recorded loop loses 7.5 % so (tests/data/memory/h200/snapx), with the default setting
// 25 % (snap). Five recordings of one training loop begun in mid-life (tests/data/h200/solid and its relatives) all
// have 14.5 %; 23 % is the next (solid4_stack). kShare is half-way (geometric) between those two, so that no run of a
// program that was seen falls on the other side. And kLeastBytes: a pool holds one segment of 20 MiB half empty without
// any fragmentation, and a process has a few pools. Where the recording began in mid-life, what was reserved at its
// start may have been in use before: it is information then, and says so, since nothing in the file tells a cache from
// pieces. False alarm: a program that allocates for a phase that is over (a large evaluation) and keeps the cache.
#include <algorithm>

#include "memory/trace_snapshot.h"
#include "rules/memory_rules.h"
#include "rules/memory_wording.h"
#include "rules/wording.h"

namespace stepscope {
namespace {

constexpr double kShare = 0.18;
constexpr std::int64_t kLeastBytes = 128LL << 20;

// What the reserved peak is held against.
struct Use {
  std::int64_t reserved_bytes = 0;  // peak
  std::int64_t in_use_bytes = 0;    // at once, as far as recorded
  std::int64_t perhaps_bytes = 0;   // at once at most, what was reserved before the history counted as used

  [[nodiscard]] bool is_far_above(std::int64_t bytes) const {
    const std::int64_t unused = reserved_bytes - bytes;
    return unused >= kLeastBytes && static_cast<double>(unused) >= kShare * static_cast<double>(reserved_bytes);
  }
};

Use find_use(const MemoryRuleInput& input) {
  const LevelFacts& reserved = input.level(MemoryLevelKind::kReserved);
  Use use{reserved.peak_bytes, input.level(MemoryLevelKind::kActive).peak_bytes, 0};
  use.perhaps_bytes = use.in_use_bytes;
  if (!input.device_facts().is_whole_life) use.perhaps_bytes = std::max(use.perhaps_bytes, reserved.start_bytes);
  return use;
}

bool is_of_trace(const MemoryRuleInput& input) { return input.snapshot.info.format == kTraceSnapshotFormat; }

// Nothing is advised that the re-simulation, where it ran, has refuted; a trace has no settings to simulate.
void add_advice(const MemoryRuleInput& input, std::int64_t reserved_peak, bool failed, MemoryFinding& finding) {
  const AllocatorWhatIf* best = best_setting(input);
  if (best != nullptr && failed) finding.advice.push_back(setting_to_type(*best));
  if (best == nullptr || best->run.reserved_peak_bytes >= reserved_peak) {
    if (input.what_ifs.empty() && !is_of_trace(input)) {
      finding.advice.emplace_back("stepscope memory FILE --what-if shows what each setting would reserve");
    }
    finding.advice.emplace_back("Allocate the largest batch first, or pad lengths to a few sizes");
    return;
  }
  if (!failed) finding.advice.push_back(setting_to_type(*best));
  finding.saving_bytes = reserved_peak - best->run.reserved_peak_bytes;
  finding.gain = "under it the same requests reserve at most " + format_memory(best->run.reserved_peak_bytes);
}

std::string title_of(const MemoryRuleInput& input, const Use& use, bool failed, bool is_certain) {
  if (failed) {
    return "The request that failed was for " + format_memory(input.device_facts().ooms.back().request_bytes) +
           ", and more than that was free, in pieces that were too small";
  }
  const std::int64_t unused = use.reserved_bytes - (is_certain ? use.perhaps_bytes : use.in_use_bytes);
  return format_memory(unused) + " of the " + format_memory(use.reserved_bytes) + " reserved " +
         (is_certain ? "were never in use at once" : "are not in use at once in this history");
}

void add_free_pieces(const MemoryRuleInput& input, MemoryFinding& finding) {
  const Fragmentation& free = input.device_facts().fragmentation;
  if (free.free_bytes <= 0 || is_of_trace(input)) return;
  std::string text = "At the end " + format_memory(free.free_bytes) + " are free in " +
                     count_of(free.free_piece_count, "piece", "pieces") + ", the largest of " +
                     format_memory(free.largest_free_bytes);
  if (const std::int64_t graphs = input.device_facts().free_in_private_pools_bytes; graphs > 0) {
    text += "; " + format_memory(graphs) + " of it only for CUDA graphs";
  }
  finding.evidence.push_back({text + ".", std::nullopt});
}

}  // namespace

std::optional<MemoryFinding> find_fragmentation(const MemoryRuleInput& input) {
  const Use use = find_use(input);
  const auto& ooms = input.device_facts().ooms;
  const bool failed = !ooms.empty() && ooms.back().is_fragmentation;
  const bool is_certain = use.is_far_above(use.perhaps_bytes);
  if (!failed && !use.is_far_above(use.in_use_bytes)) return std::nullopt;

  MemoryFinding finding;
  finding.id = "fragmentation";
  finding.severity = failed ? Severity::kFault : is_certain ? Severity::kNote : Severity::kInformation;
  finding.saving_level = MemoryLevelKind::kReserved;
  finding.title = title_of(input, use, failed, is_certain);
  const LevelFacts& reserved = input.level(MemoryLevelKind::kReserved);
  std::optional<std::size_t> event;
  if (reserved.peak_entry.has_value()) event = input.event_of(reserved.peak_entry);
  const std::int64_t less = std::max<std::int64_t>(use.reserved_bytes - use.in_use_bytes, 0);
  finding.evidence.push_back({"Reserved peaks at " + format_memory(use.reserved_bytes) + ", of which at most " +
                                  format_memory(use.in_use_bytes) + " are in use at once: " +
                                  format_percent(static_cast<double>(less) /
                                                 static_cast<double>(std::max<std::int64_t>(use.reserved_bytes, 1))) +
                                  " less.",
                              event});
  if (!failed && !is_certain) {
    finding.evidence.push_back({format_memory(reserved.start_bytes) +
                                    " were reserved before the history begins; how much of it was in use then is not "
                                    "recorded.",
                                std::nullopt});
  }
  add_free_pieces(input, finding);
  if (!failed && !is_certain) {
    finding.advice.emplace_back("Record from the start of the program to know: stepscope run --memory");
  }
  add_advice(input, use.reserved_bytes, failed, finding);
  return finding;
}

}  // namespace stepscope

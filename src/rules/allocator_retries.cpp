// allocator-retries: the allocator gives memory back to the device and asks again, in steps that should need neither.
//
// Symptom: steps that stall (cudaFree waits for the whole GPU); memory at its limit. Evidence: segments freed and at
// once segments allocated. That is a retry (cudaMalloc failed, the cache was released), a garbage collection, or the
// program's own empty_cache(); the stack of the entry tells the last apart.
// Threshold: as in allocator-thrash, 2 calls of the device a step in over half of the steps from the third on; the
// first two grow the cache in every program. Below it one retry is a note: it says that the device was full.
// False alarm: steps of ever new sizes grow the cache for longer than two steps; without frees it is silent. Silent too
// where nothing is cached (calls of CUDA in a capture).
#include <algorithm>

#include "rules/memory_rules.h"
#include "rules/memory_wording.h"
#include "rules/wording.h"

namespace stepscope {
namespace {

constexpr std::size_t kFirstSteadyStep = 2;
constexpr std::int64_t kCallsAStep = 2;

struct DeviceCalls {
  std::int64_t retries = 0, emptied = 0;   // free and at once alloc; of those, by the program's empty_cache()
  std::optional<std::size_t> first;        // event of the first
  std::vector<std::size_t> frees, allocs;  // events
};

bool is_take(AllocatorAction action) {
  return action == AllocatorAction::kSegmentAlloc || action == AllocatorAction::kSegmentMap;
}

bool is_give_back(AllocatorAction action) {
  return action == AllocatorAction::kSegmentFree || action == AllocatorAction::kSegmentUnmap;
}

bool names_empty_cache(const MemorySnapshot& snapshot, SnapshotStackId stack) {
  for (const SnapshotFrameId frame : snapshot.frames_of(stack)) {
    if (snapshot.text(snapshot.frames.name[frame]).find("empty_cache") != std::string_view::npos) return true;
  }
  return false;
}

DeviceCalls count_calls(const MemoryRuleInput& input) {
  DeviceCalls calls;
  const SnapshotEntries& entries = input.snapshot.entries;
  bool was_free = false, by_program = false;
  for (const SnapshotEntryId entry : input.snapshot.devices.entries[input.device].ids()) {
    const AllocatorAction action = entries.action[entry];
    if (is_give_back(action)) {
      calls.frees.push_back(input.event_of(entry));
      by_program = by_program || names_empty_cache(input.snapshot, entries.stack[entry]);
      was_free = true;
      continue;
    }
    if (is_take(action)) {
      calls.allocs.push_back(input.event_of(entry));
      if (was_free) {
        ++calls.retries;
        calls.emptied += by_program ? 1 : 0;
        if (!calls.first) calls.first = input.event_of(entry);
      }
    }
    was_free = by_program = false;
  }
  return calls;
}

std::int64_t count_between(const std::vector<std::size_t>& events, std::size_t begin, std::size_t end) {
  return std::lower_bound(events.begin(), events.end(), end) - std::lower_bound(events.begin(), events.end(), begin);
}

// Steps from the third on, and those of them with so many calls and any of them a free.
struct Steady {
  std::size_t steps = 0, busy = 0;
  std::int64_t frees = 0, allocs = 0;
};

Steady count_steady(const MemorySteps& steps, const DeviceCalls& calls) {
  Steady steady;
  for (std::size_t k = kFirstSteadyStep; k + 1 < steps.moments.size(); ++k) {
    const std::int64_t frees = count_between(calls.frees, steps.moments[k], steps.moments[k + 1]);
    const std::int64_t allocs = count_between(calls.allocs, steps.moments[k], steps.moments[k + 1]);
    ++steady.steps;
    steady.frees += frees;
    steady.allocs += allocs;
    steady.busy += frees > 0 && frees + allocs >= kCallsAStep ? 1 : 0;
  }
  return steady;
}

// Calls of CUDA in a program without a caching allocator: all that is held is allocated, and each free gives back.
bool caches_nothing(const MemoryRuleInput& input) {
  const LevelFacts& reserved = input.level(MemoryLevelKind::kReserved);
  const LevelFacts& allocated = input.level(MemoryLevelKind::kAllocated);
  return reserved.peak_bytes <= allocated.peak_bytes && reserved.end_bytes <= allocated.end_bytes;
}

}  // namespace

std::optional<MemoryFinding> find_allocator_retries(const MemoryRuleInput& input) {
  if (caches_nothing(input)) return std::nullopt;
  const DeviceCalls calls = count_calls(input);
  const Steady steady = count_steady(input.facts.steps[input.device], calls);
  const bool in_every_step = steady.steps > 0 && steady.busy * 2 > steady.steps;
  const std::int64_t own = calls.retries - calls.emptied;
  if (!in_every_step && own == 0) return std::nullopt;

  MemoryFinding finding;
  finding.id = "allocator-retries";
  finding.severity = in_every_step ? Severity::kFault : Severity::kNote;
  if (in_every_step) {
    const auto steps = static_cast<double>(steady.steps);
    finding.title = "After the first two steps the device still gives " +
                    format_count(static_cast<double>(steady.allocs) / steps) + " segments a step and takes " +
                    format_count(static_cast<double>(steady.frees) / steps) + " back";
  } else {
    finding.title = "The cache was released to serve a request " + times_words(own) + ": no more could be taken";
  }
  std::string text = "Memory was given back and at once taken again " + times_words(calls.retries);
  if (calls.first) text += ", first at " + describe_event(input, *calls.first);
  if (calls.emptied > 0) text += "; " + format_count(static_cast<double>(calls.emptied)) + " by empty_cache()";
  finding.evidence.push_back({text + ".", calls.first});
  if (calls.emptied > 0) {
    finding.advice.emplace_back("Remove torch.cuda.empty_cache() from the loop: grep -rn empty_cache .");
  }
  if (own > 0) {
    const AllocatorWhatIf* best = best_setting(input);
    const bool is_expandable = input.snapshot.settings.expandable_segments.value_or(false);
    if (best != nullptr) {
      finding.advice.push_back(setting_to_type(*best));
    } else if (!is_expandable && input.what_ifs.empty()) {
      finding.advice.emplace_back("stepscope memory FILE --what-if shows which setting needs less");
    }
    finding.advice.emplace_back("A smaller batch: each release waits for the whole GPU");
  }
  if (finding.advice.empty())
    finding.advice.emplace_back("Keep sizes alike from step to step, so that freed blocks fit again");
  return finding;
}

}  // namespace stepscope

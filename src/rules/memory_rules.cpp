// Runs the memory rules and puts their findings in the order in which they are read.
#include "rules/memory_rules.h"

#include <algorithm>
#include <array>

namespace stepscope {
namespace {

constexpr std::array kMemoryRules = {
    MemoryRule{"out-of-memory", find_out_of_memory},
    MemoryRule{"memory-growth", find_memory_growth},
    MemoryRule{"fragmentation", find_fragmentation},
    MemoryRule{"memory-spike", find_memory_spike},
    MemoryRule{"allocator-retries", find_allocator_retries},
    MemoryRule{"activations-dominate", find_activations_dominate},
    MemoryRule{"optimizer-state", find_optimizer_state},
};

// What failed comes before what costs.
int reading_order(const MemoryFinding& finding) {
  return finding.id == "out-of-memory" ? -1 : static_cast<int>(finding.severity);
}

}  // namespace

std::span<const MemoryRule> memory_rules() { return kMemoryRules; }

std::vector<MemoryFinding> find_all_memory(const MemoryRuleInput& input) {
  std::vector<MemoryFinding> findings;
  if (!input.device_facts().has_history) return findings;
  for (const MemoryRule& rule : kMemoryRules) {
    if (auto finding = rule.find(input)) findings.push_back(std::move(*finding));
  }
  std::stable_sort(findings.begin(), findings.end(), [](const MemoryFinding& a, const MemoryFinding& b) {
    if (reading_order(a) != reading_order(b)) return reading_order(a) < reading_order(b);
    return a.saving_bytes.value_or(0) > b.saving_bytes.value_or(0);
  });
  return findings;
}

}  // namespace stepscope

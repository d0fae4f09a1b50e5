// Facts of the recordings: truths that hold of every sound trace, and the numbers of tests/data/README.md.
#include <gtest/gtest.h>

#include <map>
#include <numeric>

#include "analyze/facts.h"
#include "recorded/recorded_trace.h"

namespace stepscope {
namespace {

struct Recording {
  const char* name;
  double least_busy_ms;  // GPU busy a step
  double most_busy_ms;
};

void PrintTo(const Recording& recording, std::ostream* out) { *out << recording.name; }

const Recording kRecordings[] = {
    {"h200/solid", 41.0, 41.2},          {"h200/loader", 42.8, 42.9},
    {"h200/sync", 43.4, 43.5},           {"h200/tiny", 2.13, 2.15},
    {"h200/optimizer", 43.7, 43.9},      {"h200/memspike", 42.8, 43.0},
    {"h200/graph", 44.2, 44.4},          {"h200/fp32", 125.9, 126.2},
    {"h200/logsync", 42.8, 43.0},        {"h200/solid4_stack", 19.5, 19.7},
    {"h200/ddp_rank0", 32, 35},          {"h200/ddp_rank1", 32, 35},
    {"h200/straggler_rank0", 60, 63},    {"h200/straggler_rank1", 33.5, 34},
    {"h200/resnet_healthy", 22.0, 22.2}, {"h200/resnet_pageable", 37.3, 37.8},
    {"h200/mask_sync", 9.5, 9.7},
};

class RecordedFacts : public testing::TestWithParam<Recording> {
 protected:
  static const Facts& facts() {
    static std::map<std::string, Facts> known;
    const std::string name = GetParam().name;
    auto at = known.find(name);
    if (at == known.end()) at = known.emplace(name, compute_facts(recorded_trace(name), {})).first;
    return at->second;
  }
};

TEST_P(RecordedFacts, PartsAddUp) {
  for (std::size_t i = 0; i < facts().busy.size(); ++i) {
    const DeviceBusy& busy = facts().busy[i];
    EXPECT_EQ(busy.gpu_busy_ns + busy.idle_ns, busy.window_ns);
    EXPECT_EQ(busy.window_ns, facts().steps.window.length_ns());
    EXPECT_LE(busy.gpu_busy_ns, busy.gpu_busy_raw_ns);
    EXPECT_LE(busy.gpu_busy_ns, busy.gpu_sum_ns);
    EXPECT_EQ(std::accumulate(busy.busy_by_step_ns.begin(), busy.busy_by_step_ns.end(), DurationNs{0}),
              busy.gpu_busy_ns);
    DurationNs largest_kind = 0;
    DurationNs all_kinds = 0;
    for (const DurationNs each : busy.busy_by_kind_ns) {
      largest_kind = std::max(largest_kind, each);
      all_kinds += each;
    }
    EXPECT_LE(largest_kind, busy.gpu_busy_ns);
    EXPECT_GE(all_kinds, busy.gpu_busy_ns);
    EXPECT_EQ(busy.exposed_communication_ns + busy.hidden_communication_ns, busy.communication_ns);
    const IdleByCause& blame = facts().idle[i].blame_ns;
    EXPECT_EQ(std::accumulate(blame.begin(), blame.end(), DurationNs{0}), busy.idle_ns);
  }
}

TEST_P(RecordedFacts, BusyIsWhatWasMeasured) {
  ASSERT_NE(facts().main_busy(), nullptr);
  const double a_step =
      static_cast<double>(facts().main_busy()->gpu_busy_ns) / 1e6 / static_cast<double>(facts().steps.steps.size());
  EXPECT_GE(a_step, GetParam().least_busy_ms);
  EXPECT_LE(a_step, GetParam().most_busy_ms);
}

TEST_P(RecordedFacts, TheLedgerIsClean) {
  const Ledger& ledger = facts().ledger;
  EXPECT_FALSE(ledger.headline_withheld.has_value()) << *ledger.headline_withheld;
  EXPECT_EQ(ledger.launch_without_gpu_event_count, 0);
  EXPECT_EQ(ledger.unlinked_gpu_event_count, 0);
  EXPECT_EQ(ledger.linked_gpu_event_count + ledger.leading_unlinked_gpu_event_count, ledger.gpu_event_count);
  EXPECT_EQ(ledger.swallowing_duration_count, 0);
  EXPECT_EQ(ledger.steps_without_gpu_events_count, 0);
}

TEST_P(RecordedFacts, NearlyEveryKernelHasAClass) {
  const DeviceBusy& busy = *facts().main_busy();
  const DurationNs other = busy.busy_by_kind_ns[static_cast<std::size_t>(KernelClass::kOther)];
  EXPECT_LT(static_cast<double>(other), 0.02 * static_cast<double>(busy.gpu_busy_ns));
}

INSTANTIATE_TEST_SUITE_P(All, RecordedFacts, testing::ValuesIn(kRecordings), [](const auto& each) {
  return std::string(each.param.name + std::string_view("h200/").size());
});

double ratio_of(const Facts& facts, DurationNs part) {
  return static_cast<double>(part) / static_cast<double>(facts.main_busy()->gpu_busy_ns);
}

TEST(RecordedFactsOnce, TheWorkQueuedBeforeResnetsRecordingIsLeading) {
  const Facts facts = compute_facts(recorded_trace("h200/resnet_healthy"), {});
  EXPECT_EQ(facts.ledger.leading_unlinked_gpu_event_count, 382);
  EXPECT_GT(*facts.steps.host_lead_ns, 20'000'000) << "the host runs one to two steps ahead";
}

TEST(RecordedFactsOnce, Fp32MatmulsUseNoTensorCores) {
  const Facts facts = compute_facts(recorded_trace("h200/fp32"), {});
  EXPECT_GT(ratio_of(facts, facts.main_busy()->simt_matmul_ns), 0.75);
  EXPECT_EQ(facts.main_busy()->tensor_core_ns, 0);
}

TEST(RecordedFactsOnce, Bf16MatmulsUseThem) {
  const Facts facts = compute_facts(recorded_trace("h200/solid"), {});
  EXPECT_GT(ratio_of(facts, facts.main_busy()->tensor_core_ns), 0.4);
  EXPECT_LT(ratio_of(facts, facts.main_busy()->simt_matmul_ns), 0.01);
}

TEST(RecordedFactsOnce, TheWaitingRankIsExposed) {
  const Facts facts = compute_facts(recorded_trace("h200/straggler_rank0"), {});
  const double per_step = static_cast<double>(facts.main_busy()->exposed_communication_ns) / 1e6 / 3;
  EXPECT_GT(per_step, 20) << "rank 0 waits 25 to 30 ms a step in its first all-reduce";
}

// Sets of zero bytes leave no record; a loss would withhold the headline.
TEST(RecordedFactsOnce, NoPlantedRecordingIsIncomplete) {
  for (const char* name :
       {"checkpoint", "checkpoint_stack", "cold_start", "compile",         "compile_steady", "decode",
        "evaluate",   "fp32_shapes",      "gc",         "launch_blocking", "loader_workers", "odd_sizes",
        "offload",    "python_batch",     "scaler",     "small_pageable",  "thrash",         "odd_vocabulary",
        "odd_width",  "sync_layers",      "sync_mask",  "sync_early"}) {
    const Ledger ledger = compute_facts(recorded_trace(std::string("planted/").append(name)), {}).ledger;
    EXPECT_FALSE(ledger.headline_withheld.has_value()) << name << ": " << *ledger.headline_withheld;
    EXPECT_EQ(ledger.launch_without_gpu_event_count, 0) << name;
  }
}

TEST(RecordedFactsOnce, JaxStepsByNumber) {
  const Facts facts = compute_facts(recorded_trace("jax/vm.trace.json.gz"), {});
  EXPECT_EQ(facts.steps.source, StepSource::kStepNumber);
  ASSERT_EQ(facts.steps.steps.size(), 4U);
  EXPECT_EQ(facts.steps.steps[3].number, 3);
  EXPECT_FALSE(facts.ledger.headline_withheld.has_value());
}

}  // namespace
}  // namespace stepscope

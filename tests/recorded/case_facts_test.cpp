// The case files: one kind of damage, or one number that is easily computed wrong, in each. Numbers are arithmetic of
// the file's own times unless a comment calls them a choice.
#include <gtest/gtest.h>

#include <numeric>

#include "analyze/facts.h"
#include "recorded/recorded_trace.h"

namespace stepscope {
namespace {

class CaseFacts : public testing::Test {
 protected:
  const Facts& read(const std::string& name) {
    trace_ = &recorded_trace("cases/" + name);
    facts_ = compute_facts(*trace_, {});
    return facts_;
  }
  // Step window, busy and step count of the control, which many damaged files must still give.
  void expect_control(const std::string& name) {
    const Facts& facts = read(name);
    ASSERT_NE(facts.main_busy(), nullptr) << name;
    EXPECT_EQ(facts.steps.steps.size(), 3U) << name;
    EXPECT_EQ(facts.steps.steps.front().number, 3) << name;
    EXPECT_EQ(facts.main_busy()->gpu_busy_ns, 900'000) << name;
    EXPECT_EQ(facts.main_busy()->window_ns, 3'000'000) << name;
    EXPECT_EQ(facts.launches.median_latency_ns, 80'000) << name;
    EXPECT_FALSE(facts.ledger.headline_withheld.has_value()) << name;
  }
  const Trace* trace_ = nullptr;
  Facts facts_;
};

TEST_F(CaseFacts, TheControlAndFilesThatLoseNothing) {
  for (const char* name :
       {"A00_good.json", "A02_array_unclosed.json", "A04_backslash_paths.json", "A05_unescaped_quotes.json",
        "A12_plain_named_gz.json.gz", "A13_gzip_named_json.json", "A14_multi_member.json.gz", "A31_pid_collision.json",
        "A38_memory_instants.json", "A39_metadata_at_end.json", "B07_unknown_gpu.json"}) {
    expect_control(name);
    for (const Step& step : facts_.steps.steps) EXPECT_EQ(step.duration_ns(), 1'000'000) << name;
  }
}

TEST_F(CaseFacts, ACutFileLeavesItsLastStepOut) {
  expect_control("A01_truncated_mid_event.json");
  EXPECT_EQ(facts_.steps.left_out, (std::vector<std::int64_t>{6}));
  EXPECT_EQ(facts_.ledger.launch_without_gpu_event_count, 1);
}

TEST_F(CaseFacts, BareWordsAreNoNumbers) {
  EXPECT_EQ(read("A07_inf_nan_na.json").main_busy()->gpu_busy_ns, 908'000);
  EXPECT_EQ(facts_.main_busy()->count_by_kind[static_cast<std::size_t>(KernelClass::kCopy)], 5);
}

TEST_F(CaseFacts, TwoWritersWithholdTheHeadline) {
  EXPECT_NE(read("A10_two_ranks_interleaved.json").ledger.headline_withheld->find("two writers"), std::string::npos);
}

TEST_F(CaseFacts, TimesSince1970KeepTheirNanoseconds) {
  const Facts& facts = read("A16_string_ts_absolute.json");
  EXPECT_EQ(facts.main_busy()->gpu_busy_ns, 1'200);
  EXPECT_EQ(facts.main_busy()->window_ns, 1'350);
  EXPECT_EQ(facts.steps.window.start_ns, 1'759'276'800'000'100'125);
  EXPECT_EQ(complement(facts.main_busy()->busy, facts.steps.window).size(), 3U);
  for (const Interval& gap : complement(facts.main_busy()->busy, facts.steps.window)) EXPECT_EQ(gap.length_ns(), 50);
}

TEST_F(CaseFacts, BadDurationsAreCountedAndLeftOut) {
  expect_control("A19_bad_durations.json");
  EXPECT_EQ(facts_.ledger.bad_duration_count, 3);
}

TEST_F(CaseFacts, PartialOverlapOnAStreamIsReal) {
  const DeviceBusy& busy = *read("A20_overlap_one_stream.json").main_busy();
  EXPECT_EQ(busy.gpu_busy_ns, 4'000);
  EXPECT_EQ(busy.gpu_sum_ns, 5'776);
  EXPECT_EQ(facts_.ledger.swallowing_duration_count, 0);
}

TEST_F(CaseFacts, ASwallowingDurationIsClippedAndSaid) {
  const Facts& facts = read("A21_dur_swallows_next.json");
  EXPECT_EQ(facts.steps.steps.size(), 32U);
  EXPECT_EQ(facts.main_busy()->gpu_busy_ns, 10'300'000);
  EXPECT_EQ(facts.main_busy()->gpu_busy_raw_ns, 30'800'000);
  EXPECT_EQ(facts.main_busy()->window_ns, 32'000'000);
  EXPECT_EQ(facts.ledger.swallowing_duration_count, 1);
  EXPECT_FALSE(facts.ledger.headline_withheld.has_value());
}

TEST_F(CaseFacts, LostKernelsWithholdTheHeadline) {
  const Facts& facts = read("A21b_events_only_in_two_steps.json");
  EXPECT_EQ(facts.ledger.headline_withheld, "GPU data incomplete (30 of 32 launches have no kernel)");
  EXPECT_EQ(facts.ledger.steps_without_gpu_events_count, 30);
  EXPECT_NEAR(*facts.ledger.largest_event_ratio, 0.9903, 0.00005);
}

TEST_F(CaseFacts, WithoutMarksNoStepIsInvented) {
  const Facts& facts = read("A22_no_profiler_step.json");
  EXPECT_EQ(facts.steps.source, StepSource::kNone);
  EXPECT_TRUE(facts.steps.steps.empty());
  EXPECT_EQ(facts.main_busy()->gpu_busy_ns, 900'000);
  EXPECT_EQ(facts.main_busy()->window_ns, 2'400'000);
  EXPECT_FALSE(facts.ledger.headline_withheld.has_value());
}

TEST_F(CaseFacts, AKernelBeforeItsLaunchIsClockSkew) {
  expect_control("A26_kernel_before_launch.json");
  EXPECT_EQ(facts_.launches.negative_latency_count, 1);
  EXPECT_EQ(facts_.launches.latency_count, 3);
  EXPECT_EQ(facts_.launches.min_latency_ns, -3'000);
}

TEST_F(CaseFacts, AGraphIsOneLaunch) {
  const Facts& facts = read("A28_cuda_graph.json");
  EXPECT_EQ(facts.main_busy()->gpu_busy_ns, 640'000);
  EXPECT_EQ(facts.main_busy()->window_ns, 2'000'000);
  EXPECT_EQ(facts.launches.launch_count, 2);
  EXPECT_EQ(facts.launches.graph_event_count, 8);
  EXPECT_EQ(facts.launches.latency_count, 2);
  EXPECT_EQ(facts.launches.median_latency_ns, 50'000);
}

TEST_F(CaseFacts, RocmNames) {
  const Facts& facts = read("A29_rocm_names.json");
  const DeviceBusy& busy = *facts.main_busy();
  EXPECT_EQ(trace_->devices.number[busy.device], 2);
  EXPECT_EQ(busy.gpu_busy_ns, 400'000);
  for (const KernelClass each :
       {KernelClass::kMatmul, KernelClass::kCommunication, KernelClass::kCopy, KernelClass::kElementwise}) {
    EXPECT_EQ(busy.count_by_kind[static_cast<std::size_t>(each)], 1) << kernel_class_name(each);
  }
  EXPECT_EQ(facts.launches.launch_count, 4);
}

TEST_F(CaseFacts, IdsOfAnyTypeAndOldCategories) {
  EXPECT_EQ(read("A32_id_types.json").main_busy()->gpu_busy_ns, 910'000);
  EXPECT_EQ(facts_.ledger.gpu_event_count, 4);
}

TEST_F(CaseFacts, KernelsShorterThanAMicrosecond) {
  const Facts& facts = read("A33_tiny_kernels.json");
  EXPECT_EQ(facts.main_busy()->gpu_busy_ns, 2'000);
  EXPECT_EQ(facts.main_busy()->window_ns, 10'000);
  EXPECT_EQ(facts.ledger.gpu_event_count, 11);
}

TEST_F(CaseFacts, TwoRanksInOneFileWithholdTheHeadline) {
  const Facts& facts = read("A35_merged_two_ranks.json");
  EXPECT_EQ(facts.ledger.merged_process_count, 2);
  EXPECT_EQ(facts.ledger.headline_withheld, "two ranks merged in one file: GPU events cannot be assigned");
}

TEST_F(CaseFacts, JaxStepsByNumber) {
  const Facts& facts = read("A37_jax_empty_tail.json.gz");
  EXPECT_EQ(facts.steps.source, StepSource::kStepNumber);
  ASSERT_EQ(facts.steps.steps.size(), 1U);
  EXPECT_EQ(facts.steps.steps[0].duration_ns(), 100'000);
  EXPECT_EQ(facts.main_busy()->gpu_busy_ns, 40'000);
}

TEST_F(CaseFacts, TheMemoryOfTheCpuIsNotTheGpus) {
  const MemoryLevels& memory = read("A38_memory_instants.json").memory;
  ASSERT_EQ(memory.devices.size(), 1U);
  EXPECT_EQ(memory.devices[0].allocated_peak->bytes, std::int64_t{900} << 20);
  EXPECT_EQ(memory.devices[0].allocated_peak->time_ns, 2'510'000);
  EXPECT_EQ(memory.devices[0].allocated_last_bytes, std::int64_t{400} << 20);
  EXPECT_EQ(memory.cpu_event_count, 1);
}

TEST_F(CaseFacts, DuplicatesAndTheCycleBefore) {
  expect_control("A40_duplicates_and_bleed.json");
  EXPECT_EQ(facts_.ledger.gpu_event_count, 4);
  EXPECT_EQ(facts_.ledger.duplicate_gpu_event_count, 1);
  EXPECT_EQ(facts_.ledger.outside_window_gpu_event_count, 1);
}

TEST_F(CaseFacts, BusyIsAUnionAndCommunicationCanHide) {
  const DeviceBusy& busy = *read("B01_two_streams_overlap.json").main_busy();
  EXPECT_EQ(busy.window_ns, 200'000);
  EXPECT_EQ(busy.gpu_busy_ns, 140'000);
  EXPECT_EQ(busy.gpu_sum_ns, 200'000);
  EXPECT_EQ(busy.communication_ns, 100'000);
  EXPECT_EQ(busy.exposed_communication_ns, 40'000);
  EXPECT_EQ(busy.hidden_communication_ns, 60'000);
}

DurationNs of(const IdleByCause& by_cause, HostLabel label) { return by_cause[static_cast<std::size_t>(label)]; }

TEST_F(CaseFacts, IdleCausesAddUp) {
  const Facts& facts = read("B06_idle_causes.json");
  EXPECT_EQ(facts.main_busy()->gpu_busy_ns, 440'000);
  EXPECT_EQ(facts.main_busy()->exposed_communication_ns, 200'000);
  for (const IdleByCause& view : {facts.main_idle()->blame_ns, facts.main_idle()->edges_ns}) {
    EXPECT_EQ(std::accumulate(view.begin(), view.end(), DurationNs{0}), 560'000);
    EXPECT_EQ(of(view, HostLabel::kDataLoader), 400'000);
  }
  EXPECT_EQ(of(facts.main_idle()->edges_ns, HostLabel::kSynchronization), 5'000);
  EXPECT_EQ(of(facts.main_idle()->blame_ns, HostLabel::kSynchronization), 20'000);
  EXPECT_EQ(of(facts.main_idle()->blame_ns, HostLabel::kLaunchLatency), 0);
}

TEST_F(CaseFacts, AnUnknownGpuHasNoPeak) {
  const Facts& facts = read("B07_unknown_gpu.json");
  EXPECT_EQ(facts.flops.total, 1'572'864);
  EXPECT_FALSE(facts.efficiency.mfu_ratio.has_value());
  EXPECT_FALSE(facts.efficiency.not_available.empty());
}

TEST_F(CaseFacts, NestedAttentionCountsOnce) {
  const Facts& facts = read("B09_nested_sdpa.json");
  EXPECT_EQ(facts.flops.total, 134'217'728);
  EXPECT_EQ(facts.flops.total_causal_halved, 67'108'864 + 33'554'432);
}

TEST_F(CaseFacts, AnOperatorInsideItselfCountsOnce) {
  EXPECT_EQ(read("B11_same_op_reentered.json").flops.total, 524'288);
}

TEST_F(CaseFacts, OptionsChooseTheWindowAndTheDevice) {
  const Trace& trace = recorded_trace("cases/A40_duplicates_and_bleed.json");
  FactOptions options;
  options.whole_file_window = true;
  EXPECT_EQ(compute_facts(trace, options).main_busy()->gpu_busy_ns, 1'000'000) << "the earlier kernel is in it";
  options.device_number = 7;
  EXPECT_EQ(compute_facts(trace, options).main_device, 0U) << "no such device: the busiest one";
  options.steps.span_name = "nobody";
  EXPECT_EQ(compute_facts(trace, options).steps.source, StepSource::kNone);
}

}  // namespace
}  // namespace stepscope

// straggler on one rank, and exposed-communication with what the straggler leaves.
#include <gtest/gtest.h>

#include "rules/rule_list.h"
#include "support/made_run.h"

namespace stepscope {
namespace {

// In each step one collective that waits and one that does not; both move 100 MB, which takes 1 ms at best.
MadeRun run_with_wait(DurationNs wait_ns) {
  MadeRun run;
  for (const Step& step : run.facts.steps.steps) {
    for (const DurationNs length : {MadeRun::kMs, MadeRun::kMs + wait_ns}) {
      const TimeNs start = step.gpu.start_ns + (length == MadeRun::kMs ? 0 : 2 * MadeRun::kMs);
      const GpuEventId event = run.gpu_event(KernelClass::kCommunication, "ncclDevKernel_AllReduce", start, length);
      Collectives::Row row;
      row.name = run.text("allreduce");
      row.dtype = run.text("Float");
      row.in_count = 25'000'000;
      row.group_size = 2;
      run.trace.gpu_events.collective[event] = run.trace.collectives.push_back(row);
    }
  }
  DeviceBusy& busy = run.facts.busy.front();
  busy.exposed_communication_ns = 4 * (2 * MadeRun::kMs + wait_ns);
  busy.communication_ns = busy.exposed_communication_ns;
  run.set_saving(Transform::kCommunicationOverlapped, static_cast<double>(2 * MadeRun::kMs + wait_ns) / 10e6);
  return run;
}

TEST(Straggler, one_rank_waits_from_a_tenth_of_the_step_on) {
  MadeRun silent = run_with_wait(900'000);
  EXPECT_FALSE(find_straggler(silent.input()));
  MadeRun fault = run_with_wait(1'100'000);
  const auto finding = find_straggler(fault.input());
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->saving->mid_ns, 1'100'000);
}

TEST(Straggler, a_wait_under_compute_costs_nothing) {
  MadeRun run = run_with_wait(3 * MadeRun::kMs);
  for (const Step& step : run.facts.steps.steps) {
    run.gpu_event(KernelClass::kMatmul, "gemm", step.gpu.start_ns + 2 * MadeRun::kMs, 4 * MadeRun::kMs);
  }
  EXPECT_FALSE(find_straggler(run.input()));
}

TEST(ExposedCommunication, from_five_percent_on) {
  MadeRun silent;
  silent.facts.busy.front().exposed_communication_ns = 1'900'000;
  silent.set_saving(Transform::kCommunicationOverlapped, 0.05);
  EXPECT_FALSE(find_exposed_communication(silent.input()));
  MadeRun fault;
  fault.facts.busy.front().exposed_communication_ns = 2'100'000;
  fault.set_saving(Transform::kCommunicationOverlapped, 0.051);
  EXPECT_TRUE(find_exposed_communication(fault.input()));
  fault.set_saving(Transform::kCommunicationOverlapped, 0.049);  // exposed, but the step would not be shorter
  EXPECT_FALSE(find_exposed_communication(fault.input()));
}

// One collective a step alone on the GPU after a product on stream 0.
std::string first_advice(std::string_view kernel, std::string_view told, bool own_stream) {
  MadeRun run;
  const StreamId own = run.trace.streams.push_back({DeviceId(0), run.text("20"), {}});
  for (const Step& step : run.facts.steps.steps) {
    run.gpu_event(KernelClass::kMatmul, "gemm", step.gpu.start_ns, 2 * MadeRun::kMs);
    const TimeNs start = step.gpu.start_ns + 3 * MadeRun::kMs;
    const GpuEventId event = run.gpu_event(KernelClass::kCommunication, kernel, start, 2 * MadeRun::kMs);
    if (own_stream) run.trace.gpu_events.stream[event] = own;
    if (told.empty()) continue;
    Collectives::Row row;
    row.name = run.text(told);
    run.trace.gpu_events.collective[event] = run.trace.collectives.push_back(row);
  }
  run.facts.busy.front().exposed_communication_ns = 8 * MadeRun::kMs;
  run.set_saving(Transform::kCommunicationOverlapped, 0.2);
  return find_exposed_communication(run.input())->advice.front();
}

TEST(ExposedCommunication, advises_by_the_collective_and_its_stream) {
  const auto begins = [](const std::string& text, std::string_view with) { return text.starts_with(with); };
  EXPECT_TRUE(begins(first_advice("ncclDevKernel_AllReduce_Sum_f32_RING_LL", "", true), "DDP("));
  EXPECT_TRUE(begins(first_advice("ncclDevKernel_AllReduce_Sum_bf16_RING_LL", "", false), "Tensor parallel"));
  EXPECT_TRUE(begins(first_advice("ncclDevKernel_AllGather_RING_LL", "", true), "FSDP"));
  EXPECT_TRUE(begins(first_advice("ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL", "", true), "FSDP"));
  EXPECT_TRUE(begins(first_advice("ncclDevKernel_Generic", "_reduce_scatter_base", true), "FSDP"));
  EXPECT_TRUE(begins(first_advice("ncclDevKernel_SendRecv", "all_to_allv", true), "All-to-all"));
  EXPECT_TRUE(begins(first_advice("ncclDevKernel_Broadcast_RING_LL", "broadcast", true), "async_op=True"));
}

TEST(ExposedCommunication, claims_only_what_the_straggler_leaves) {
  MadeRun run = run_with_wait(3 * MadeRun::kMs);
  std::vector<Finding> found;
  found.push_back(*find_straggler(run.input()));
  const auto finding = find_exposed_communication(run.input(found));
  ASSERT_TRUE(finding);  // the two transfers of 1 ms remain
  EXPECT_EQ(finding->saving->mid_ns, 2 * MadeRun::kMs);
  run.facts.busy.front().exposed_communication_ns = 4 * 3'400'000;
  EXPECT_FALSE(find_exposed_communication(run.input(found)));
}

}  // namespace
}  // namespace stepscope

// Waits of one rank, and arrivals of several on one clock.
#include "analyze/collectives.h"

#include <gtest/gtest.h>

#include "support/trace_from_text.h"

namespace stepscope {
namespace {

// A rank whose facts stay alive while it is compared.
struct Rank {
  explicit Rank(std::string_view picture, std::int64_t base_ns = 0) : trace(trace_from_text(picture)) {
    trace.info.base_ns = base_ns;
    timeline = compute_gpu_timeline(trace);
    classes = compute_kernel_classes(trace);
    steps = compute_steps(trace, timeline, compute_launches(trace, timeline), {});
  }
  [[nodiscard]] RankTrace view(std::int64_t rank) const {
    return {&trace, &timeline, &classes, &steps, DeviceId(0), rank};
  }
  // Gives every communication kernel a size.
  void set_elements(std::int64_t elements) {
    for (const GpuEventId id : trace.gpu_events.ids().ids()) {
      if (classes.of[id] != KernelClass::kCommunication) continue;
      Collectives::Row row;
      row.name = trace.strings.intern("allreduce");
      row.dtype = trace.strings.intern("Float");
      row.in_count = elements;
      row.group_size = 2;
      trace.gpu_events.collective[id] = trace.collectives.push_back(row);
    }
  }
  Trace trace;
  GpuTimeline timeline;
  KernelClasses classes;
  Steps steps;
};

constexpr std::string_view kEarly = R"(
    step      [4                  ][5                  ]
    call       [L1][L2]             [L3][L4]
    gpu/7        [K1=]                [K3=]
    gpu/20           [C2======]           [C4======]
    where
      L1 = cudaLaunchKernel corr 1
      L2 = cudaLaunchKernel corr 2
      L3 = cudaLaunchKernel corr 3
      L4 = cudaLaunchKernel corr 4
      K1 = gemm corr 1
      K3 = gemm corr 3
      C2 = ncclDevKernel_AllReduce corr 2
      C4 = ncclDevKernel_AllReduce corr 4
)";

constexpr std::string_view kLate = R"(
    step      [4                  ][5                  ]
    call       [L1]     [L2]        [L3]     [L4]
    gpu/7        [K1=]                [K3=]
    gpu/20                [C2=]                [C4=]
    where
      L1 = cudaLaunchKernel corr 1
      L2 = cudaLaunchKernel corr 2
      L3 = cudaLaunchKernel corr 3
      L4 = cudaLaunchKernel corr 4
      K1 = gemm corr 1
      K3 = gemm corr 3
      C2 = ncclDevKernel_AllReduce corr 2
      C4 = ncclDevKernel_AllReduce corr 4
)";

TEST(Collectives, the_late_rank_and_by_how_much) {
  const Rank first(kEarly);
  const Rank second(kLate);
  const RankArrivals arrivals = compute_rank_arrivals({first.view(0), second.view(1)});
  EXPECT_EQ(arrivals.not_available, "");
  EXPECT_EQ(arrivals.matched_count, 2);
  ASSERT_EQ(arrivals.steps.size(), 2U);
  EXPECT_EQ(arrivals.steps[0].step_number, 4);
  EXPECT_EQ(arrivals.steps[0].late_rank, 1U);
  EXPECT_EQ(arrivals.steps[0].spread_ns, 50'000);
  EXPECT_EQ(arrivals.steps[0].transfer_ns, 50'000);
  EXPECT_EQ(arrivals.median_spread_ns, 50'000);
  EXPECT_EQ(arrivals.late_rank, 1U);
  EXPECT_DOUBLE_EQ(arrivals.late_ratio, 1);
  EXPECT_FALSE(arrivals.clocks_corrected);
}

TEST(Collectives, base_times_put_the_files_on_one_clock) {
  // The second file's zero lies 30 us later, so its arrivals are 80 us late; ends show that its clock is 30 us ahead,
  // which is under the noise of 100 us and stays.
  const Rank first(kEarly, 1'759'276'800'000'000'000);
  const Rank second(kLate, 1'759'276'800'000'030'000);
  const RankArrivals arrivals = compute_rank_arrivals({first.view(0), second.view(1)});
  EXPECT_EQ(arrivals.median_spread_ns, 80'000);
  EXPECT_FALSE(arrivals.clocks_corrected);
}

TEST(Collectives, clocks_that_differ_by_more_are_corrected_by_the_ends) {
  const Rank first(kEarly, 1'759'276'800'000'000'000);
  const Rank second(kLate, 1'759'276'805'000'000'000);
  const RankArrivals arrivals = compute_rank_arrivals({first.view(0), second.view(1)});
  EXPECT_TRUE(arrivals.clocks_corrected);
  EXPECT_EQ(arrivals.clock_offsets_ns, (std::vector<DurationNs>{0, 5'000'000'000}));
  EXPECT_EQ(arrivals.median_spread_ns, 50'000);
  EXPECT_EQ(arrivals.late_rank, 1U);
}

TEST(Collectives, no_common_clock_no_arrivals) {
  const Rank first(kEarly, 0);
  const Rank second(kLate, 1'759'276'805'000'000'000);
  EXPECT_NE(compute_rank_arrivals({first.view(0), second.view(1)}).not_available, "");
  const Rank least(kLate, std::numeric_limits<std::int64_t>::min());
  const Rank most(kEarly, std::numeric_limits<std::int64_t>::max());
  EXPECT_NE(compute_rank_arrivals({least.view(0), most.view(1)}).not_available, "");
  EXPECT_NE(compute_rank_arrivals({first.view(0)}).not_available, "");
  EXPECT_NE(compute_rank_arrivals({}).not_available, "");
}

TEST(Collectives, a_step_with_different_numbers_is_left_out) {
  const Rank first(kEarly);
  Rank second(kLate);
  const GpuEventId last(second.trace.gpu_events.size() - 1);
  second.classes.of[last] = KernelClass::kOther;  // as if its second collective was not recorded
  const RankArrivals arrivals = compute_rank_arrivals({first.view(0), second.view(1)});
  EXPECT_EQ(arrivals.matched_count, 1);
  EXPECT_EQ(arrivals.unmatched_count, 1);
  ASSERT_EQ(arrivals.steps.size(), 1U);
  EXPECT_EQ(arrivals.steps[0].step_number, 4);
}

TEST(Collectives, one_rank_alone_waits_by_what_its_bytes_cannot_explain) {
  Rank rank(R"(
    step      [4                  ][5                  ]
    call       [L1][L2]             [L3]
    gpu/7                             .
    gpu/20       [C1] [C2=========]   [C3]
    where
      L1 = cudaLaunchKernel corr 1
      L2 = cudaLaunchKernel corr 2
      L3 = cudaLaunchKernel corr 3
      C1 = ncclDevKernel_AllReduce corr 1
      C2 = ncclDevKernel_AllReduce corr 2
      C3 = ncclDevKernel_AllReduce corr 3
  )");
  rank.set_elements(1'000'000);
  const LoneWaits waits = compute_lone_waits(rank.trace, rank.timeline, rank.classes, rank.steps, DeviceId(0));
  // 4 MB in 40 us; C2 takes 130.
  EXPECT_DOUBLE_EQ(*waits.best_bus_bytes_per_s, 100e9);
  EXPECT_EQ(waits.exposed_wait_by_step_ns, (std::vector<DurationNs>{90'000, 0}));
  EXPECT_EQ(waits.longest_wait_ns, 90'000);
  EXPECT_EQ(waits.longest_wait, GpuEventId(1));
}

TEST(Collectives, without_sizes_nothing_is_known_about_waits) {
  const Rank rank(kEarly);
  const LoneWaits waits = compute_lone_waits(rank.trace, rank.timeline, rank.classes, rank.steps, DeviceId(0));
  EXPECT_FALSE(waits.best_bus_bytes_per_s);
  EXPECT_FALSE(waits.longest_wait);
}

}  // namespace
}  // namespace stepscope

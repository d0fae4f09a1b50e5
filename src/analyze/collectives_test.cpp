// Waits of one rank.
#include "analyze/collectives.h"

#include <gtest/gtest.h>

#include "support/trace_from_text.h"

namespace stepscope {
namespace {

// A rank whose facts stay alive while it is compared.
struct Rank {
  explicit Rank(std::string_view picture) : trace(trace_from_text(picture)) {
    timeline = compute_gpu_timeline(trace);
    classes = compute_kernel_classes(trace);
    steps = compute_steps(trace, timeline, compute_launches(trace, timeline), {});
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

// Forward's share of the GPU's time: operators with a sequence number outside backward, and all inside them.
#include "analyze/forward_time.h"

#include <gtest/gtest.h>

#include "support/trace_from_text.h"

namespace stepscope {
namespace {

TEST(ForwardTime, IsWhatOperatorsWithGradientsLaunch) {
  const Trace trace = trace_from_text(R"(
    op          [linear   ]              [step ]
    op            [mm   ]
    call           [L1]                   [L3]
    op@bwd                   [back    ]
    call@bwd                  [L2]
    gpu/7              [K1==]     [K2======] [K3]
    where
      linear = aten::linear seq 5
      mm = aten::mm ext 1
      L1 = cudaLaunchKernel corr 1 ext 1
      K1 = forward_kernel corr 1 ext 1
      back = AddmmBackward0 ext 2 seq 5 fwd 1
      L2 = cudaLaunchKernel corr 2 ext 2
      K2 = backward_kernel corr 2 ext 2
      step = aten::_foreach_add_ ext 3
      L3 = cudaLaunchKernel corr 3 ext 3
      K3 = optimizer_kernel corr 3 ext 3
  )");
  const auto ratio = compute_forward_gpu_ratio(trace);
  ASSERT_TRUE(ratio);
  const auto duration = [&](const char* name) {
    const GpuEventId event = gpu_event_named(trace, name);
    return static_cast<double>(trace.gpu_events.end_ns[event] - trace.gpu_events.start_ns[event]);
  };
  const double forward = duration("forward_kernel");
  EXPECT_DOUBLE_EQ(*ratio, forward / (forward + duration("backward_kernel") + duration("optimizer_kernel")));
}

TEST(ForwardTime, IsUnknownWithoutBackwardOrWithoutNumbers) {
  const Trace inference = trace_from_text(R"(
    op          [mm     ]
    call          [L1]
    gpu/7             [K1==]
    where
      mm = aten::mm ext 1 seq 5
      L1 = cudaLaunchKernel corr 1 ext 1
      K1 = kernel corr 1 ext 1
  )");
  EXPECT_FALSE(compute_forward_gpu_ratio(inference));
  EXPECT_FALSE(compute_forward_gpu_ratio(Trace()));
}

}  // namespace
}  // namespace stepscope

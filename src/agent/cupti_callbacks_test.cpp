// Which calls are watched.
#include "agent/cupti_callbacks.h"

#include <gtest/gtest.h>

namespace stepscope::agent {
namespace {

TEST(CuptiCallbacks, TakesVersionsAndVariantsOffNames) {
  EXPECT_EQ(plain_call_name("cudaLaunchKernel_v7000"), "cudaLaunchKernel");
  EXPECT_EQ(plain_call_name("cudaLaunchKernel_ptsz_v7000"), "cudaLaunchKernel");
  EXPECT_EQ(plain_call_name("cuMemcpyHtoDAsync_v2_ptsz"), "cuMemcpyHtoDAsync_v2");
  EXPECT_EQ(plain_call_name("cuLaunchKernel"), "cuLaunchKernel");
  EXPECT_EQ(plain_call_name("cuMemAlloc_v2"), "cuMemAlloc");
  EXPECT_EQ(plain_call_name("odd_value"), "odd_value");
  EXPECT_EQ(plain_call_name("_v"), "_v");
}

TEST(CuptiCallbacks, WatchesLaunchesCopiesSynchronizationsAndAllocationsOnly) {
  CallClass kind = CallClass::kOther;
  const auto is = [&](const char* name, CallClass expected) { return classify_call(name, kind) && kind == expected; };
  EXPECT_TRUE(is("cudaLaunchKernelExC", CallClass::kLaunch));
  EXPECT_TRUE(is("cuLaunchKernelEx", CallClass::kLaunch));
  EXPECT_TRUE(is("cudaGraphLaunch", CallClass::kGraph));
  EXPECT_TRUE(is("cuMemcpyHtoDAsync", CallClass::kCopy));
  EXPECT_TRUE(is("cudaMemsetAsync", CallClass::kCopy));
  EXPECT_TRUE(is("cuCtxSynchronize", CallClass::kSync));
  EXPECT_TRUE(is("cudaMallocAsync", CallClass::kOther));
  for (const char* name : {"cudaLaunchHostFunc", "cudaEventRecord", "cudaGetDevice", "cudaGraphAddMemcpyNode",
                           "cudaStreamWaitEvent", "cuCtxGetCurrent"}) {
    EXPECT_FALSE(classify_call(name, kind)) << name;
  }
}

}  // namespace
}  // namespace stepscope::agent

// Stacks of the CPU by their own time and of the GPU by what launched it; and names shared by many parents.
#include "export/folded.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "support/trace_from_text.h"
#include "trace/builder.h"

namespace stepscope {
namespace {

std::string text_of(const Trace& trace, FoldedTime time) {
  std::string text;
  EXPECT_TRUE(write_folded(trace, time, [&](std::string_view piece) -> Status {
                text += piece;
                return Done{};
              }).has_value());
  return text;
}

Trace linear() {
  return trace_from_text(R"(
    op        [linear          ]
    call         [L1]
    gpu/7            [K1====]
    where
      linear = aten::linear ext 5
      L1 = cudaLaunchKernel corr 1 ext 5
      K1 = void gemm<float; 4>(int) corr 1 ext 5
  )");
}

TEST(Folded, CpuLinesHaveTheTimeThatIsInNoRowInside) {
  EXPECT_EQ(text_of(linear(), FoldedTime::kCpu),
            "thread_main;aten::linear 140\n"
            "thread_main;aten::linear;cudaLaunchKernel 40\n");
}

TEST(Folded, GpuLinesEndInTheWorkItself) {
  EXPECT_EQ(text_of(linear(), FoldedTime::kGpu), "GPU_0;aten::linear;void_gemm<float__4>(int) 80\n");
}

// Numbers of parents differ in their high bits only: a hash that keeps numbers as they are would put all these nodes
// into one bucket, which took all memory of the machine.
TEST(Folded, OneNameUnderManyParents) {
  Trace trace = trace_from_text("op        [a]");
  constexpr std::uint32_t kCount = 50'000;
  const ThreadId thread = thread_named(trace, "main");
  trace.ops = Ops();
  for (std::uint32_t i = 0; i < kCount; ++i) {
    Ops::Row outer, inner;
    outer.thread = inner.thread = thread;
    outer.start_ns = inner.start_ns = TimeNs{i} * 10'000;
    outer.end_ns = outer.start_ns + 9'000;
    inner.end_ns = inner.start_ns + 4'000;
    outer.name = trace.strings.intern("outer" + std::to_string(i));
    inner.name = trace.strings.intern("inner");
    trace.ops.push_back(outer);
    trace.ops.push_back(inner);
  }
  trace.ops_of_thread[thread] = trace.ops.ids();
  const std::string text = text_of(trace, FoldedTime::kCpu);
  EXPECT_EQ(static_cast<std::uint32_t>(std::count(text.begin(), text.end(), '\n')), 2 * kCount);
}

}  // namespace
}  // namespace stepscope

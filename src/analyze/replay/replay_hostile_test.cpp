// Files that no profiler would write: everything overlaps, contradicts and repeats. The replay is exact or refused.
#include <gtest/gtest.h>

#include <random>

#include "analyze/replay/replay_picture.h"
#include "trace/builder.h"

namespace stepscope {
namespace {

class HostileRun {
 public:
  explicit HostileRun(unsigned seed) : random_(seed), far_(seed % 5 == 0) {}

  Trace make() {
    const ThreadId threads[] = {out_.thread("1", "a"), out_.thread("1", "b"), out_.thread("2", "a")};
    static constexpr const char* kCalls[] = {
        "cudaLaunchKernel", "cudaMemcpyAsync",     "cudaStreamSynchronize", "cudaDeviceSynchronize", "cudaFree",
        "cudaEventRecord",  "cudaStreamWaitEvent", "cudaEventSynchronize",  "cudaGraphLaunch"};
    static constexpr const char* kEvents[] = {"ncclDevKernel_AllReduce", "sgemm", "Memcpy HtoD (Pageable -> Device)",
                                              "Memcpy DtoH (Device -> Pageable)"};
    const auto rows = static_cast<std::size_t>(pick(0, 60));
    for (std::size_t i = 0; i < rows; ++i) {
      const Interval at = interval();
      out_.calls.push_back({.start_ns = at.start_ns,
                            .end_ns = at.end_ns,
                            .thread = threads[pick(0, 2)],
                            .name = text(kCalls[pick(0, 8)]),
                            .correlation = pick(0, 40),
                            .file_order = i});
      const Interval gpu = interval();
      const int name = pick(0, 3);
      out_.gpu_events.push_back({.start_ns = gpu.start_ns,
                                 .end_ns = gpu.end_ns,
                                 .device = out_.device(pick(0, 1)),
                                 .stream = out_.stream(pick(0, 1), std::to_string(pick(0, 3))),
                                 .name = text(kEvents[name]),
                                 .kind = name > 1 ? GpuEventKind::kCopy : GpuEventKind::kKernel,
                                 .correlation = pick(0, 40),
                                 .bytes = pick(-5, 1'000'000),
                                 .file_order = i});
      const Interval op = interval();
      out_.ops.push_back({.start_ns = op.start_ns,
                          .end_ns = op.end_ns,
                          .thread = threads[pick(0, 2)],
                          .name = text("autograd::engine::evaluate_function: X"),
                          .file_order = i});
    }
    const int steps = pick(0, 5);
    for (int s = 0; s < steps; ++s) {
      const Interval at = interval();
      out_.spans.push_back({.start_ns = at.start_ns,
                            .end_ns = at.end_ns,
                            .thread = threads[pick(0, 1)],
                            .name = text("ProfilerStep#" + std::to_string(s)),
                            .file_order = static_cast<std::uint64_t>(s)});
    }
    Builder builder;
    builder.add(std::move(out_));
    return builder.finish(1);
  }

 private:
  int pick(int low, int high) { return std::uniform_int_distribution(low, high)(random_); }
  StringId text(std::string_view name) { return out_.strings.intern(name); }
  Interval interval() {
    const TimeNs start = far_ && pick(0, 9) == 0 ? (TimeNs{1} << pick(40, 61)) : pick(0, 300) * TimeNs{1'000};
    return {start, start + pick(0, 60) * TimeNs{1'000}};
  }

  std::mt19937 random_;
  bool far_;  // some times lie centuries away
  Fragment out_;
};

TEST(HostileReplay, IsExactOrRefused) {
  int replayed = 0;
  for (unsigned seed = 0; seed < 1'000; ++seed) {
    ReplayPicture picture(HostileRun(seed).make());
    picture.options.operators_to_remove = {"*"};
    const WhatIfs what_ifs = picture.what_ifs();
    if (picture.refused) {
      EXPECT_TRUE(what_ifs.self_check.refused);
      continue;
    }
    ++replayed;
    ASSERT_EQ(picture.worst_deviation_ns(), 0) << "seed " << seed;
  }
  EXPECT_GT(replayed, 100);
}

}  // namespace
}  // namespace stepscope

// Runs at random, for tests: what a host of two threads and a GPU of three streams may do in four steps, collectives
// included.
#pragma once

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "trace/builder.h"

namespace stepscope {

// A host of two threads that launches, waits, allocates and copies as it likes; streams run what they get in order.
class RandomRun {
 public:
  explicit RandomRun(unsigned seed, bool collectives_in_graphs = true)
      : random_(seed), collectives_in_graphs_(collectives_in_graphs) {}

  Trace make() {
    main_ = out_.thread("1", "main");
    worker_ = out_.thread("1", "bwd");
    for (int s = 0; s < kStreams; ++s) streams_.push_back(out_.stream(0, std::to_string(7 + s)));
    for (int step = 0; step < 4; ++step) {
      const TimeNs start = now_;
      const int parts = pick(1, 6);
      for (int p = 0; p < parts; ++p) part();
      now_ += pick(0, 20'000);
      span("ProfilerStep#" + std::to_string(step), start, now_);
      now_ += pick(0, 1) * pick(0, 3'000);
    }
    Builder builder;
    builder.add(std::move(out_));
    return builder.finish(1);
  }

 private:
  static constexpr int kStreams = 3;

  int pick(int low, int high) { return std::uniform_int_distribution(low, high)(random_); }

  void part() {
    static constexpr const char* kSpans[] = {"data", "forward", "Optimizer.step#AdamW.step", "save_checkpoint"};
    const TimeNs start = now_;
    const bool on_worker = pick(0, 3) == 0;
    thread_ = on_worker ? worker_ : main_;
    now_ += pick(0, 30'000);
    const int ops = pick(0, 5);
    for (int o = 0; o < ops; ++o) op(on_worker);
    if (!on_worker && pick(0, 1)) span(kSpans[pick(0, 3)], start, now_ + 1);
    thread_ = main_;
    now_ += pick(1, 5'000);
  }

  void op(bool on_worker) {
    const TimeNs start = now_;
    now_ += pick(0, 10'000);
    const int calls = pick(0, 4);
    for (int c = 0; c < calls; ++c) call();
    now_ += pick(0, 4'000);
    out_.ops.push_back({.start_ns = start,
                        .end_ns = now_,
                        .thread = thread_,
                        .name = text(on_worker ? "autograd::engine::evaluate_function: X" : "aten::item"),
                        .file_order = order_++});
  }

  void call() {
    switch (pick(0, 9)) {
      case 0:
        return wait("cudaStreamSynchronize", latest_end_[last_stream_]);
      case 1:
        return wait("cudaDeviceSynchronize", *std::max_element(latest_end_, latest_end_ + kStreams));
      case 2:
        return wait("cudaFree", *std::max_element(latest_end_, latest_end_ + kStreams));
      case 3:
        return copy();
      case 4:
        record("cudaEventRecord", pick(500, 2'000), {});
        return record("cudaStreamWaitEvent", pick(500, 2'000), {});
      default:
        return launch();
    }
  }

  void record(const char* name, DurationNs length, MaybeInt correlation) {
    out_.calls.push_back({.start_ns = now_,
                          .end_ns = now_ + length,
                          .thread = thread_,
                          .name = text(name),
                          .correlation = correlation,
                          .file_order = order_++});
    now_ += length;
  }

  void wait(const char* name, TimeNs condition) {
    const TimeNs end = std::max(now_ + pick(1'000, 5'000), condition + pick(1'000, 20'000));
    record(name, end - now_, {});
  }

  TimeNs put(GpuEventKind kind, const char* name, int stream, DurationNs length) {
    const TimeNs start = std::max(now_ + pick(2'000, 30'000), latest_end_[stream] + pick(0, 3'000));
    out_.gpu_events.push_back({.start_ns = start,
                               .end_ns = start + length,
                               .device = out_.device(0),
                               .stream = streams_[static_cast<std::size_t>(stream)],
                               .name = text(name),
                               .kind = kind,
                               .correlation = correlation_,
                               .bytes = kind == GpuEventKind::kCopy ? MaybeInt(1 << 22) : MaybeInt(),
                               .file_order = order_++});
    last_stream_ = stream;
    return latest_end_[stream] = start + length;
  }

  void launch() {
    static constexpr const char* kKernels[] = {"sgemm", "elementwise", "ncclDevKernel_AllReduce_Sum_bf16"};
    ++correlation_;
    const int kernels = pick(0, 9) == 0 ? pick(2, 6) : 1;  // now and then a graph
    for (int k = 0; k < kernels; ++k) {
      const int which = pick(0, kernels > 1 && !collectives_in_graphs_ ? 1 : 2);
      put(GpuEventKind::kKernel, kKernels[which], which == 2 ? 2 : pick(0, 1), pick(0, 60'000));
    }
    record(kernels > 1 ? "cudaGraphLaunch" : "cudaLaunchKernel", pick(2'000, 9'000), correlation_);
  }

  void copy() {
    static constexpr const char* kCopies[] = {"Memcpy HtoD (Pageable -> Device)", "Memcpy HtoD (Pinned -> Device)",
                                              "Memcpy DtoH (Device -> Pageable)"};
    ++correlation_;
    const int which = pick(0, 2);
    const TimeNs end = put(GpuEventKind::kCopy, kCopies[which], pick(0, 1), pick(1'000, 200'000));
    record("cudaMemcpyAsync", which == 1 ? pick(2'000, 9'000) : end + 3'000 - now_, correlation_);
  }

  void span(const std::string& name, TimeNs start, TimeNs end) {
    out_.spans.push_back(
        {.start_ns = start, .end_ns = end, .thread = main_, .name = text(name), .file_order = order_++});
  }
  StringId text(std::string_view name) { return out_.strings.intern(name); }

  std::mt19937 random_;
  bool collectives_in_graphs_ = true;
  Fragment out_;
  ThreadId main_, worker_, thread_;
  std::vector<StreamId> streams_;
  TimeNs now_ = 1'000'000;
  TimeNs latest_end_[kStreams] = {};
  int last_stream_ = 0;
  std::int64_t correlation_ = 0;
  std::uint64_t order_ = 0;
};

}  // namespace stepscope

// One sample of a kernel's time, and what it needs on the device.
#include "timing/kernel_bench.h"

#include "timing/host_time.h"

namespace stepscope {
namespace {
// Loading compiles two small kernels; were something wrong with holding, this is how long a program would stand.
constexpr std::int64_t kLoadLimitNs = 1'000'000'000;
constexpr std::size_t kFlushReads = 2;  // times L2's size
}  // namespace

Result<std::unique_ptr<KernelBench>> KernelBench::open(const KernelTimerOptions& options, bool flush_l2,
                                                       StreamGate::Method method) {
  Result<std::shared_ptr<CudaContext>> context = CudaContext::open(options.device);
  if (!context) return context.error();
  std::unique_ptr<KernelBench> bench(new KernelBench(*context, static_cast<CuStream>(options.stream)));
  const CurrentContext current(**context);
  if (!current.status()) return current.status().error();
  if (Status free = refuse_capture((*context)->driver(), bench->stream_, "kernel timing"); !free) return free.error();
  if (Status made = bench->make_parts(flush_l2, method); !made) return made.error();
  return bench;
}

Status KernelBench::make_parts(bool flush_l2, StreamGate::Method method) {
  const CudaDriver& driver = context_->driver();
  Result<std::shared_ptr<TimingKernels>> kernels = TimingKernels::load(context_);
  if (!kernels) return kernels.error();
  kernels_ = *kernels;
  Result<std::unique_ptr<SmClock>> clock = SmClock::open(context_, kernels_, stream_);
  if (!clock) return clock.error();
  clock_ = std::move(clock).value();
  Result<std::unique_ptr<StreamGate>> gate = StreamGate::open(context_, kernels_, stream_, method);
  if (!gate) return gate.error();
  gate_ = std::move(gate).value();

  const RelaxedCapture relaxed(driver);
  for (CuEvent* event : {&begin_, &before_last_, &end_}) {
    if (Status made = check(driver.event_create(event, 0), "cuEventCreate"); !made) return made;
  }
  const Result<int> l2_bytes = context_->attribute(kCuAttributeL2CacheBytes);
  if (!flush_l2 || !l2_bytes || *l2_bytes <= 0) return Done{};
  const auto bytes = static_cast<std::size_t>(*l2_bytes) / 16 * 16;
  const CuResult allocated = driver.memory_alloc(&flush_buffer_, (1 + kFlushReads) * bytes);
  if (Status made = check(allocated, "cuMemAlloc (to flush L2)"); !made) return made;
  l2_bytes_ = bytes;
  return Done{};
}

// The gate goes first: it lets the stream go and waits for it, so that nothing is freed under running work.
KernelBench::~KernelBench() {
  const CurrentContext current(*context_);
  gate_.reset();
  const CudaDriver& driver = context_->driver();
  const RelaxedCapture relaxed(driver);
  for (CuEvent event : {begin_, before_last_, end_}) {
    if (event != nullptr) (void)driver.event_destroy(event);
  }
  if (l2_bytes_ != 0) (void)driver.memory_free(flush_buffer_);
}

Status KernelBench::load() {
  const CurrentContext current(*context_);
  if (Status held = gate_->hold(kLoadLimitNs); !held) return held;
  (void)gate_->release();
  return check(context_->driver().stream_synchronize(stream_), "cuStreamSynchronize");
}

Result<KernelSample> KernelBench::take_sample(const std::function<Status()>& launch,
                                              const KernelSampleRequest& request) {
  const CurrentContext current(*context_);
  if (!current.status()) return current.status().error();
  // Whatever leaves this scope (an error, an exception of the callable), no stream stays held.
  struct LetGo {
    StreamGate& gate;
    ~LetGo() { (void)gate.release(); }
  } let_go{*gate_};

  KernelSample sample;
  Status queued = queue_begin(request);
  if (queued) queued = queue_launches(launch, request, sample);
  if (!queued) {
    (void)gate_->release();
    (void)context_->driver().stream_synchronize(stream_);
    return queued.error();
  }
  if (Status done = finish(sample); !done) return done.error();
  return sample;
}

Status KernelBench::queue_begin(const KernelSampleRequest& request) {
  const CudaDriver& driver = context_->driver();
  if (Status done = clock_->stamp_begin(); !done) return done;
  if (Status done = flush(request.flush); !done) return done;
  if (request.hold_stream) {
    if (Status done = gate_->hold(request.hold_limit_ns); !done) return done;
  }
  return check(driver.event_record(begin_, stream_), "cuEventRecord");
}

// Writing L2's size throws everything else out, and nvbench stops there. But what was written then lies in L2 and goes
// back to memory while the measured kernel runs: on an H200 that made reading 256 MiB 13% slower than it is. Reading
// twice L2's size afterwards puts lines in its place that cost nothing to drop.
Status KernelBench::flush(L2Flush how) {
  if (how == L2Flush::kNone || l2_bytes_ == 0) return Done{};
  const CuResult set = context_->driver().memory_set_async(flush_buffer_, 0, l2_bytes_, stream_);
  if (Status done = check(set, "cuMemsetD8Async"); !done) return done;
  if (how == L2Flush::kWritten) return Done{};
  return kernels_->launch_read(stream_, flush_buffer_ + l2_bytes_, kFlushReads * l2_bytes_);
}

Status KernelBench::queue_launches(const std::function<Status()>& launch, const KernelSampleRequest& request,
                                   KernelSample& sample) {
  const CudaDriver& driver = context_->driver();
  const std::int64_t begin_ns = host_now_ns();
  for (std::int64_t number = 0; number < request.launch_count; ++number) {
    if (request.hold_stream && number == request.held_launch_count) sample.was_let_go = !gate_->release();
    if (number + 1 == request.launch_count && number > 0) {
      if (Status done = check(driver.event_record(before_last_, stream_), "cuEventRecord"); !done) return done;
    }
    if (Status launched = launch(); !launched) return launched;
  }
  sample.launch_wall_ns = host_now_ns() - begin_ns;
  if (Status done = check(driver.event_record(end_, stream_), "cuEventRecord"); !done) return done;
  sample.is_host_bound = request.launch_count > 1 && driver.event_query(before_last_) == kCuSuccess;
  if (Status done = clock_->stamp_end(); !done) return done;
  if (request.hold_stream && request.held_launch_count >= request.launch_count) {
    sample.was_let_go = !gate_->release();
  }
  return Done{};
}

Status KernelBench::finish(KernelSample& sample) {
  const CudaDriver& driver = context_->driver();
  if (Status done = check(driver.stream_synchronize(stream_), "cuStreamSynchronize after the launch"); !done) {
    return done;
  }
  float milliseconds = 0;
  const CuResult elapsed = driver.event_elapsed(&milliseconds, begin_, end_);
  if (Status done = check(elapsed, "cuEventElapsedTime"); !done) return done;
  sample.elapsed_ns = static_cast<double>(milliseconds) * 1e6;
  sample.clock_hz = clock_->read_hz();
  return Done{};
}

}  // namespace stepscope

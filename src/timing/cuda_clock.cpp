// The clock of a CUDA device: events in a stream, and waiting for the device.
//
// Events are taken from a pool, since making one costs more than recording it. A call that would break a stream capture
// in progress answers with an error instead (see cuda_context.h). What cannot be seen: a capture on a stream that is
// neither ours nor synchronizes with the default one; synchronize() is forbidden then and CUDA itself fails it and that
// capture (capture and measure apart, as PyTorch does by synchronizing before each capture).
#include <chrono>
#include <unordered_set>
#include <vector>

#include "stepscope/clock.h"
#include "timing/cuda_context.h"

namespace stepscope {
namespace {

CuEvent event_of(ClockEvent event) { return reinterpret_cast<CuEvent>(event.handle); }

class CudaClock final : public Clock {
 public:
  CudaClock(std::shared_ptr<CudaContext> context, CuStream stream) : context_(std::move(context)), stream_(stream) {}

  ~CudaClock() override {
    const CurrentContext current(*context_);
    const RelaxedCapture relaxed(driver());
    for (CuEvent event : all_events_) (void)driver().event_destroy(event);
  }

  std::string name() const override {
    return "cuda:" + std::to_string(context_->device()) + " (" + context_->device_name() + ")";
  }
  bool is_device() const override { return true; }

  Status synchronize() override {
    const CurrentContext current(*context_);
    if (!current.status()) return current.status();
    if (Status free = refuse_capture(driver(), stream_, "synchronize"); !free) return free;
    if (stream_ != nullptr) {
      if (Status free = refuse_capture(driver(), nullptr, "synchronize"); !free) return free;
    }
    return cuda_status(driver(), driver().context_synchronize(), "cuCtxSynchronize");
  }

  std::int64_t now_ns() override {
    using std::chrono::steady_clock;
    return std::chrono::duration_cast<std::chrono::nanoseconds>(steady_clock::now().time_since_epoch()).count();
  }

  Result<ClockEvent> record_event() override {
    const CurrentContext current(*context_);
    if (!current.status()) return current.status().error();
    if (Status free = refuse_capture(driver(), stream_, "record_event"); !free) return free.error();
    if (free_events_.empty()) {
      if (Status made = add_event(); !made) return made.error();
    }
    const CuEvent event = free_events_.back();
    if (Status done = cuda_status(driver(), driver().event_record(event, stream_), "cuEventRecord"); !done) {
      return done.error();
    }
    free_events_.pop_back();
    live_events_.insert(event);
    return ClockEvent{reinterpret_cast<std::uint64_t>(event)};
  }

  Status wait_event(ClockEvent event) override {
    if (!owns(event)) return not_ours();
    const CurrentContext current(*context_);
    if (!current.status()) return current.status();
    const RelaxedCapture relaxed(driver());
    return cuda_status(driver(), driver().event_synchronize(event_of(event)), "cuEventSynchronize");
  }

  Result<double> elapsed_ns(ClockEvent begin, ClockEvent end) override {
    if (!owns(begin) || !owns(end)) return not_ours();
    const CurrentContext current(*context_);
    if (!current.status()) return current.status().error();
    const RelaxedCapture relaxed(driver());
    float milliseconds = 0;
    const CuResult result = driver().event_elapsed(&milliseconds, event_of(begin), event_of(end));
    if (result != kCuSuccess) return cuda_error(driver(), result, "cuEventElapsedTime");
    return static_cast<double>(milliseconds) * 1e6;
  }

  void release_event(ClockEvent event) override {
    if (live_events_.erase(event_of(event)) != 0) free_events_.push_back(event_of(event));
  }

 private:
  [[nodiscard]] const CudaDriver& driver() const { return context_->driver(); }
  [[nodiscard]] bool owns(ClockEvent event) const { return live_events_.contains(event_of(event)); }
  static Error not_ours() { return Error{ErrorCode::kInvalidArgument, "this event is not one of this clock's", {}}; }

  Status add_event() {
    const RelaxedCapture relaxed(driver());
    CuEvent event = nullptr;
    if (Status made = cuda_status(driver(), driver().event_create(&event, 0), "cuEventCreate"); !made) return made;
    all_events_.push_back(event);
    free_events_.push_back(event);
    return Done{};
  }

  std::shared_ptr<CudaContext> context_;
  CuStream stream_;
  std::vector<CuEvent> all_events_;
  std::vector<CuEvent> free_events_;
  std::unordered_set<CuEvent> live_events_;  // handed out
};

}  // namespace

Result<std::unique_ptr<Clock>> open_cuda_clock(int device, void* stream) {
  Result<std::shared_ptr<CudaContext>> context = CudaContext::open(device);
  if (!context) return context.error();
  return std::unique_ptr<Clock>(std::make_unique<CudaClock>(*context, static_cast<CuStream>(stream)));
}

std::unique_ptr<Clock> make_default_clock() {
  if (const CudaDriver* driver = find_loaded_cuda_driver()) {
    if (Result<CuDevice> device = find_device_in_use(*driver)) {
      if (Result<std::unique_ptr<Clock>> clock = open_cuda_clock(*device)) return std::move(clock).value();
    }
  }
  return make_cpu_clock();
}

}  // namespace stepscope

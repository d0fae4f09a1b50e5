// The gate, and the watchdog that opens it. The watchdog runs on real time even in tests: it guards a real thread.
#include "timing/stream_gate.h"

#include <algorithm>
#include <chrono>
#include <system_error>

namespace stepscope {
namespace {

std::int64_t real_now_ns() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

// How often the watchdog looks: a quarter of the limit, within these bounds. The longest is also how late a hold with a
// short limit is seen.
constexpr std::int64_t kMinLookNs = 1'000'000;
constexpr std::int64_t kMaxLookNs = 50'000'000;

}  // namespace

StreamGate::StreamGate(std::shared_ptr<CudaContext> context, std::shared_ptr<TimingKernels> kernels, CuStream stream)
    : context_(std::move(context)), kernels_(std::move(kernels)), stream_(stream) {}

Result<std::unique_ptr<StreamGate>> StreamGate::open(const std::shared_ptr<CudaContext>& context,
                                                     std::shared_ptr<TimingKernels> kernels, CuStream stream,
                                                     Method method) {
  std::unique_ptr<StreamGate> gate(new StreamGate(context, std::move(kernels), stream));
  Result<std::unique_ptr<MappedMemory>> word = MappedMemory::make(context, sizeof(std::uint32_t));
  if (!word) return word.error();
  gate->word_ = std::move(word).value();
  gate->method_ = context->driver().stream_wait_value == nullptr ? Method::kKernel : method;
  try {
    gate->watchdog_ = std::thread([raw = gate.get()] { raw->watch(); });
  } catch (const std::system_error& error) {
    return Error{ErrorCode::kIo, std::string("no thread for the watchdog of a held stream: ") + error.what(), {}};
  }
  return gate;
}

StreamGate::~StreamGate() {
  (void)release();
  if (watchdog_.joinable()) {
    {
      std::lock_guard lock(mutex_);
      is_ending_ = true;
    }
    wake_.notify_one();
    watchdog_.join();
  }
  const CurrentContext current(*context_);
  if (number_ != 0) (void)context_->driver().stream_synchronize(stream_);
}

Status StreamGate::hold(std::int64_t limit_ns) {
  ++number_;
  is_asked_for_ = true;
  limit_ns_.store(limit_ns);
  deadline_ns_.store(real_now_ns() + limit_ns);
  held_.store(number_);
  Status queued = queue_wait();
  if (!queued) (void)release();
  return queued;
}

Status StreamGate::queue_wait() {
  if (method_ == Method::kKernel) return kernels_->launch_hold(stream_, word_->device(), number_);
  const CudaDriver& driver = context_->driver();
  const CuResult result = driver.stream_wait_value(stream_, word_->device(), number_, kCuWaitValueGeq);
  return cuda_status(driver, result, "cuStreamWaitValue32");
}

bool StreamGate::release() {
  if (!is_asked_for_) return true;
  is_asked_for_ = false;
  const bool was_held = held_.exchange(0) == number_;
  if (was_held) let_go(number_);
  return was_held;
}

// Written by two threads, read by the device: an atomic store of the host, ordered behind all before it.
void StreamGate::let_go(std::uint32_t number) {
  std::atomic_ref<std::uint32_t>(*static_cast<std::uint32_t*>(word_->host())).store(number);
}

void StreamGate::watch() {
  std::unique_lock lock(mutex_);
  while (!is_ending_) {
    wake_.wait_for(lock, std::chrono::nanoseconds(std::clamp(limit_ns_.load() / 4, kMinLookNs, kMaxLookNs)));
    std::uint32_t number = held_.load();
    if (number == 0 || real_now_ns() < deadline_ns_.load()) continue;
    if (held_.compare_exchange_strong(number, 0)) let_go(number);
  }
}

}  // namespace stepscope

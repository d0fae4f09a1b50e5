// Stamps of all SMs, and the clock from the first SM that has both.
#include "timing/sm_clock.h"

#include <cstring>

namespace stepscope {
namespace {

// %smid may be larger than the number of SMs (parts that are switched off keep their number). No GPU has so many; an SM
// beyond is left out.
constexpr std::uint32_t kPlaces = 1024;

struct Stamp {
  std::uint64_t timer_ns;
  std::uint64_t ticks;
};

const Stamp* stamps_of(const MappedMemory& memory) { return static_cast<const Stamp*>(memory.host()); }

}  // namespace

Result<std::unique_ptr<SmClock>> SmClock::open(const std::shared_ptr<CudaContext>& context,
                                               std::shared_ptr<TimingKernels> kernels, CuStream stream) {
  std::unique_ptr<SmClock> clock(new SmClock(std::move(kernels), stream));
  for (std::unique_ptr<MappedMemory>* memory : {&clock->begin_, &clock->end_}) {
    Result<std::unique_ptr<MappedMemory>> made = MappedMemory::make(context, kPlaces * sizeof(Stamp));
    if (!made) return made.error();
    *memory = std::move(made).value();
  }
  if (Result<int> count = context->attribute(kCuAttributeMultiprocessorCount); count && *count > 0) {
    clock->block_count_ = static_cast<unsigned>(*count);
  }
  if (Result<int> khz = context->attribute(kCuAttributeClockRateKhz); khz && *khz > 0) clock->default_hz_ = *khz * 1e3;
  return clock;
}

Status SmClock::stamp_begin() {
  std::memset(begin_->host(), 0, kPlaces * sizeof(Stamp));
  std::memset(end_->host(), 0, kPlaces * sizeof(Stamp));
  return kernels_->launch_stamp(stream_, begin_->device(), kPlaces, block_count_);
}

Status SmClock::stamp_end() { return kernels_->launch_stamp(stream_, end_->device(), kPlaces, block_count_); }

std::optional<double> SmClock::read_hz() const {
  const Stamp* begin = stamps_of(*begin_);
  const Stamp* end = stamps_of(*end_);
  for (std::uint32_t sm = 0; sm < kPlaces; ++sm) {
    if (begin[sm].ticks == 0 || end[sm].ticks <= begin[sm].ticks || end[sm].timer_ns <= begin[sm].timer_ns) continue;
    const auto ticks = static_cast<double>(end[sm].ticks - begin[sm].ticks);
    return ticks / static_cast<double>(end[sm].timer_ns - begin[sm].timer_ns) * 1e9;
  }
  return std::nullopt;
}

}  // namespace stepscope

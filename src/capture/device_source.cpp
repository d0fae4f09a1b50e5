// The one registered source. A pointer is enough: sessions read it once, when they start.
#include "capture/device_source.h"

#include <atomic>

namespace stepscope {
namespace {
std::atomic<DeviceSource*> current_source{nullptr};
}  // namespace

void register_device_source(DeviceSource* source) { current_source.store(source, std::memory_order_release); }
DeviceSource* registered_device_source() { return current_source.load(std::memory_order_acquire); }

}  // namespace stepscope

// JAX's (XLA's) flavour of the format: no categories, devices by the name of their process, streams by threads.
//
// What it omits: the device's properties, ranks, step markers (steps are host rows with a `step_num` argument),
// launches. Host rows are Python frames ("$profiler.py:151 start_trace"), runtime calls ("cuLaunchHostFunc") and
// annotations of the runtime ("PjRtBuffer::..."), which are taken as operators.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace stepscope::chrome_json {

struct JaxProcess {
  enum class Kind : std::uint8_t { kNone, kHost, kDevice };
  Kind kind = Kind::kNone;
  std::int64_t device_number = 0;
};

// "/device:GPU:3" is device 3, "/host:CPU" the host.
[[nodiscard]] JaxProcess jax_process_of(std::string_view process_name);
// "$profiler.py:151 start_trace" as PyTorch would write it: "profiler.py(151): start_trace"; empty if it is no frame.
[[nodiscard]] std::string jax_frame_name(std::string_view name);
// The text behind "key:" in "regs:168 grid:132,1,1 ..."; empty if it is not there.
[[nodiscard]] std::string_view jax_detail(std::string_view details, std::string_view key);

}  // namespace stepscope::chrome_json

// Names are matched by their beginnings: a user's function called "xla_test" must not make a PyTorch file JAX's, which
// the absence of aten:: operators makes sure of anyway.
#include "analyze/framework.h"

#include <algorithm>
#include <array>

#include "trace/producers.h"

namespace stepscope {
namespace {

constexpr std::array<std::string_view, 6> kJaxNames = {"PjitFunction", "PjRt",       "PJRT_",
                                                       "XlaModule",    "CommonPjRt", "command_buffer::"};
constexpr std::array<std::string_view, 6> kCompiledNames = {"triton_poi_", "triton_red_",           "triton_per_",
                                                            "triton_tem_", "Torch-Compiled Region", "CompiledFunction"};

template <std::size_t kCount>
bool begins_with_any(std::string_view name, const std::array<std::string_view, kCount>& beginnings) {
  return std::any_of(beginnings.begin(), beginnings.end(),
                     [&](std::string_view part) { return name.starts_with(part); });
}

template <class Test>
bool any_name(const Trace& trace, const Test& test) {
  for (std::uint32_t at = 0; at < trace.strings.size(); ++at) {
    if (test(trace.text(StringId{at}))) return true;
  }
  return false;
}

}  // namespace

Framework find_framework(const Trace& trace) {
  if (any_name(trace, [](std::string_view name) { return name.starts_with("aten::"); })) return Framework::kPyTorch;
  const bool jax = any_name(trace, [](std::string_view name) { return begins_with_any(name, kJaxNames); });
  if (jax) return Framework::kJax;
  const TraceInfo& info = trace.info;
  const bool has_python = !info.python_version.empty() || !info.torch_version.empty() || !trace.frames.empty();
  const bool is_cpp = info.producer == kSessionProducer || (info.producer == kCaptureProducer && !has_python);
  return is_cpp ? Framework::kCpp : Framework::kUnknown;
}

bool is_torch_compiled(const Trace& trace) {
  return any_name(trace, [](std::string_view name) { return begins_with_any(name, kCompiledNames); });
}

}  // namespace stepscope

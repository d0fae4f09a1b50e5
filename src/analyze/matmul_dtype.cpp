// See matmul_dtype.h.
#include "analyze/matmul_dtype.h"

#include <algorithm>
#include <array>

#include "analyze/kernel_class.h"
#include "efficiency/argument_text.h"

namespace stepscope {
namespace {

enum class Dtype : std::uint8_t { kUnknown, kBf16, kFp16, kFp8, kInt8, kFp64, kFp32 };
constexpr std::size_t kDtypeCount = 7;
constexpr std::array<std::string_view, kDtypeCount> kNames = {"", "bf16", "fp16", "fp8", "int8", "fp64", "fp32"};

Dtype dtype_of(std::string_view type) {
  if (type == "c10::BFloat16") return Dtype::kBf16;
  if (type == "c10::Half") return Dtype::kFp16;
  if (type.starts_with("c10::Float8")) return Dtype::kFp8;
  if (type == "signed char" || type == "char") return Dtype::kInt8;
  if (type == "double") return Dtype::kFp64;
  if (type == "float") return Dtype::kFp32;
  return Dtype::kUnknown;
}

// Of the first argument that is a tensor of numbers.
Dtype first_dtype(std::string_view types_text) {
  const auto types = parse_argument_texts(types_text);
  if (!types) return Dtype::kUnknown;
  for (const std::string& type : *types) {
    if (const Dtype dtype = dtype_of(type); dtype != Dtype::kUnknown) return dtype;
  }
  return Dtype::kUnknown;
}

// GPU time of the fp32 operators' kernels, on tensor cores and off them.
bool runs_on_tensor_cores(const Trace& trace, const CountedOperators& counted,
                          const std::vector<std::uint8_t>& is_fp32) {
  std::vector<std::uint8_t> known(trace.strings.size(), 0xFF);
  DurationNs used_ns = 0;
  DurationNs not_used_ns = 0;
  for (const GpuEventId id : trace.gpu_events.ids().ids()) {
    const OpId op = trace.gpu_events.op[id];
    if (!op.has_value() || counted.of_op[op] == CountedOperators::kNone || is_fp32[counted.of_op[op]] == 0) continue;
    const StringId name = trace.gpu_events.name[id];
    if (known[name.value] == 0xFF) {
      known[name.value] = static_cast<std::uint8_t>(classify_tensor_cores(trace.text(name)));
    }
    const DurationNs length = trace.gpu_events.end_ns[id] - trace.gpu_events.start_ns[id];
    if (known[name.value] == static_cast<std::uint8_t>(TensorCores::kUsed)) used_ns += length;
    if (known[name.value] == static_cast<std::uint8_t>(TensorCores::kNotUsed)) not_used_ns += length;
  }
  return used_ns > not_used_ns;
}

}  // namespace

std::string find_dominant_dtype(const Trace& trace, const CountedOperators& counted,
                                const std::vector<double>& weights) {
  std::array<double, kDtypeCount> flops{};
  std::vector<std::uint8_t> known(trace.strings.size(), 0xFF);
  std::vector<std::uint8_t> is_fp32(counted.list.size(), 0);
  for (std::size_t i = 0; i < counted.list.size(); ++i) {
    const StringId types = counted.list[i].types;
    std::uint8_t& dtype = known[types.value];
    if (dtype == 0xFF) dtype = static_cast<std::uint8_t>(first_dtype(trace.text(types)));
    flops[dtype] += weights[i];
    is_fp32[i] = dtype == static_cast<std::uint8_t>(Dtype::kFp32) ? 1 : 0;
  }
  flops[static_cast<std::size_t>(Dtype::kUnknown)] = 0;
  const auto largest = std::max_element(flops.begin(), flops.end());
  if (*largest <= 0) return "";
  const auto dtype = static_cast<std::size_t>(largest - flops.begin());
  if (dtype == static_cast<std::size_t>(Dtype::kFp32) && runs_on_tensor_cores(trace, counted, is_fp32)) return "tf32";
  return std::string(kNames[dtype]);
}

}  // namespace stepscope

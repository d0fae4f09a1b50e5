// Kernels of one operator and one shape are added up first, so that each distinct shape text is read once. The text
// is torch's list of lists; tensor lists nest deeper and are flattened. Batch dimensions are no matter: only the
// last two of each matrix feed the tensor cores. Anything that is no such list gives no sizes.
#include "analyze/matmul_shapes.h"

#include <algorithm>
#include <charconv>
#include <unordered_map>

namespace stepscope {
namespace {

constexpr std::int64_t kMultiple = 8;
constexpr std::size_t kMostKept = 8;
constexpr std::size_t kMostShapes = 100'000;  // more distinct shapes than any program has: a hostile file

struct Use {
  std::int64_t count = 0;
  DurationNs gpu_sum_ns = 0;
};

bool is_odd(std::int64_t size) { return size > 1 && size % kMultiple != 0; }

OddMatmul describe(StringId name, const std::vector<std::pair<std::int64_t, std::int64_t>>& sizes, const Use& use) {
  OddMatmul out{name, {}, 0, use.count, use.gpu_sum_ns};
  for (const auto& [rows, columns] : sizes) {
    if (!out.sizes.empty()) out.sizes += " by ";
    out.sizes += std::to_string(rows) + "x" + std::to_string(columns);
    if (out.odd_size == 0 && is_odd(rows)) out.odd_size = rows;
    if (out.odd_size == 0 && is_odd(columns)) out.odd_size = columns;
  }
  return out;
}

}  // namespace

std::vector<std::pair<std::int64_t, std::int64_t>> matrix_sizes(std::string_view input_dims) {
  std::vector<std::pair<std::int64_t, std::int64_t>> out;
  std::vector<std::int64_t> list;
  for (const char* at = input_dims.data(); at != input_dims.data() + input_dims.size();) {
    if (*at == '[') {
      list.clear();
      ++at;
    } else if (*at == ']') {
      if (list.size() >= 2 && out.size() < 2) out.emplace_back(list[list.size() - 2], list[list.size() - 1]);
      list.clear();
      ++at;
    } else if (*at >= '0' && *at <= '9') {
      std::int64_t value = 0;
      const auto [end, error] = std::from_chars(at, input_dims.data() + input_dims.size(), value);
      if (error == std::errc()) list.push_back(value);
      at = end;
    } else {
      ++at;
    }
  }
  return out;
}

MatmulShapes compute_matmul_shapes(const Trace& trace, const GpuTimeline& timeline, const KernelClasses& classes,
                                   const Steps& steps, DeviceId device) {
  MatmulShapes out;
  const GpuEvents& events = trace.gpu_events;
  std::unordered_map<std::uint64_t, Use> uses;
  for (const GpuEventId id : trace.gpu_events_of_device[device].ids()) {
    if (classes.of[id] != KernelClass::kMatmul || !timeline.counts(trace, id)) continue;
    if (events.start_ns[id] < steps.window.start_ns || events.start_ns[id] >= steps.window.end_ns) continue;
    const DurationNs length = timeline.end_ns[id] - events.start_ns[id];
    out.matmul_ns += length;
    const OpId op = events.op[id];
    if (!op.has_value() || trace.ops.shapes[op].empty()) continue;
    out.shapes_recorded = true;
    const std::uint64_t key = std::uint64_t{trace.ops.name[op].value} << 32U | trace.ops.shapes[op].value;
    const auto found = uses.size() < kMostShapes ? uses.try_emplace(key).first : uses.find(key);
    if (found == uses.end()) continue;
    ++found->second.count;
    found->second.gpu_sum_ns += length;
  }
  for (const auto& [key, use] : uses) {
    const auto sizes = matrix_sizes(trace.text(StringId{static_cast<std::uint32_t>(key)}));
    OddMatmul odd = describe(StringId{static_cast<std::uint32_t>(key >> 32U)}, sizes, use);
    if (odd.odd_size == 0) continue;
    out.odd_ns += use.gpu_sum_ns;
    out.odd.push_back(std::move(odd));
  }
  // The map has no order of its own; ties are broken by text so that every run says the same.
  std::sort(out.odd.begin(), out.odd.end(), [](const OddMatmul& a, const OddMatmul& b) {
    if (a.gpu_sum_ns != b.gpu_sum_ns) return a.gpu_sum_ns > b.gpu_sum_ns;
    return a.sizes != b.sizes ? a.sizes < b.sizes : a.operator_name < b.operator_name;
  });
  if (out.odd.size() > kMostKept) out.odd.resize(kMostKept);
  return out;
}

}  // namespace stepscope

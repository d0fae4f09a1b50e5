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
  DurationNs doubtful_ns = 0;
};

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

enum class Loads : std::uint8_t { kUnseen, kNarrow, kWide, kUnknown };

Loads classify_loads(std::string_view name) {
  if (narrow_load_elements(name) > 0) return Loads::kNarrow;
  return has_wide_loads(name) ? Loads::kWide : Loads::kUnknown;
}

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

int narrow_load_elements(std::string_view kernel_name) {
  constexpr std::string_view kAlign = "align";
  if (!has(kernel_name, "f16") && !has(kernel_name, "h16816") && !has(kernel_name, "h161616")) return 0;  // bf16 too
  const auto at = kernel_name.find(kAlign);
  if (at == std::string_view::npos) return 0;
  std::string_view digits = kernel_name.substr(at + kAlign.size());
  digits = digits.substr(0, std::min(digits.find_first_not_of("0123456789"), digits.size()));
  if (digits == "1" || digits == "2" || digits == "4") return digits.front() - '0';
  return 0;
}

bool has_wide_loads(std::string_view name) {
  return has(name, "nvjet") || has(name, "align8") || has(name, "align16") || has(name, "ldg8");
}

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
  std::vector<Loads> loads(trace.strings.size(), Loads::kUnseen);
  for (const GpuEventId id : trace.gpu_events_of_device[device].ids()) {
    if (classes.of[id] != KernelClass::kMatmul || !timeline.counts(trace, id)) continue;
    if (!steps.counts_at_gpu_time(events.start_ns[id])) continue;
    const DurationNs length = timeline.end_ns[id] - events.start_ns[id];
    out.matmul_ns += length;
    Loads& load = loads[events.name[id].value];
    if (load == Loads::kUnseen) load = classify_loads(trace.text(events.name[id]));
    if (load == Loads::kNarrow) out.narrow_ns += length;
    const OpId op = events.op[id];
    if (!op.has_value() || trace.ops.shapes[op].empty()) continue;
    out.shapes_recorded = true;
    const std::uint64_t key = std::uint64_t{trace.ops.name[op].value} << 32U | trace.ops.shapes[op].value;
    const auto found = uses.size() < kMostShapes ? uses.try_emplace(key).first : uses.find(key);
    if (found == uses.end()) continue;
    ++found->second.count;
    found->second.gpu_sum_ns += length;
    if (load == Loads::kUnknown && classes.tensor_cores_of(trace, id) != TensorCores::kNotUsed) {
      found->second.doubtful_ns += length;
    }
  }
  for (const auto& [key, use] : uses) {
    const auto sizes = matrix_sizes(trace.text(StringId{static_cast<std::uint32_t>(key)}));
    OddMatmul odd = describe(StringId{static_cast<std::uint32_t>(key >> 32U)}, sizes, use);
    if (odd.odd_size == 0) continue;
    out.odd_ns += use.gpu_sum_ns;
    out.doubtful_ns += use.doubtful_ns;
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

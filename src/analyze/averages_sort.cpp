// Sort keys by torch's attribute names. Spellings with cuda, xpu or privateuse1 mean the device, as in torch.
#include <algorithm>
#include <array>
#include <numeric>

#include "analyze/averages.h"

namespace stepscope {
namespace {

using Value = double (*)(const AverageRow&);

double average(std::int64_t total, std::int64_t count) {
  return count == 0 ? 0 : static_cast<double>(total) / static_cast<double>(count);
}

struct SortKey {
  std::string_view name;
  Value value;
};

template <auto kField>
double field(const AverageRow& row) {
  return static_cast<double>(row.*kField);
}

constexpr std::array kSortKeys = {
    SortKey{"self_cpu_time_total", field<&AverageRow::self_cpu_time_total_ns>},
    SortKey{"cpu_time_total", field<&AverageRow::cpu_time_total_ns>},
    SortKey{"cpu_time", [](const AverageRow& row) { return average(row.cpu_time_total_ns, row.count); }},
    SortKey{"self_device_time_total", field<&AverageRow::self_device_time_total_ns>},
    SortKey{"device_time_total", field<&AverageRow::device_time_total_ns>},
    SortKey{"device_time", [](const AverageRow& row) { return average(row.device_time_total_ns, row.count); }},
    SortKey{"self_cpu_memory_usage", field<&AverageRow::self_cpu_memory_usage_bytes>},
    SortKey{"cpu_memory_usage", field<&AverageRow::cpu_memory_usage_bytes>},
    SortKey{"self_device_memory_usage", field<&AverageRow::self_device_memory_usage_bytes>},
    SortKey{"device_memory_usage", field<&AverageRow::device_memory_usage_bytes>},
    SortKey{"count", field<&AverageRow::count>},
    SortKey{"flops", field<&AverageRow::flops>},
    SortKey{"record_count", field<&AverageRow::record_count>},
    SortKey{"inclusive_time_total", field<&AverageRow::inclusive_ns>},
};

std::string device_spelling(std::string_view sort_key) {
  std::string out(sort_key);
  for (const std::string_view old : {"cuda", "xpu", "privateuse1"}) {
    if (const std::size_t at = out.find(old); at != std::string::npos) out.replace(at, old.size(), "device");
  }
  return out;
}

}  // namespace

std::optional<std::vector<std::size_t>> sorted_rows(const Averages& averages, std::string_view sort_key) {
  const std::string name = device_spelling(sort_key);
  const auto key = std::find_if(kSortKeys.begin(), kSortKeys.end(),
                                [&](const SortKey& candidate) { return candidate.name == name; });
  if (key == kSortKeys.end()) return std::nullopt;
  std::vector<std::size_t> order(averages.rows.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return key->value(averages.rows[a]) > key->value(averages.rows[b]);
  });
  return order;
}

std::vector<std::string_view> sort_keys() {
  std::vector<std::string_view> out;
  out.reserve(kSortKeys.size());
  for (const SortKey& key : kSortKeys) out.push_back(key.name);
  return out;
}

}  // namespace stepscope

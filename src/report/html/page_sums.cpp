// Tables of sums of a page: the numbers of `stepscope ops` and of the report's tables, of the work that the steps
// launched, and the folded stacks of `stepscope stacks`.
#include "analyze/averages.h"
#include "analyze/stacks.h"
#include "report/html/page_tables.h"
#include "report/tables.h"
#include "report/text.h"

namespace stepscope {
namespace {

using Rows = std::vector<AverageRow>;

PageTable average_table(std::string_view name, const Rows& rows) {
  PageTable table(name, rows.size());
  std::vector<std::string> keys, shapes;
  for (const AverageRow& row : rows) {
    keys.push_back(page_text(row.key));
    shapes.push_back(page_text(row.input_shapes));
  }
  table.add_text("name", [&](std::size_t i) -> std::string_view { return keys[i]; });
  table.add_text("input_shapes", [&](std::size_t i) -> std::string_view { return shapes[i]; });
  table.add_uint("count", [&](std::size_t i) { return rows[i].count; });
  table.add_delta("cpu_ns", [&](std::size_t i) { return rows[i].cpu_time_total_ns; });
  table.add_delta("self_cpu_ns", [&](std::size_t i) { return rows[i].self_cpu_time_total_ns; });
  table.add_delta("device_ns", [&](std::size_t i) { return rows[i].device_time_total_ns; });
  table.add_delta("self_device_ns", [&](std::size_t i) { return rows[i].self_device_time_total_ns; });
  table.add_delta("device_memory_bytes", [&](std::size_t i) { return rows[i].self_device_memory_usage_bytes; });
  table.add_delta("flops", [&](std::size_t i) { return rows[i].flops; });
  table.add_delta("forward_device_ns", [&](std::size_t i) { return rows[i].forward_device_time_ns; });
  table.add_delta("backward_device_ns", [&](std::size_t i) { return rows[i].backward_device_time_ns; });
  return table;
}

// Kernels have a table of their own.
Rows host_rows(Averages averages) {
  std::erase_if(averages.rows, [](const AverageRow& row) { return row.device_type != "DeviceType.CPU"; });
  return std::move(averages.rows);
}

PageTable kernel_table(const std::vector<KernelRow>& rows) {
  PageTable table("kernels", rows.size());
  std::vector<std::string> names;
  for (const KernelRow& row : rows) names.push_back(page_text(row.name));
  table.add_text("name", [&](std::size_t i) -> std::string_view { return names[i]; });
  table.add_uint("kind", [&](std::size_t i) { return static_cast<unsigned>(rows[i].kind); });
  table.add_uint("tensor_cores", [&](std::size_t i) { return static_cast<unsigned>(rows[i].tensor_cores); });
  table.add_uint("count", [&](std::size_t i) { return rows[i].count; });
  table.add_delta("total_ns", [&](std::size_t i) { return rows[i].total_ns; });
  return table;
}

PageTable stack_table(std::string_view name, const std::vector<FoldedStack>& stacks) {
  PageTable table(name, stacks.size());
  table.add_text("stack", [&](std::size_t i) -> std::string_view { return stacks[i].stack; });
  table.add_uint("value_us", [&](std::size_t i) { return stacks[i].value_us; });
  return table;
}

std::vector<FoldedStack> folded(const Trace& trace, std::string_view metric) {
  auto stacks = compute_folded_stacks(trace, metric).value_or(std::vector<FoldedStack>{});
  // Frames are parted by `;`, which page_text leaves alone; only damaged names are long.
  for (FoldedStack& stack : stacks) {
    if (stack.stack.size() > 16 * kMostPageTextBytes)
      stack.stack = page_text(stack.stack);
    else
      stack.stack = clean_text(stack.stack);
  }
  return stacks;
}

}  // namespace

void add_sum_tables(const PageInput& input, std::vector<PageTable>& out) {
  AveragesOptions options;
  options.window = host_window(input.facts.steps, input.whole_file_window);
  if (!input.whole_file_window) options.left_out = input.facts.steps.left_out_host;
  out.push_back(average_table("operators", host_rows(compute_averages(input.trace, options))));
  options.group_by = GroupBy::kShape;
  out.push_back(average_table("shapes", host_rows(compute_averages(input.trace, options))));
  options.group_by = GroupBy::kModule;
  out.push_back(average_table("modules", compute_averages(input.trace, options).rows));
  const Tables tables = build_tables(input.trace, input.facts, input.whole_file_window, SIZE_MAX, true);
  out.push_back(kernel_table(tables.kernels));
  out.push_back(stack_table("stacks_cpu", folded(input.trace, "self_cpu_time_total")));
  out.push_back(stack_table("stacks_gpu", folded(input.trace, "self_device_time_total")));
}

}  // namespace stepscope

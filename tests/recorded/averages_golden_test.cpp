// Every row of the tables that torch itself printed about two recorded runs: by name, by shape, by stack.
//
// Times to 0.001 us (torch adds doubles, so its sums carry rounding), counts, memory and FLOPs exactly, rows in the
// same order. The percentages of torch's table are not compared: its "Self CUDA %" passes 100% for user annotations.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "analyze/averages.h"
#include "analyze/stacks.h"
#include "recorded/read_gzip.h"
#include "recorded/recorded_trace.h"

namespace stepscope {
namespace {

struct Case {
  const char* file;
  const char* view;
  GroupBy group_by;
};

std::ostream& operator<<(std::ostream& out, const Case& one) { return out << one.file << '_' << one.view; }

class GoldenTable : public testing::TestWithParam<Case> {};

void expect_same_row(const AverageRow& ours, const nlohmann::json& torchs) {
  SCOPED_TRACE(ours.key.substr(0, 120) + " " + ours.input_shapes);
  EXPECT_EQ(ours.key, torchs["key"].get<std::string>());
  EXPECT_EQ(ours.device_type, torchs["device_type"].get<std::string>());
  EXPECT_EQ(ours.is_user_annotation, torchs["is_user_annotation"]);
  EXPECT_EQ(ours.is_async, torchs["is_async"]);
  EXPECT_EQ(ours.input_shapes, torchs["input_shapes"].get<std::string>());
  EXPECT_EQ(ours.stack, torchs["stack"].get<std::vector<std::string>>());
  EXPECT_EQ(ours.count, torchs["count"]);
  EXPECT_EQ(ours.flops, torchs["flops"]);
  EXPECT_EQ(ours.cpu_memory_usage_bytes, torchs["cpu_memory_usage"]);
  EXPECT_EQ(ours.self_cpu_memory_usage_bytes, torchs["self_cpu_memory_usage"]);
  EXPECT_EQ(ours.device_memory_usage_bytes, torchs["device_memory_usage"]);
  EXPECT_EQ(ours.self_device_memory_usage_bytes, torchs["self_device_memory_usage"]);
  const auto expect_time = [&](DurationNs ours_ns, const char* key) {
    EXPECT_NEAR(static_cast<double>(ours_ns) / 1000, torchs[key].get<double>(), 0.0005) << key;
  };
  expect_time(ours.cpu_time_total_ns, "cpu_time_total");
  expect_time(ours.self_cpu_time_total_ns, "self_cpu_time_total");
  expect_time(ours.device_time_total_ns, "device_time_total");
  expect_time(ours.self_device_time_total_ns, "self_device_time_total");
}

TEST_P(GoldenTable, EveryRowIsTorchs) {
  const Case& one = GetParam();
  const auto golden =
      nlohmann::json::parse(read_gzip(STEPSCOPE_TESTS_DIR "/data/golden/" + std::string(one.file) + ".golden.json.gz"));
  AveragesOptions options;
  options.group_by = one.group_by;
  const Averages averages = compute_averages(recorded_trace("golden/" + std::string(one.file)), options);
  const nlohmann::json& rows = golden[one.view];
  ASSERT_EQ(averages.rows.size(), rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) expect_same_row(averages.rows[i], rows[i]);
}

INSTANTIATE_TEST_SUITE_P(
    Recorded, GoldenTable,
    testing::Values(Case{"conv", "plain", GroupBy::kName}, Case{"conv", "by_shape", GroupBy::kShape},
                    Case{"conv", "by_stack", GroupBy::kStack}, Case{"enc", "plain", GroupBy::kName},
                    Case{"enc", "by_shape", GroupBy::kShape}, Case{"enc", "by_stack", GroupBy::kStack}),
    [](const auto& one) { return std::string(one.param.file) + "_" + std::string(one.param.view); });

TEST(GoldenTables, TotalsBelowTheTable) {
  // The two last lines of enc.table.txt.
  const Averages averages = compute_averages(recorded_trace("golden/enc"), {});
  EXPECT_EQ(averages.self_cpu_time_total_ns / 1000, 44614);
  EXPECT_EQ(averages.self_device_time_total_ns / 1000, 2780);
}

// torch 2.11 gives its rows no stack; ours are the Python frames, and a name's rows add up to torch's row.
TEST(GoldenTables, StacksSplitTorchsRowsAndLoseNothing) {
  const Trace& trace = recorded_trace("golden/enc");
  const Averages by_name = compute_averages(trace, {});
  AveragesOptions options;
  options.group_by = GroupBy::kStack;
  options.python_stacks = true;
  const Averages by_stack = compute_averages(trace, options);
  EXPECT_GT(by_stack.rows.size(), 2 * by_name.rows.size());
  EXPECT_EQ(by_stack.self_cpu_time_total_ns, by_name.self_cpu_time_total_ns);
  EXPECT_EQ(by_stack.self_device_time_total_ns, by_name.self_device_time_total_ns);
  std::int64_t with_stack = 0;
  for (const AverageRow& row : by_stack.rows) with_stack += row.stack.empty() ? 0 : 1;
  EXPECT_GT(with_stack, 100);
}

TEST(GoldenTables, ModulesHoldAllDeviceTime) {
  for (const char* name : {"golden/conv", "golden/enc", "h200/solid", "h200/solid4_stack"}) {
    AveragesOptions options;
    const Trace& trace = recorded_trace(name);
    const Averages by_name = compute_averages(trace, options);
    options.group_by = GroupBy::kModule;
    const Averages by_module = compute_averages(trace, options);
    EXPECT_EQ(by_module.self_device_time_total_ns, by_name.self_device_time_total_ns) << name;
  }
}

TEST(GoldenTables, FoldedStacksHoldTheDeviceTimeOfPythonThreads) {
  const Trace& trace = recorded_trace("golden/enc");
  const auto lines = compute_folded_stacks(trace, "self_device_time_total");
  ASSERT_TRUE(lines.has_value());
  std::int64_t sum_us = 0;
  for (const FoldedStack& line : *lines) {
    EXPECT_EQ(line.stack.find_first_of(" \t\n"), std::string::npos);
    EXPECT_GT(line.value_us, 0);
    sum_us += line.value_us;
  }
  // 2,780 us in all; what is missing is below a microsecond for each of 66 lines.
  EXPECT_GT(sum_us, 2700);
  EXPECT_LE(sum_us, 2780);
}

const AverageRow& row_named(const Averages& averages, std::string_view key) {
  static const AverageRow kNone;
  for (const AverageRow& row : averages.rows) {
    if (row.key == key && row.device_type == "DeviceType.CPU") return row;
  }
  ADD_FAILURE() << "no row " << key;
  return kNone;
}

TEST(Cases, B02NestedOperators) {
  const Averages averages = compute_averages(recorded_trace("cases/B02_nested_ops.json"), {});
  EXPECT_EQ(row_named(averages, "aten::conv2d").self_cpu_time_total_ns, 20'000);
  EXPECT_EQ(row_named(averages, "aten::convolution").self_cpu_time_total_ns, 20'000);
  EXPECT_EQ(row_named(averages, "aten::_convolution").self_cpu_time_total_ns, 60'000);
  const AverageRow& cudnn = row_named(averages, "aten::cudnn_convolution");
  EXPECT_EQ(cudnn.cpu_time_total_ns, 100'000);
  EXPECT_EQ(cudnn.self_cpu_time_total_ns, 90'000);  // the runtime call is its child
  EXPECT_EQ(cudnn.self_device_time_total_ns, 400'000);
  for (const char* name : {"aten::conv2d", "aten::convolution", "aten::_convolution", "aten::cudnn_convolution"}) {
    EXPECT_EQ(row_named(averages, name).device_time_total_ns, 400'000) << name;
  }
  EXPECT_EQ(averages.self_device_time_total_ns, 400'000);
  const AverageRow& to = row_named(averages, "aten::to");
  EXPECT_EQ(to.count, 1);
  EXPECT_EQ(to.record_count, 2);
  EXPECT_EQ(to.cpu_time_total_ns, 100'000);
  EXPECT_EQ(to.inclusive_ns, 100'000);
}

TEST(Cases, B05BackwardOnItsOwnThread) {
  AveragesOptions options;
  options.group_by = GroupBy::kModule;
  const AverageRow linear =
      row_named(compute_averages(recorded_trace("cases/B05_backward_thread.json"), options), "aten::linear");
  EXPECT_EQ(linear.forward_device_time_ns, 100'000);
  EXPECT_EQ(linear.backward_device_time_ns, 200'000);
}

TEST(Cases, B11OperatorInsideItself) {
  const AverageRow mm = row_named(compute_averages(recorded_trace("cases/B11_same_op_reentered.json"), {}), "aten::mm");
  EXPECT_EQ(mm.count, 2);
  EXPECT_EQ(mm.record_count, 2);
  EXPECT_EQ(mm.cpu_time_total_ns, 130'000);
  EXPECT_EQ(mm.inclusive_ns, 80'000);
  EXPECT_EQ(mm.self_device_time_total_ns, 100'000);
  EXPECT_EQ(mm.flops, 524'288);
}

TEST(Cases, A31HostAndGpuShareNumbers) {
  const Averages averages = compute_averages(recorded_trace("cases/A31_pid_collision.json"), {});
  EXPECT_EQ(row_named(averages, "ProfilerStep*").self_cpu_time_total_ns, 3 * 950'000);
  EXPECT_EQ(row_named(averages, "aten::mm").device_time_total_ns, 900'000);
}

}  // namespace
}  // namespace stepscope

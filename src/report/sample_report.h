// A report made by hand for the tests of the outputs: a data-loader stall of three steps, with every section filled.
#pragma once

#include "report/report.h"

namespace stepscope {

inline DeviceReport sample_device() {
  DeviceReport device;
  device.name = "NVIDIA H200";
  device.is_main = true;
  device.busy.window_ns = 300'000'000;
  device.busy.gpu_busy_ns = 120'000'000;
  device.busy.gpu_busy_raw_ns = 120'000'000;
  device.busy.idle_ns = 180'000'000;
  device.busy.gpu_sum_ns = 121'000'000;
  device.busy.busy_by_kind_ns[static_cast<std::size_t>(KernelClass::kMatmul)] = 90'000'000;
  device.busy.busy_by_kind_ns[static_cast<std::size_t>(KernelClass::kCopy)] = 30'000'000;
  device.busy.exposed_copy_ns = 30'000'000;
  device.idle_blame_ns[static_cast<std::size_t>(HostLabel::kDataLoader)] = 150'000'000;
  device.idle_blame_ns[static_cast<std::size_t>(HostLabel::kOperator)] = 30'000'000;
  device.idle_edges_ns = device.idle_blame_ns;
  device.idle_details = {{HostLabel::kDataLoader, "__next__", 150'000'000}};
  return device;
}

inline Finding sample_finding() {
  Finding finding;
  finding.id = "data-loader-stall";
  finding.severity = Severity::kFault;
  finding.saving = Estimate{49'000'000, 50'000'000, 51'000'000};
  finding.saving_ratio = 0.5;
  finding.title = "__next__ takes 50 ms on the main thread, every step";
  finding.evidence = {{"The longest call took 51 ms.", Interval{100'000'000, 151'000'000}},
                      {"No place.", std::nullopt}};
  finding.advice = {"num_workers=4", "pin_memory=True"};
  finding.gain = "The step would take about 50 ms, 2 times faster.";
  return finding;
}

inline Report sample_report() {
  Report report;
  report.info.source = "run/trace.json";
  report.info.producer = "chrome-json";
  report.info.text_bytes = 1 << 20;
  report.info.event_count = 1234;
  report.devices_present = {0};
  report.devices = {sample_device()};
  report.steps.source = StepSource::kProfilerStep;
  report.steps.source_detail = "ProfilerStep#N";
  for (std::int64_t i = 0; i < 3; ++i) {
    const Interval at{i * 100'000'000, (i + 1) * 100'000'000};
    report.steps.steps.push_back({4 + i, at, at, 100});
  }
  report.steps.window = {0, 300'000'000};
  report.steps.median_ns = report.steps.p10_ns = report.steps.p90_ns = 100'000'000;
  report.steps.host_span_median_ns = 100'000'000;
  report.steps.host_lead_ns = 0;
  report.ledger.launch_count = report.ledger.gpu_event_count = report.ledger.linked_gpu_event_count = 300;
  report.efficiency.mfu_ratio = 0.157;
  report.efficiency.peak_flops_per_s = 989e12;
  report.efficiency.peak_dtype = "bf16";
  report.what_ifs.self_check.step_count = 3;
  report.what_ifs.self_check.replay_error_ratio = 0.001;
  report.verdict = "The GPU waits for data during half of every step.";
  report.findings = {sample_finding()};
  Tables tables;
  tables.kernels = {{"gemm_kernel_a", KernelClass::kMatmul, TensorCores::kUsed, 300, 90'000'000}};
  tables.kernel_count = 12;
  tables.kernel_total_ns = 121'000'000;
  tables.operators_by_device = tables.operators_by_cpu = {{"aten::mm", 300, 90'000'000, 5'000'000}};
  tables.operator_count = 1;
  tables.operator_device_total_ns = 121'000'000;
  tables.operator_cpu_total_ns = 20'000'000;
  report.tables = tables;
  report.table_row_count = 5;
  return report;
}

}  // namespace stepscope

// One function a key. Missing is null, never 0; a withheld headline is null too, while what the file says as recorded
// (raw busy, sums, counts) stays.
#include "report/json_facts.h"

#include "analyze/how_to_record.h"
#include "report/text.h"

namespace stepscope {
namespace {

Json by_cause_json(const IdleByCause& by_cause) {
  Json out = Json::object();
  for (std::size_t i = 0; i < kHostLabelCount; ++i) {
    out[std::string(host_label_name(static_cast<HostLabel>(i)))] = by_cause[i];
  }
  return out;
}

template <class T>
Json by_kind_json(const std::array<T, kKernelClassCount>& by_kind) {
  Json out = Json::object();
  for (std::size_t i = 0; i < kKernelClassCount; ++i) {
    out[std::string(kernel_class_name(static_cast<KernelClass>(i)))] = by_kind[i];
  }
  return out;
}

// The value, or null when headlines are withheld.
Json if_sound(bool sound, Json value) { return sound ? std::move(value) : Json(nullptr); }

Json idle_details_json(const std::vector<IdleDetail>& details) {
  Json out = Json::array();
  for (const IdleDetail& detail : details) {
    out.push_back({{"cause", host_label_name(detail.label)}, {"name", detail.name}, {"length_ns", detail.length_ns}});
  }
  return out;
}

// `idle_withheld`: why idle time has no causes; empty when it has.
Json device_json(const DeviceReport& device, bool sound, std::string_view idle_withheld) {
  const DeviceBusy& busy = device.busy;
  const bool has_causes = sound && idle_withheld.empty();
  return {{"device", device.number},
          {"name", device.name.empty() ? Json(nullptr) : Json(device.name)},
          {"is_main", device.is_main},
          {"window_ns", busy.window_ns},
          {"gpu_busy_ns", if_sound(sound, busy.gpu_busy_ns)},
          {"gpu_busy_raw_ns", busy.gpu_busy_raw_ns},
          {"idle_ns", if_sound(sound, busy.idle_ns)},
          {"gpu_sum_ns", busy.gpu_sum_ns},
          {"idle_cause_withheld", idle_withheld.empty() ? Json(nullptr) : Json(idle_withheld)},
          {"idle_by_cause_ns", if_sound(has_causes, by_cause_json(device.idle_blame_ns))},
          {"idle_by_cause_edges_ns", if_sound(has_causes, by_cause_json(device.idle_edges_ns))},
          {"idle_details", if_sound(has_causes, idle_details_json(device.idle_details))},
          {"idle_drained_by_wait_ns", if_sound(has_causes, device.drained_by_wait_ns)},
          {"busy_by_kind_ns", by_kind_json(busy.busy_by_kind_ns)},
          {"event_count_by_kind", by_kind_json(busy.count_by_kind)},
          {"tensor_core_ns", busy.tensor_core_ns},
          {"simt_matmul_ns", busy.simt_matmul_ns},
          {"communication_ns", busy.communication_ns},
          {"exposed_communication_ns", busy.exposed_communication_ns},
          {"hidden_communication_ns", busy.hidden_communication_ns},
          {"exposed_copy_ns", busy.exposed_copy_ns}};
}

Json peak_json(const std::optional<MemoryPeak>& peak) {
  if (!peak) return nullptr;
  return {{"bytes", peak->bytes}, {"time_ns", peak->time_ns}};
}

Json bytes_list_json(const std::vector<std::optional<std::int64_t>>& list) {
  Json out = Json::array();
  for (const auto& bytes : list) out.push_back(json_or_null(bytes));
  return out;
}

Json operator_rows_json(const std::vector<OperatorRow>& rows) {
  Json out = Json::array();
  for (const OperatorRow& row : rows) {
    out.push_back({{"name", row.name},
                   {"count", row.count},
                   {"self_device_ns", row.self_device_ns},
                   {"self_cpu_ns", row.self_cpu_ns}});
  }
  return out;
}

Json tensor_cores_json(TensorCores use) {
  if (use == TensorCores::kUnknown) return nullptr;
  return use == TensorCores::kUsed;
}

}  // namespace

Json estimate_json(const Estimate& estimate) {
  return {{"low", estimate.low_ns}, {"mid", estimate.mid_ns}, {"high", estimate.high_ns}};
}

Json interval_json(Interval interval) { return {{"start_ns", interval.start_ns}, {"end_ns", interval.end_ns}}; }

Json source_json(const Report& report) {
  const TraceInfo& info = report.info;
  const HowToRecord how = how_to_record(report.tool, info);
  auto text = [](const std::string& value) { return value.empty() ? Json(nullptr) : Json(value); };
  return {{"path", info.source},
          {"producer", text(info.producer)},
          {"text_bytes", info.text_bytes},
          {"event_count", info.event_count},
          {"metadata_event_count", info.metadata_event_count},
          {"base_ns", info.base_ns},
          {"host_name", text(info.host_name)},
          {"trace_name", text(info.trace_name)},
          {"record_shapes", info.record_shapes},
          {"profile_memory", info.profile_memory},
          {"with_stack", info.with_stack},
          {"record_with",
           {{"stacks", json_or_null(how.stacks)},
            {"modules", json_or_null(how.modules)},
            {"shapes", json_or_null(how.shapes)}}}};
}

Json asked_json(const Asked& asked) {
  return {{"steps_name", asked.steps_name.empty() ? Json(nullptr) : Json(asked.steps_name)},
          {"window", asked.whole_file_window ? "all" : "steps"},
          {"device", json_or_null(asked.device_number)},
          {"rank", json_or_null(asked.rank)}};
}

Json found_json(const Report& report) {
  return {{"rank", json_or_null(report.info.rank)},
          {"world_size", json_or_null(report.info.world_size)},
          {"backend", report.info.backend.empty() ? Json(nullptr) : Json(report.info.backend)},
          {"devices", report.devices_present}};
}

Json disturbed_json(const std::vector<DisturbedStep>& steps) {
  Json out = Json::array();
  for (const DisturbedStep& each : steps) {
    out.push_back({{"step", each.step.number},
                   {"duration_ns", each.step.duration_ns()},
                   {"overhead_ns", each.overhead_ns},
                   {"cause", each.cause}});
  }
  return out;
}

Json missing_json(const std::vector<MissingSteps>& missing) {
  Json out = Json::array();
  for (const MissingSteps& each : missing) out.push_back({{"first", each.first}, {"last", each.last}});
  return out;
}

Json steps_json(const Report& report) {
  const Steps& steps = report.steps;
  const bool sound = report.has_headline();
  const auto unprofiled = report.unprofiled_step();
  const bool any = !steps.steps.empty();
  Json out = {{"count", steps.steps.size()},
              {"source", step_source_name(steps.source)},
              {"source_detail", steps.source_detail},
              {"first", any ? Json(steps.steps.front().number) : Json(nullptr)},
              {"last", any ? Json(steps.steps.back().number) : Json(nullptr)},
              {"left_out", steps.left_out},
              {"disturbed", disturbed_json(steps.disturbed)},
              {"missing", missing_json(steps.missing)},
              {"window", interval_json(steps.window)},
              {"median_ns", if_sound(sound, json_or_null(steps.median_ns))},
              {"p10_ns", if_sound(sound, json_or_null(steps.p10_ns))},
              {"p90_ns", if_sound(sound, json_or_null(steps.p90_ns))},
              {"host_span_median_ns", json_or_null(steps.host_span_median_ns)},
              {"host_lead_ns", if_sound(sound, json_or_null(steps.host_lead_ns))}};
  out["estimated_unprofiled_ns"] = sound && unprofiled ? estimate_json(*unprofiled) : Json(nullptr);
  return out;
}

Json devices_json(const Report& report) {
  Json out = Json::array();
  for (const DeviceReport& device : report.devices) {
    std::string_view idle_withheld;
    if (!device.idle_attributed) idle_withheld = kTooManyDevices;
    if (report.was_launch_blocking()) idle_withheld = kLaunchesBlocked;
    out.push_back(device_json(device, report.has_headline(), idle_withheld));
  }
  return out;
}

Json synchronizations_json(const Report& report) {
  auto text = [](const std::string& value) { return value.empty() ? Json(nullptr) : Json(value); };
  Json out = Json::array();
  for (const SynchronizationRow& row : report.synchronizations) {
    const double mean = static_cast<double>(row.count) / static_cast<double>(report.step_divisor());
    out.push_back({{"kind", wait_kind_name(row.kind)},
                   {"count", row.count},
                   {"count_per_step", report.is_per_step() ? Json(mean) : Json(nullptr)},
                   {"blocked_count", row.blocked_count},
                   {"hidden_count", row.hidden_count},
                   {"blocked_ns", row.blocked_ns},
                   {"python_line", text(row.python_line)},
                   {"operators", text(row.operators)},
                   {"spans", text(row.spans)}});
  }
  return out;
}

Json launches_json(const Launches& launches) {
  return {{"latency_count", launches.latency_count},
          {"negative_latency_count", launches.negative_latency_count},
          {"median_latency_ns", json_or_null(launches.median_latency_ns)},
          {"min_latency_ns", json_or_null(launches.min_latency_ns)},
          {"p90_latency_ns", json_or_null(launches.p90_latency_ns)},
          {"empty_stream_latency_ns", json_or_null(launches.plain_latency_ns)},
          {"empty_stream_graph_latency_ns", json_or_null(launches.graph_latency_ns)},
          {"graph_launch_count", launches.graph_launch_count},
          {"graph_event_count", launches.graph_event_count},
          {"kernel_count", launches.kernel_count},
          {"short_kernel_count", launches.short_kernel_count},
          {"median_kernel_ns", json_or_null(launches.median_kernel_ns)},
          {"max_queue_depth_count", launches.max_queue_depth_count},
          {"mean_queue_depth_count", json_or_null(launches.mean_queue_depth)}};
}

Json ledger_json(const Ledger& ledger) {
  return {{"launch_count", ledger.launch_count},
          {"gpu_event_count", ledger.gpu_event_count},
          {"linked_gpu_event_count", ledger.linked_gpu_event_count},
          {"unlinked_gpu_event_count", ledger.unlinked_gpu_event_count},
          {"leading_unlinked_gpu_event_count", ledger.leading_unlinked_gpu_event_count},
          {"launch_without_gpu_event_count", ledger.launch_without_gpu_event_count},
          {"bad_duration_count", ledger.bad_duration_count},
          {"swallowing_duration_count", ledger.swallowing_duration_count},
          {"duplicate_gpu_event_count", ledger.duplicate_gpu_event_count},
          {"negative_latency_count", ledger.negative_latency_count},
          {"outside_window_gpu_event_count", ledger.outside_window_gpu_event_count},
          {"steps_without_gpu_events_count", ledger.steps_without_gpu_events_count},
          {"merged_process_count", ledger.merged_process_count},
          {"largest_event_ratio", json_or_null(ledger.largest_event_ratio)},
          {"is_host_only", ledger.is_host_only}};
}

Json notes_json(const std::vector<Note>& notes) {
  Json out = Json::array();
  for (const Note& note : notes) {
    out.push_back({{"kind", note_kind_name(note.kind)},
                   {"severity", note_severity_name(note.severity)},
                   {"count", note.count},
                   {"first_offset", note.first_offset},
                   {"example", note.example}});
  }
  return out;
}

Json efficiency_json(const Report& report) {
  const Efficiency& efficiency = report.efficiency;
  const bool sound = report.has_headline();
  auto text = [](const std::string& value) { return value.empty() ? Json(nullptr) : Json(clean_text(value)); };
  Json by_operator = Json::array();
  for (const OperatorFlops& row : report.flops.by_operator) {
    by_operator.push_back({{"name", row.name}, {"call_count", row.call_count}, {"flops", row.flops}});
  }
  return {{"shapes_recorded", report.flops.shapes_recorded},
          {"flops", report.flops.total},
          {"flops_causal_halved", report.flops.total_causal_halved},
          {"recomputed_flops", report.flops.recomputed},
          {"flops_per_step", json_or_null(efficiency.flops_per_step)},
          {"achieved_flops_per_s", if_sound(sound, json_or_null(efficiency.achieved_flops_per_s))},
          {"mfu_ratio", if_sound(sound, json_or_null(efficiency.mfu_ratio))},
          {"mfu_causal_halved_ratio", if_sound(sound, json_or_null(efficiency.mfu_causal_halved_ratio))},
          {"hfu_ratio", if_sound(sound, json_or_null(efficiency.hfu_ratio))},
          {"peak_flops_per_s", json_or_null(efficiency.peak_flops_per_s)},
          {"peak_dtype", text(efficiency.peak_dtype)},
          {"peak_source", text(efficiency.peak_source)},
          {"device_name", text(efficiency.device_name)},
          {"not_available", text(efficiency.not_available)},
          {"flops_by_operator", std::move(by_operator)},
          {"operators_without_formula", report.flops.unknown_operators}};
}

Json memory_json(const MemoryLevels& memory) {
  Json devices = Json::array();
  for (const DeviceMemoryLevels& device : memory.devices) {
    devices.push_back({{"device", device.device_number},
                       {"allocated_peak", peak_json(device.allocated_peak)},
                       {"reserved_peak", peak_json(device.reserved_peak)},
                       {"allocated_last_bytes", json_or_null(device.allocated_last_bytes)},
                       {"reserved_last_bytes", json_or_null(device.reserved_last_bytes)},
                       {"process_peak", peak_json(device.process_peak)},
                       {"process_last_bytes", json_or_null(device.process_last_bytes)},
                       {"in_use_last_bytes", json_or_null(device.in_use_last_bytes)},
                       {"allocated_peak_by_step_bytes", bytes_list_json(device.allocated_peak_by_step_bytes)},
                       {"reserved_peak_by_step_bytes", bytes_list_json(device.reserved_peak_by_step_bytes)}});
  }
  return {{"recorded", memory.recorded}, {"cpu_event_count", memory.cpu_event_count}, {"devices", std::move(devices)}};
}

Json what_if_json(const WhatIfs& what_ifs) {
  const SelfCheck& check = what_ifs.self_check;
  Json results = Json::array();
  for (const WhatIf& what_if : what_ifs.results) {
    results.push_back({{"transform", transform_name(what_if.transform)},
                       {"applies", what_if.applies},
                       {"step_unprofiled_ns", estimate_json(what_if.step_unprofiled)},
                       {"saving_ns", estimate_json(what_if.saving)},
                       {"step_recorded_ns", what_if.step_recorded_ns}});
  }
  Json pauses = Json::array();
  for (const PauseSite& pause : what_ifs.pauses) {
    pauses.push_back({{"what", clean_text(pause.what)},
                      {"is_garbage_collection", pause.is_garbage_collection},
                      {"per_step_ns", pause.per_step_ns},
                      {"count", pause.count},
                      {"example", interval_json(pause.example)}});
  }
  const bool refused = check.refused.has_value();
  Json self_check = {
      {"replay_error_ratio", refused && check.step_count == 0 ? Json(nullptr) : Json(check.replay_error_ratio)},
      {"unexplained_ns", refused && check.step_count == 0 ? Json(nullptr) : Json(check.unexplained_ns)},
      {"step_count", check.step_count},
      {"refused", json_or_null(check.refused)}};
  if (check.first_step > 0) self_check["first_step"] = check.first_step;
  if (check.scale != 1) self_check["scale"] = check.scale;
  return {{"self_check", std::move(self_check)}, {"results", std::move(results)}, {"pauses", std::move(pauses)}};
}

Json tables_json(const Tables& tables) {
  Json kernels = Json::array();
  for (const KernelRow& row : tables.kernels) {
    kernels.push_back({{"name", row.name},
                       {"kind", kernel_class_name(row.kind)},
                       {"uses_tensor_cores", tensor_cores_json(row.tensor_cores)},
                       {"count", row.count},
                       {"total_ns", row.total_ns}});
  }
  return {{"kernels", std::move(kernels)},
          {"kernel_name_count", tables.kernel_count},
          {"kernel_total_ns", tables.kernel_total_ns},
          {"operators_by_device_time", operator_rows_json(tables.operators_by_device)},
          {"operators_by_cpu_time", operator_rows_json(tables.operators_by_cpu)},
          {"operator_name_count", tables.operator_count},
          {"operator_device_total_ns", tables.operator_device_total_ns},
          {"operator_cpu_total_ns", tables.operator_cpu_total_ns}};
}

}  // namespace stepscope

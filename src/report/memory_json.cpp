// The document of `stepscope memory --json`: docs/formats/memory.md.
#include "report/json_facts.h"
#include "report/memory_report.h"
#include "report/text.h"

namespace stepscope {
namespace {

Json place_json(const MemoryPlace& place) {
  return {{"event", json_or_null(place.event)},
          {"time_us", json_or_null(place.time_us)},
          {"since_first_ns", json_or_null(place.since_first_ns)},
          {"step", json_or_null(place.step)}};
}

Json level_json(const MemoryLevelReport& level) {
  return {{"start_bytes", json_or_null(level.start_bytes)},   {"peak_bytes", json_or_null(level.peak_bytes)},
          {"peak_event", json_or_null(level.peak.event)},     {"end_bytes", json_or_null(level.end_bytes)},
          {"peak_time_us", json_or_null(level.peak.time_us)}, {"peak_step", json_or_null(level.peak.step)}};
}

Json groups_json(const std::vector<LiveGroup>& groups, std::string_view key) {
  Json out = Json::array();
  for (const LiveGroup& group : groups) {
    out.push_back({{key, group.name}, {"bytes", group.bytes}, {"count", json_or_null(group.count)}});
  }
  return out;
}

Json fragmentation_json(const Fragmentation& fragmentation) {
  return {{"free_bytes", fragmentation.free_bytes},
          {"largest_free_bytes", fragmentation.largest_free_bytes},
          {"free_piece_count", fragmentation.free_piece_count}};
}

Json oom_json(const MemoryOomReport& oom) {
  Json out = {{"entry", json_or_null(oom.place.event)},
              {"request_bytes", oom.facts.request_bytes},
              {"line", oom.line.empty() ? Json(nullptr) : Json(oom.line)},
              {"time_us", json_or_null(oom.place.time_us)},
              {"step", json_or_null(oom.place.step)},
              {"reserved_bytes", oom.facts.reserved_bytes},
              {"allocated_bytes", oom.facts.allocated_bytes}};
  out["device_free_bytes"] = json_or_null(oom.facts.device_free_bytes);
  out["is_refused_by_cap"] = oom.facts.is_refused_by_cap;
  out["is_fragmentation"] = oom.facts.is_fragmentation;
  out["usable"] = nullptr;
  out["out_of_reach"] = nullptr;
  if (const auto& free = oom.facts.fragmentation) {
    out["usable"] = fragmentation_json(free->usable);
    out["out_of_reach"] = {{"other_private_pools_bytes", free->in_other_private_pools_bytes},
                           {"default_pool_bytes", free->in_default_pool_bytes},
                           {"other_streams_bytes", free->on_other_streams_bytes},
                           {"other_size_class_bytes", free->in_other_size_class_bytes}};
  }
  return out;
}

Json steps_json(const MemoryDeviceReport& device) {
  if (device.steps_name.empty()) return nullptr;
  Json rows = Json::array();
  for (const MemoryStepRow& row : device.steps) {
    rows.push_back({{"number", row.number},
                    {"begin_event", row.begin_moment},
                    {"begin_bytes", row.begin_bytes},
                    {"peak_bytes", row.peak_bytes},
                    {"peak_event", json_or_null(row.peak.event)}});
  }
  return {{"name", device.steps_name}, {"rows", std::move(rows)}};
}

Json device_json(const MemoryDeviceReport& device) {
  Json out = {{"device", device.number}, {"is_main", device.is_main}};
  out["history"] = {{"recorded", device.has_history},
                    {"entries", device.entry_count},
                    {"truncated", device.is_history_cut},
                    {"whole_life", device.is_whole_life},
                    {"length_ns", json_or_null(device.history_ns)}};
  for (std::size_t kind = 0; kind < kMemoryLevelKindCount; ++kind) {
    out[std::string(memory_level_name(static_cast<MemoryLevelKind>(kind)))] = level_json(device.levels[kind]);
  }
  // A peak that was not recorded has no live set; null, since an empty list would say that nothing was held.
  const bool has_peak = device.level(MemoryLevelKind::kRequested).peak_bytes.has_value();
  out["live_at_peak"] = has_peak ? groups_json(device.live_at_requested_peak, "line") : Json(nullptr);
  out["live_at_end"] =
      !has_peak && device.fragmentation ? groups_json(device.live_at_requested_peak, "line") : Json(nullptr);
  out["segments"] = device.segment_count;
  out["fragmentation"] = nullptr;
  if (device.fragmentation) {
    out["fragmentation"] = fragmentation_json(*device.fragmentation);
    out["fragmentation"]["private_pools_bytes"] = device.free_in_private_pools_bytes;
  }
  out["oom"] = device.ooms.empty() ? Json(nullptr) : oom_json(device.ooms.back());
  out["oom_count"] = device.has_history ? Json(device.ooms.size()) : Json(nullptr);
  out["cuda_malloc_count"] = device.has_history ? Json(device.cuda_malloc_count) : Json(nullptr);
  out["cuda_free_count"] = device.has_history ? Json(device.cuda_free_count) : Json(nullptr);
  out["older_count"] = device.has_history ? json_or_null(device.older_count) : Json(nullptr);
  out["contradiction_count"] = device.contradiction_count;
  out["estimated_size_count"] = device.estimated_size_count;
  out["steps"] = steps_json(device);
  return out;
}

Json history_json(const MemoryReport& report) {
  bool recorded = false, truncated = false;
  std::size_t entries = 0;
  for (const MemoryDeviceReport& device : report.devices) {
    recorded = recorded || device.has_history;
    truncated = truncated || device.is_history_cut;
    entries += device.entry_count;
  }
  return {{"recorded", recorded}, {"entries", entries}, {"truncated", truncated}};
}

Json live_json(const LiveReport& live) {
  Json out = {{"at", live.at}, {"place", place_json(live.place)}, {"by", live_grouping_name(live.by)}};
  out["bytes"] = live.bytes;
  out["count"] = json_or_null(live.count);
  out["groups"] = groups_json(live.groups, "name");
  return out;
}

Json lifetimes_json(const LifetimesReport& lifetimes) {
  Json byte_time = Json::array();
  for (const ByteTimeGroup& group : lifetimes.byte_time) {
    byte_time.push_back({{"name", group.name},
                         {"byte_seconds", group.byte_seconds},
                         {"bytes", group.bytes},
                         {"count", json_or_null(group.count)}});
  }
  return {{"by", live_grouping_name(lifetimes.by)},
          {"has_times", lifetimes.has_times},
          {"categories_inferred", lifetimes.is_inferred},
          {"byte_time", std::move(byte_time)},
          {"never_freed", groups_json(lifetimes.never_freed, "name")},
          {"made_count", lifetimes.made_count},
          {"free_pending_bytes", lifetimes.free_pending_bytes},
          {"free_pending_count", lifetimes.free_pending_count},
          {"devices_without_history", lifetimes.without_history}};
}

Json categories_json(const MemoryReport& report) {
  Json out = Json::array();
  for (const CategoryShare& share : report.categories) {
    out.push_back({{"category", share.is_older ? kOlderThanHistory : memory_category_name(share.category)},
                   {"bytes", share.bytes},
                   {"is_inferred", share.is_inferred},
                   {"top_line", share.top_line},
                   {"top_line_bytes", share.top_line_bytes}});
  }
  return out;
}

Json what_if_json(const MemoryReport& report, const MemoryWhatIfReport& what_if, const MemoryWhatIfRow& row) {
  Json out = {{"settings", row.settings},
              {"reserved_peak_bytes", nullptr},
              {"allocated_peak_bytes", nullptr},
              {"requested_peak_bytes", nullptr},
              {"reserved_end_bytes", nullptr},
              {"retries", nullptr},
              {"cuda_malloc_count", nullptr},
              {"least_capacity_bytes", nullptr},
              {"oom", nullptr},
              {"replay_matched", what_if.proof.matched},
              {"replay_total", what_if.proof.total},
              {"replay_device_calls_matched", what_if.proof.device_call_matched},
              {"replay_device_calls_total", what_if.proof.device_call_total},
              {"replay_older_estimated_count", what_if.proof.older_estimated_count},
              {"withheld", what_if.withheld.empty() ? Json(nullptr) : Json(what_if.withheld)},
              {"device", report.shown_device()->number},
              {"capacity_bytes", json_or_null(what_if.capacity_bytes)}};
  if (!row.result) return out;
  const AllocatorRun& run = row.result->run;
  out["reserved_peak_bytes"] = run.reserved_peak_bytes;
  out["allocated_peak_bytes"] = run.allocated_peak_bytes;
  out["requested_peak_bytes"] = run.requested_peak_bytes;
  out["reserved_end_bytes"] = run.reserved_end_bytes;
  out["retries"] = run.retries;
  out["cuda_malloc_count"] = run.cuda_malloc_count;
  out["least_capacity_bytes"] = json_or_null(row.result->least_capacity_bytes);
  if (run.oom) out["oom"] = {{"entry", json_or_null(row.oom_event)}, {"request_bytes", run.oom->request_bytes}};
  return out;
}

Json what_ifs_json(const MemoryReport& report) {
  Json out = Json::array();
  if (!report.what_if) return out;
  for (const MemoryWhatIfRow& row : report.what_if->rows) out.push_back(what_if_json(report, *report.what_if, row));
  return out;
}

Json finding_json(const MemoryFinding& finding) {
  Json evidence = Json::array();
  for (const MemoryEvidence& item : finding.evidence) {
    evidence.push_back({{"text", item.text}, {"event", json_or_null(item.event)}});
  }
  Json out = {{"id", finding.id}, {"severity", severity_name(finding.severity)}, {"title", finding.title}};
  out["saving_bytes"] = json_or_null(finding.saving_bytes);
  out["saving_level"] = finding.saving_bytes ? Json(memory_level_name(finding.saving_level)) : Json(nullptr);
  out["evidence"] = std::move(evidence);
  out["advice"] = finding.advice;
  out["gain"] = finding.gain.empty() ? Json(nullptr) : Json(finding.gain);
  return out;
}

Json diff_json(const MemoryDiffReport& diff) {
  Json rows = Json::array();
  for (const MemoryDiffRow& row : diff.rows) {
    rows.push_back({{"name", row.line},
                    {"difference_bytes", row.difference_bytes()},
                    {"before_bytes", row.before_bytes},
                    {"after_bytes", row.after_bytes},
                    {"before_count", json_or_null(row.before_count)},
                    {"after_count", json_or_null(row.after_count)}});
  }
  return {{"other", diff.other},
          {"at", diff.at},
          {"other_at", diff.other_at},
          {"by", live_grouping_name(diff.by)},
          {"before_bytes", diff.before_bytes},
          {"after_bytes", diff.after_bytes},
          {"difference_bytes", diff.after_bytes - diff.before_bytes},
          {"rows", std::move(rows)}};
}

Json source_of(const SnapshotInfo& info) {
  return {{"path", info.source},
          {"format", info.format},
          {"pickle_protocol", info.format == "pickle" ? Json(info.pickle_protocol) : Json(nullptr)},
          {"bytes", info.byte_count}};
}

}  // namespace

std::string write_memory_json(const MemoryReport& report) {
  Json out = {{"schema_version", kMemorySchemaVersion},
              {"stepscope_version", kStepscopeVersion},
              {"status", report_status_name(report.status)}};
  out["headline_withheld"] = report.withheld.empty() ? Json(nullptr) : Json(report.withheld);
  out["source"] = source_of(report.info);
  out["settings"] = report.settings.empty() ? Json(nullptr) : Json(report.settings);
  out["history"] = history_json(report);
  out["main_device"] = nullptr;
  for (const MemoryDeviceReport& device : report.devices) {
    if (device.is_main) out["main_device"] = device.number;
  }
  out["shown_device"] = report.shown ? Json(report.shown_device()->number) : Json(nullptr);
  out["devices"] = Json::array();
  for (const MemoryDeviceReport& device : report.devices) out["devices"].push_back(device_json(device));
  out["live"] = report.live ? live_json(*report.live) : Json(nullptr);
  out["categories"] = categories_json(report);
  out["categories_inferred"] = report.are_categories_inferred;
  out["growth"] = report.growth ? live_json(*report.growth) : Json(nullptr);
  out["lifetimes"] = report.lifetimes ? lifetimes_json(*report.lifetimes) : Json(nullptr);
  out["findings"] = Json::array();
  for (const MemoryFinding& finding : report.findings) out["findings"].push_back(finding_json(finding));
  out["what_if"] = what_ifs_json(report);
  out["diff"] = report.diff ? diff_json(*report.diff) : Json(nullptr);
  out["notes"] = notes_json(report.notes);
  return out.dump(2, ' ', false, nlohmann::detail::error_handler_t::replace) + "\n";
}

}  // namespace stepscope

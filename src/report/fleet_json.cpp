// Rows and spreads of all ranks. Ranks are named by their labels, as everywhere in the document: an index into a list
// would break as soon as somebody sorts it.
#include "report/fleet_json.h"

#include "report/text.h"

namespace stepscope {
namespace {

Json label_of(const FleetFacts& facts, std::size_t row) { return clean_text(facts.ranks[row].label); }

Json labels_of(const FleetFacts& facts, const std::vector<std::size_t>& rows) {
  Json out = Json::array();
  for (const std::size_t row : rows) out.push_back(label_of(facts, row));
  return out;
}

Json texts_json(const std::vector<std::string>& texts) {
  Json out = Json::array();
  for (const std::string& text : texts) out.push_back(clean_text(text));
  return out;
}

Json text_or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(clean_text(text)); }

// Parts that are not 0.
Json parts_json(const CostParts& parts) {
  Json idle = Json::object(), work = Json::object();
  for (std::size_t part = 0; part < kCostPartCount; ++part) {
    if (parts[part] == 0) continue;
    if (part < kHostLabelCount) {
      idle[std::string(host_label_name(static_cast<HostLabel>(part)))] = parts[part];
    } else {
      work[std::string(kernel_class_name(static_cast<KernelClass>(part - kHostLabelCount)))] = parts[part];
    }
  }
  return {{"idle_ns", std::move(idle)}, {"work_ns", std::move(work)}};
}

Json roster_json(const FleetFacts& facts) {
  Json doubles = Json::array(), unreadable = Json::array();
  for (const DoubleRank& twice : facts.doubles) {
    doubles.push_back({{"rank", twice.rank}, {"used", clean_text(twice.used)}, {"others", texts_json(twice.others)}});
  }
  for (const UnreadableRank& file : facts.unreadable) {
    unreadable.push_back({{"path", file.source}, {"reason", clean_text(file.reason)}});
  }
  return {{"version", kFleetVersion},
          {"world_size", json_or_null(facts.world_size)},
          {"rank_count", facts.ranks.size()},
          {"missing_count", facts.missing_count},
          {"missing", facts.missing},
          {"outside_world", facts.outside},
          {"doubles", std::move(doubles)},
          {"unreadable", std::move(unreadable)},
          {"without_rank_count", facts.without_rank_count},
          {"without_steps", texts_json(facts.without_steps)},
          {"several_runs", texts_json(facts.mixed)},
          {"left_out", texts_json(facts.foreign)}};
}

Json clocks_json(const FleetClocks& clocks) {
  return {{"clock_count", clocks.domain_count},          {"connected_set_count", clocks.component_count},
          {"collective_count", clocks.meeting_count},    {"largest_offset_ns", clocks.largest_offset_ns},
          {"largest_drift_ns", clocks.largest_drift_ns}, {"corrected", clocks.corrected}};
}

Json groups_json(const FleetFacts& facts) {
  Json out = Json::array();
  for (const FleetGroup& group : facts.groups) {
    out.push_back({{"name", text_or_null(group.name)},
                   {"description", text_or_null(group.description)},
                   {"size", json_or_null(group.size)},
                   {"ranks", group.ranks},
                   {"missing", group.missing},
                   {"present_count", group.present_count},
                   {"collective_count", group.meeting_count},
                   {"whole", group.is_whole},
                   {"refuted", group.refuted}});
  }
  return out;
}

Json step_json(const FleetFacts& facts, const FleetStep& step) {
  Json out = {{"step", step.number},
              {"rank_count", step.rank_count},
              {"duration_ns", step.slowest_duration_ns},
              {"typical_own_ns", step.typical_own_ns},
              {"slowest_own_ns", step.slowest_own_ns},
              {"slowest", label_of(facts, step.slowest)},
              {"median_wait_ns", step.median_wait_ns},
              {"arrivals", nullptr}};
  if (!step.widest) return out;
  const FleetStep::Arrivals& at = *step.widest;
  out["arrivals"] = {{"kind", text_or_null(at.kind)},   {"group", at.group},
                     {"spread_ns", at.spread_ns},       {"median_ns", at.median_ns},
                     {"transfer_ns", at.transfer_ns},   {"first", label_of(facts, at.first)},
                     {"last", label_of(facts, at.last)}};
  return out;
}

Json bandwidths_json(const FleetFacts& facts) {
  Json out = Json::array();
  for (const FleetBandwidth& row : facts.bandwidths) {
    out.push_back({{"kind", text_or_null(row.kind)},
                   {"rank_count", row.rank_count},
                   {"from_bytes", row.from_bytes},
                   {"count", row.count},
                   {"best_bus_bytes_per_s", row.best_bytes_per_s},
                   {"median_bus_bytes_per_s", row.median_bytes_per_s}});
  }
  return out;
}

Json spread_json(const FleetFacts& facts, const std::optional<FleetSpread>& spread) {
  if (!spread) return nullptr;
  return {{"min", spread->min},
          {"median", spread->median},
          {"max", spread->max},
          {"min_rank", label_of(facts, spread->min_rank)},
          {"max_rank", label_of(facts, spread->max_rank)}};
}

Json spreads_json(const FleetFacts& facts) {
  return {{"step_ns", spread_json(facts, facts.step_ns)},
          {"own_ns", spread_json(facts, facts.own_ns)},
          {"wait_ns", spread_json(facts, facts.wait_ns)},
          {"compute_ns", spread_json(facts, facts.compute_ns)},
          {"exposed_communication_ns", spread_json(facts, facts.exposed_communication_ns)},
          {"allocated_peak_bytes", spread_json(facts, facts.allocated_peak_bytes)},
          {"reserved_peak_bytes", spread_json(facts, facts.reserved_peak_bytes)}};
}

Json rank_json(const FleetRank& rank) {
  return {{"label", clean_text(rank.label)},
          {"rank", json_or_null(rank.rank)},
          {"source", clean_text(rank.source)},
          {"host", text_or_null(rank.host_name)},
          {"device_name", text_or_null(rank.device_name)},
          {"headline_withheld", rank.headline_withheld ? Json(clean_text(*rank.headline_withheld)) : Json(nullptr)},
          {"is_times_only", rank.is_times_only},
          {"step_count", rank.step_count},
          {"missing_steps", missing_json(rank.missing_steps)},
          {"steps_not_kept_count", rank.steps_not_kept_count},
          {"steps_spread_over_count", rank.steps_spread_over_count},
          {"step_ns", json_or_null(rank.step_ns)},
          {"own_ns", json_or_null(rank.own_ns)},
          {"wait_ns", json_or_null(rank.wait_ns)},
          {"late_ns", json_or_null(rank.late_ns)},
          {"late_step_ratio", rank.late_ns ? Json(rank.late_step_ratio) : Json(nullptr)},
          {"slowest_step_count", rank.slowest_step_count},
          {"gpu_busy_ns", json_or_null(rank.gpu_busy_ns)},
          {"compute_ns", json_or_null(rank.compute_ns)},
          {"exposed_communication_ns", json_or_null(rank.exposed_communication_ns)},
          {"kernel_time_ratio", json_or_null(rank.kernel_time_ratio)},
          {"allocated_peak_bytes", json_or_null(rank.allocated_peak_bytes)},
          {"reserved_peak_bytes", json_or_null(rank.reserved_peak_bytes)},
          {"clock_offset_ns", rank.clock_offset_ns},
          {"parts", rank.step_ns ? parts_json(rank.parts_ns) : Json(nullptr)},
          {"first_finding", text_or_null(rank.first_finding)}};
}

// Replayed ranks are indices into the run's summaries.
Json label_of_summary(const FleetFacts& facts, std::optional<std::uint32_t> summary) {
  for (std::size_t row = 0; summary && row < facts.ranks.size(); ++row) {
    if (facts.ranks[row].summary == *summary) return label_of(facts, row);
  }
  return nullptr;
}

Json replay_json(const FleetFacts& facts, const FleetReplay& replay) {
  Json what_ifs = Json::array();
  for (const FleetWhatIf& what_if : replay.what_ifs) {
    const bool is_known = !what_if.refused;
    what_ifs.push_back({{"transform", fleet_transform_name(what_if.transform)},
                        {"rank", label_of_summary(facts, what_if.rank)},
                        {"like_rank", label_of_summary(facts, what_if.like_rank)},
                        {"group", text_or_null(what_if.group)},
                        {"refused", what_if.refused ? Json(clean_text(*what_if.refused)) : Json(nullptr)},
                        {"step_unprofiled_ns", is_known ? estimate_json(what_if.step_unprofiled) : Json(nullptr)},
                        {"saving_ns", is_known ? estimate_json(what_if.saving) : Json(nullptr)},
                        {"step_recorded_ns", is_known ? Json(what_if.step_recorded_ns) : Json(nullptr)}});
  }
  const bool is_known = !replay.refused;
  return {{"refused", replay.refused ? Json(clean_text(*replay.refused)) : Json(nullptr)},
          {"replay_error_ratio", is_known ? Json(replay.replay_error_ratio) : Json(nullptr)},
          {"rank_count", replay.rank_count},
          {"step_count", replay.step_count},
          {"collective_count", replay.meeting_count},
          {"incomplete_collective_count", replay.incomplete_count},
          {"recorded_step_ns", is_known ? Json(replay.recorded_step_ns) : Json(nullptr)},
          {"what_ifs", std::move(what_ifs)},
          {"remarks", texts_json(replay.remarks)}};
}

}  // namespace

Json fleet_json(const FleetFacts& facts, const FleetReplay& replay) {
  Json out = roster_json(facts);
  out["stragglers"] = labels_of(facts, facts.stragglers);
  out["uneven"] = facts.is_uneven;
  out["uneven_ranks"] = labels_of(facts, facts.uneven_ranks);
  out["median_excess_ns"] = facts.median_excess_ns;
  out["missing_wait_ns"] = json_or_null(facts.missing_wait_ns);
  out["over_ranks"] = spreads_json(facts);
  out["typical_parts"] = parts_json(facts.typical_parts_ns);
  out["replay"] = replay_json(facts, replay);
  out["clocks"] = clocks_json(facts.clocks);
  out["collectives"] = {{"matched_count", facts.matched_count},
                        {"unmatched_count", facts.unmatched_count},
                        {"left_out_step_count", facts.left_out_step_count}};
  Json stopped_ranks = Json::array();
  for (const FleetStoppedRank& each : facts.stopped_ranks) {
    stopped_ranks.push_back({{"rank", label_of(facts, each.row)}, {"count", each.count}, {"total_ns", each.total_ns}});
  }
  out["stops"] = {{"ranks", std::move(stopped_ranks)},
                  {"steps_left_out", facts.stopped_everywhere ? std::vector<std::int64_t>() : facts.stopped_steps},
                  {"in_every_step", facts.stopped_everywhere}};
  out["groups"] = groups_json(facts);
  out["bandwidths"] = bandwidths_json(facts);
  Json steps = Json::array(), ranks = Json::array();
  for (const FleetStep& step : facts.steps) steps.push_back(step_json(facts, step));
  for (const FleetRank& rank : facts.ranks) ranks.push_back(rank_json(rank));
  out["steps"] = std::move(steps);
  out["ranks"] = std::move(ranks);
  return out;
}

}  // namespace stepscope

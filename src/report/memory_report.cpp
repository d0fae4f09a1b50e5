// Collects; the arithmetic is the memory room's, the judgement that of the rules. Names from the file are made safe to
// print here, once.
#include "report/memory_report.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "memory/levels.h"
#include "memory/trace_snapshot.h"
#include "report/memory_build.h"
#include "report/text.h"
#include "rules/memory_wording.h"

namespace stepscope {
namespace {

std::string withheld_words(const Notes& notes) {
  for (const Note& note : notes.all()) {
    if (note.severity != NoteSeverity::kUnsound) continue;
    if (note.kind == NoteKind::kFileCut) {
      return "The file is cut at byte " + std::to_string(note.first_offset) +
             ": copy it again. What stands before may lack blocks and entries, so no number of it is sound.";
    }
    return "No number of this file is sound: " + clean_text(note.example);
  }
  return "";
}

MemoryPlace place_of(const MemorySnapshot& snapshot, const MemoryFacts& facts, SnapshotDeviceId device,
                     SnapshotEntryId entry) {
  return place_after(snapshot, facts, device, moment_after(snapshot, device, entry));
}

std::array<MemoryLevelReport, kMemoryLevelKindCount> levels_of(const MemorySnapshot& snapshot, const MemoryFacts& facts,
                                                               SnapshotDeviceId device) {
  std::array<MemoryLevelReport, kMemoryLevelKindCount> levels;
  const DeviceMemoryFacts& of_device = facts.devices[device];
  for (std::size_t kind = 0; kind < levels.size(); ++kind) {
    const LevelFacts& level = of_device.levels[kind];
    levels[kind].end_bytes = level.end_bytes;
    if (!of_device.has_history) continue;
    levels[kind].start_bytes = level.start_bytes;
    levels[kind].peak_bytes = level.peak_bytes;
    levels[kind].peak = place_of(snapshot, facts, device, level.peak_entry);
  }
  return levels;
}

std::vector<MemoryOomReport> ooms_of(const MemorySnapshot& snapshot, const MemoryFacts& facts,
                                     SnapshotDeviceId device) {
  std::vector<MemoryOomReport> ooms;
  for (const OomFacts& oom : facts.devices[device].ooms) {
    MemoryOomReport report{place_of(snapshot, facts, device, oom.entry), "", oom};
    const SnapshotStackId stack = snapshot.entries.stack[oom.entry];
    if (stack.has_value()) {
      const SnapshotFrameId frame = find_user_frame(snapshot, stack);
      if (frame.has_value()) report.line = clean_text(describe_frame(snapshot, frame));
    }
    ooms.push_back(std::move(report));
  }
  return ooms;
}

std::vector<MemoryStepRow> steps_of(const MemorySnapshot& snapshot, const MemoryFacts& facts, SnapshotDeviceId device) {
  const MemorySteps& steps = facts.steps[device];
  std::vector<MemoryStepRow> rows;
  if (steps.peak_bytes.empty()) return rows;
  const auto level = compute_level(snapshot, facts, device, MemoryLevelKind::kAllocated);
  for (std::size_t k = 0; k < steps.peak_bytes.size(); ++k) {
    MemoryStepRow row;
    row.number = steps.numbers[k];
    row.begin_moment = steps.moments[k];
    row.begin_bytes = level[steps.moments[k]];
    row.peak_bytes = steps.peak_bytes[k];
    row.peak = steps.peak_entry[k].has_value() ? place_of(snapshot, facts, device, steps.peak_entry[k])
                                               : place_after(snapshot, facts, device, steps.moments[k]);
    rows.push_back(row);
  }
  return rows;
}

std::optional<DurationNs> history_length(const MemorySnapshot& snapshot, IdRange<SnapshotEntryId> entries) {
  if (entries.empty()) return std::nullopt;
  const MaybeInt first = snapshot.entries.time_us[SnapshotEntryId(entries.begin)];
  const MaybeInt last = snapshot.entries.time_us[SnapshotEntryId(entries.end - 1)];
  if (!first.has_value() || !last.has_value() || last.value() < first.value()) return std::nullopt;
  constexpr double kMostMicroseconds = 9e15;  // of 64 bits in ns: 285 years are a damaged time
  if (static_cast<double>(last.value()) - static_cast<double>(first.value()) > kMostMicroseconds) return std::nullopt;
  return (last.value() - first.value()) * 1000;
}

MemoryDeviceReport build_device(const MemorySnapshot& snapshot, const MemoryFacts& facts, SnapshotDeviceId device,
                                bool is_sound) {
  const DeviceMemoryFacts& of_device = facts.devices[device];
  const IdRange<SnapshotEntryId> entries = snapshot.devices.entries[device];
  MemoryDeviceReport report;
  report.number = snapshot.devices.number[device];
  report.is_main = device == facts.main_device;
  report.has_history = of_device.has_history;
  report.is_history_cut = snapshot.devices.is_history_cut[device] != 0;
  report.is_whole_life = of_device.is_whole_life;
  report.entry_count = entries.size();
  report.segment_count = snapshot.devices.segments[device].size();
  report.history_ns = history_length(snapshot, entries);
  if (!is_sound) return report;
  report.levels = levels_of(snapshot, facts, device);
  const LevelFacts& requested = of_device.levels[static_cast<std::size_t>(MemoryLevelKind::kRequested)];
  const std::size_t moment =
      of_device.has_history ? moment_after(snapshot, device, requested.peak_entry) : entries.size();
  report.live_at_requested_peak =
      clean_groups(group_live(snapshot, facts, find_live(snapshot, facts, device, moment), LiveGrouping::kLine));
  // Of a trace the free pieces are not known, only their sum.
  if (snapshot.info.format != kTraceSnapshotFormat) report.fragmentation = of_device.fragmentation;
  report.free_in_private_pools_bytes = of_device.free_in_private_pools_bytes;
  report.ooms = ooms_of(snapshot, facts, device);
  report.cuda_malloc_count = of_device.cuda_malloc_count;
  report.cuda_free_count = of_device.cuda_free_count;
  report.older_count = of_device.older_count;
  report.contradiction_count = of_device.contradiction_count;
  report.estimated_size_count = of_device.estimated_size_count;
  report.steps_name = clean_text(facts.steps[device].name);
  report.steps = steps_of(snapshot, facts, device);
  return report;
}

// What the sentence and the bar say of the live set.
std::vector<CategoryShare> share_categories(const MemorySnapshot& snapshot, const MemoryFacts& facts,
                                            const std::vector<AllocationId>& live, bool has_history,
                                            bool& is_inferred) {
  std::map<std::pair<MemoryCategory, bool>, std::vector<AllocationId>> parts;
  const Allocations& all = facts.allocations;
  for (const AllocationId id : live) {
    const bool is_known = all.category_source[id] != CategorySource::kNone;
    const MemoryCategory category = is_known ? all.category[id] : MemoryCategory::kUnknown;
    const bool is_older = has_history && category == MemoryCategory::kUnknown && !all.alloc_entry[id].has_value();
    parts[{category, is_older}].push_back(id);
  }
  std::vector<CategoryShare> shares;
  for (const auto& [key, ids] : parts) {
    CategoryShare share;
    std::tie(share.category, share.is_older) = key;
    for (const AllocationId id : ids) {
      share.bytes += all.requested_bytes[id];
      share.is_inferred = share.is_inferred || all.category_source[id] == CategorySource::kInferred;
    }
    is_inferred = is_inferred || share.is_inferred;
    const auto lines = group_live(snapshot, facts, ids, LiveGrouping::kLine);
    if (!lines.empty()) {
      share.top_line = clean_text(lines.front().name);
      share.top_line_bytes = lines.front().bytes;
    }
    shares.push_back(std::move(share));
  }
  std::stable_sort(shares.begin(), shares.end(),
                   [](const CategoryShare& a, const CategoryShare& b) { return a.bytes > b.bytes; });
  return shares;
}

LiveReport summed(LiveReport report) {
  for (const LiveGroup& group : report.groups) {
    report.bytes += group.bytes;
    report.count = add_counts(report.count, group.count);
  }
  return report;
}

// By device: of every device at its own moment; else of the one.
Status add_live(const MemorySnapshot& snapshot, const MemoryFacts& facts, SnapshotDeviceId device,
                const MemoryReportOptions& options, MemoryReport& report) {
  const auto chosen = choose_moment(snapshot, facts, device, options);
  if (!chosen) return chosen.error();
  std::vector<AllocationId> live = find_live(snapshot, facts, device, chosen->moment);
  report.categories =
      share_categories(snapshot, facts, live, facts.devices[device].has_history, report.are_categories_inferred);
  LiveReport shown;
  shown.at = chosen->at;
  shown.place = place_after(snapshot, facts, device, chosen->moment);
  shown.by = options.by.value_or(LiveGrouping::kLine);
  if (shown.by == LiveGrouping::kDevice) {
    for (const SnapshotDeviceId other : snapshot.devices.ids().ids()) {
      const auto at = other == device ? chosen : choose_moment(snapshot, facts, other, options);
      if (other == device || !at) continue;
      const auto of_other = find_live(snapshot, facts, other, at->moment);
      live.insert(live.end(), of_other.begin(), of_other.end());
    }
  }
  shown.groups = clean_groups(group_live(snapshot, facts, live, shown.by));
  report.live = summed(std::move(shown));
  return Done{};
}

void add_what_ifs(const MemorySnapshot& snapshot, const MemoryFacts& facts, SnapshotDeviceId device,
                  const MemoryReportOptions& options, MemoryReport& report) {
  MemoryWhatIfReport out;
  out.is_ranked = options.what_ifs.empty();
  out.recorded_settings = clean_text(describe_allocator_config(recorded_allocator_config(snapshot)));
  out.capacity_bytes = options.capacity_bytes;
  if (!out.capacity_bytes) {
    out.capacity_bytes = recorded_capacity(snapshot, device);
    out.is_capacity_recorded = out.capacity_bytes.has_value();
  }
  if (!facts.devices[device].has_history) {
    out.withheld = "the history was not recorded, so there are no requests to replay";
  } else if (snapshot.info.format == kTraceSnapshotFormat) {
    out.withheld = "a trace tells neither streams nor pools, by which the allocator goes; take a snapshot";
  } else {
    out.proof = replay_recorded(snapshot, device);
    if (!out.proof.is_proven()) {
      out.withheld = "the replay under the recorded settings did not return every recorded address" +
                     (out.proof.first_mismatch.empty() ? "" : ": " + clean_text(out.proof.first_mismatch));
    }
  }
  if (!out.withheld.empty()) {
    for (const auto& [text, config] : options.what_ifs) out.rows.push_back({text, std::nullopt, std::nullopt});
    // One row at least, so that the document says why there is no table.
    if (out.is_ranked) out.rows.push_back({out.recorded_settings, std::nullopt, std::nullopt});
    report.what_if = std::move(out);
    return;
  }
  std::vector<AllocatorWhatIf> results;
  if (out.is_ranked) results = rank_settings(snapshot, device, out.capacity_bytes);
  for (const auto& [text, config] : options.what_ifs) {
    AllocatorWhatIf result{text, config, simulate_allocator(snapshot, device, config, out.capacity_bytes), {}};
    // Only a limit makes it a question, and it costs some thirty replays.
    if (out.capacity_bytes) result.least_capacity_bytes = find_least_capacity(snapshot, device, config);
    results.push_back(std::move(result));
  }
  for (AllocatorWhatIf& result : results) {
    MemoryWhatIfRow row{clean_text(result.settings), std::nullopt, std::nullopt};
    if (result.run.oom) row.oom_event = result.run.oom->entry.value - snapshot.devices.entries[device].begin;
    row.result = std::move(result);
    out.rows.push_back(std::move(row));
  }
  report.what_if = std::move(out);
}

MemoryFinding clean_memory_finding(MemoryFinding finding) {
  finding.title = clean_text(finding.title);
  finding.gain = clean_text(finding.gain);
  for (MemoryEvidence& evidence : finding.evidence) evidence.text = clean_text(evidence.text);
  for (std::string& advice : finding.advice) advice = clean_text(advice);
  return finding;
}

void add_findings(const MemorySnapshot& snapshot, const MemoryFacts& facts, SnapshotDeviceId device,
                  MemoryReport& report) {
  std::vector<AllocatorWhatIf> results;
  if (report.what_if) {
    for (const MemoryWhatIfRow& row : report.what_if->rows) {
      if (row.result) results.push_back(*row.result);
    }
  }
  std::vector<AllocationId> live;
  if (facts.devices[device].has_history) {
    const auto& allocated = facts.devices[device].levels[static_cast<std::size_t>(MemoryLevelKind::kAllocated)];
    live = find_live(snapshot, facts, device, moment_after(snapshot, device, allocated.peak_entry));
  }
  const MemoryRuleInput input{snapshot, facts, device, results, live};
  // The panel names the setting that the findings advise, of several that would have done.
  if (const AllocatorWhatIf* best = best_setting(input); best != nullptr) report.what_if->best = best->settings;
  for (MemoryFinding& finding : find_all_memory(input)) {
    report.findings.push_back(clean_memory_finding(std::move(finding)));
  }
}

// From the second step on: the first makes what every later one keeps.
void add_growth(const MemorySnapshot& snapshot, const MemoryFacts& facts, SnapshotDeviceId device,
                MemoryReport& report) {
  const MemorySteps& steps = facts.steps[device];
  constexpr std::size_t kFewestBoundaries = 3;
  if (steps.moments.size() < kFewestBoundaries) return;
  LiveReport growth;
  growth.at = "end of the last step";
  growth.place = place_after(snapshot, facts, device, steps.moments.back());
  std::vector<LiveGroup> lines;
  for (StepGrowth& line : find_step_growth(snapshot, facts, device, LiveGrouping::kLine)) {
    if (line.grown.bytes > 0) lines.push_back(std::move(line.grown));
  }
  growth.groups = clean_groups(std::move(lines));
  report.growth = summed(std::move(growth));
}

void add_lifetimes_of(const MemorySnapshot& snapshot, const MemoryFacts& facts, SnapshotDeviceId device,
                      LifetimesReport& lifetimes) {
  for (const SnapshotEntryId entry : snapshot.devices.entries[device].ids()) {
    lifetimes.has_times = lifetimes.has_times || snapshot.entries.time_us[entry].has_value();
  }
  const Allocations& all = facts.allocations;
  for (const AllocationId row : facts.devices[device].allocations.ids()) {
    lifetimes.is_inferred = lifetimes.is_inferred || all.category_source[row] == CategorySource::kInferred;
    if (!all.alloc_entry[row].has_value()) continue;
    ++lifetimes.made_count;
    if (end_of(all, row) != AllocationEnd::kFreePending) continue;
    ++lifetimes.free_pending_count;
    lifetimes.free_pending_bytes = add_wrapping(lifetimes.free_pending_bytes, all.requested_bytes[row]);
  }
  for (ByteTimeGroup& group : group_byte_time(snapshot, facts, device, lifetimes.by)) {
    group.name = clean_text(group.name);
    lifetimes.byte_time.push_back(std::move(group));
  }
  for (LiveGroup& group : clean_groups(group_never_freed(snapshot, facts, device, lifetimes.by))) {
    lifetimes.never_freed.push_back(std::move(group));
  }
}

// By device: of every device with a history, as the live set is.
void add_lifetimes(const MemorySnapshot& snapshot, const MemoryFacts& facts, SnapshotDeviceId device,
                   const MemoryReportOptions& options, MemoryReport& report) {
  LifetimesReport lifetimes;
  lifetimes.by = options.by.value_or(LiveGrouping::kLine);
  for (const SnapshotDeviceId each : snapshot.devices.ids().ids()) {
    if (each != device && lifetimes.by != LiveGrouping::kDevice) continue;
    if (facts.devices[each].has_history) {
      add_lifetimes_of(snapshot, facts, each, lifetimes);
    } else if (facts.devices[each].allocations.size() > 0) {
      lifetimes.without_history.push_back(snapshot.devices.number[each]);
    }
  }
  std::stable_sort(lifetimes.byte_time.begin(), lifetimes.byte_time.end(),
                   [](const ByteTimeGroup& a, const ByteTimeGroup& b) { return a.byte_seconds > b.byte_seconds; });
  std::stable_sort(lifetimes.never_freed.begin(), lifetimes.never_freed.end(),
                   [](const LiveGroup& a, const LiveGroup& b) { return a.bytes > b.bytes; });
  report.lifetimes = std::move(lifetimes);
}

SnapshotInfo clean_info(SnapshotInfo info) {
  info.source = clean_text(info.source);
  info.format = clean_text(info.format);
  return info;
}

}  // namespace

Result<SnapshotDeviceId> find_shown_device(const MemorySnapshot& snapshot, const MemoryFacts& facts,
                                           std::optional<std::int64_t> number) {
  if (!number) return facts.main_device;
  std::string present;
  for (const SnapshotDeviceId device : snapshot.devices.ids().ids()) {
    if (snapshot.devices.number[device] == *number) return device;
    constexpr std::size_t kMostText = 60;
    if (present.size() < kMostText) {
      present += (present.empty() ? "" : ", ") + std::to_string(snapshot.devices.number[device]);
    }
  }
  return Error{ErrorCode::kInvalidArgument,
               "no device " + std::to_string(*number) +
                   (present.empty() ? " in the file; it has none" : " in the file; it has: " + present),
               snapshot.info.source};
}

Result<LiveMoment> choose_moment(const MemorySnapshot& snapshot, const MemoryFacts& facts, SnapshotDeviceId device,
                                 const MemoryReportOptions& options) {
  LiveMoment chosen{device, options.at, 0};
  if (chosen.at.empty()) chosen.at = facts.devices[device].has_history ? "peak" : "end";
  const auto moment = find_moment(snapshot, facts, device, chosen.at);
  if (!moment) return moment.error();
  chosen.moment = *moment;
  return chosen;
}

MemoryPlace place_after(const MemorySnapshot& snapshot, const MemoryFacts& facts, SnapshotDeviceId device,
                        std::size_t moment) {
  MemoryPlace place;
  if (moment == 0) return place;
  const std::size_t event = moment - 1;
  const IdRange<SnapshotEntryId> entries = snapshot.devices.entries[device];
  if (event >= entries.size()) return place;
  place.event = event;
  const MaybeInt first = snapshot.entries.time_us[SnapshotEntryId(entries.begin)];
  const MaybeInt time = snapshot.entries.time_us[SnapshotEntryId(entries.begin + event)];
  if (time.has_value()) place.time_us = time.value();
  if (time.has_value() && first.has_value() && time.value() >= first.value()) {
    place.since_first_ns = (time.value() - first.value()) * 1000;
  }
  const auto& moments = facts.steps[device].moments;
  const auto after = std::upper_bound(moments.begin(), moments.end(), event);
  if (after != moments.begin() && after != moments.end()) {
    place.step = facts.steps[device].numbers[static_cast<std::size_t>(after - moments.begin()) - 1];
  }
  return place;
}

std::vector<LiveGroup> clean_groups(std::vector<LiveGroup> groups) {
  for (LiveGroup& group : groups) group.name = clean_text(group.name);
  return groups;
}

Result<MemoryReport> build_memory_report(const MemorySnapshot& snapshot, const MemoryFacts& facts,
                                         const MemoryReportOptions& options) {
  MemoryReport report;
  report.withheld = withheld_words(snapshot.notes);
  report.info = clean_info(snapshot.info);
  report.table_row_count = options.table_row_count;
  report.is_live_asked = !options.at.empty() || options.by.has_value();
  if (snapshot.settings.is_recorded) {
    report.settings = clean_text(describe_allocator_config(recorded_allocator_config(snapshot)));
  }
  for (Note note : snapshot.notes.all()) {
    note.example = clean_text(note.example);
    report.notes.push_back(std::move(note));
  }
  const auto device = find_shown_device(snapshot, facts, options.device_number);
  if (!device) return device.error();
  bool is_contradictory = false;
  for (const SnapshotDeviceId each : snapshot.devices.ids().ids()) {
    report.devices.push_back(build_device(snapshot, facts, each, report.withheld.empty()));
    is_contradictory = is_contradictory || report.devices.back().contradiction_count > 0;
    if (each == *device) report.shown = report.devices.size() - 1;
  }
  const bool is_partial = snapshot.notes.lost_anything() || is_contradictory;
  report.status = is_partial ? ReportStatus::kPartial : ReportStatus::kComplete;
  report.is_what_if_asked = options.rank_settings || !options.what_ifs.empty();
  if (!report.shown || !report.withheld.empty()) return report;

  if (const Status done = add_live(snapshot, facts, *device, options, report); !done) return done.error();
  if (report.is_what_if_asked || !facts.devices[*device].ooms.empty()) {
    add_what_ifs(snapshot, facts, *device, options, report);
  }
  add_findings(snapshot, facts, *device, report);
  add_growth(snapshot, facts, *device, report);
  if (options.lifetimes) add_lifetimes(snapshot, facts, *device, options, report);
  return report;
}

}  // namespace stepscope

// `stepscope memory` as data: how much was held at the peak and by what, what failed, what other settings would have
// done.
//
// It owns its data, as Report does, so the snapshot can be freed. Which live set: `peak` is the peak of the allocated
// level everywhere (torch.cuda.max_memory_allocated), and the bytes of live sets are requested bytes, because a
// tensor's size is what its reader can check. Only `live_at_requested_peak` (the JSON key live_at_peak) is taken at the
// peak of the requested level, so that its bytes sum to that peak; the two moments differ only where other streams held
// memory back after its free.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "memory/allocator_what_if.h"
#include "memory/facts.h"
#include "report/page.h"
#include "report/report.h"
#include "rules/memory_rules.h"

namespace stepscope {

// Raised when a key of the JSON document changes its meaning or goes away.
inline constexpr int kMemorySchemaVersion = 1;

// A place in the history of a device: after `event`; before all of it where there is none.
struct MemoryPlace {
  std::optional<std::size_t> event;
  std::optional<std::int64_t> time_us;       // us since 1970
  std::optional<DurationNs> since_first_ns;  // since the device's first entry
  std::optional<std::int64_t> step;          // the number of the step that it lies in
};

struct MemoryLevelReport {
  // Missing where the history was not recorded, except the end of what the segments say.
  std::optional<std::int64_t> start_bytes, peak_bytes, end_bytes;
  MemoryPlace peak;
};

struct MemoryOomReport {
  MemoryPlace place;  // always with an event
  std::string line;   // of the request; empty if not recorded
  OomFacts facts;
};

// What is held at a moment, in groups.
struct LiveReport {
  std::string at;  // as asked: "peak", "oom", "#12"
  MemoryPlace place;
  LiveGrouping by = LiveGrouping::kLine;
  std::int64_t bytes = 0;         // of all groups
  MaybeInt count = 0;             // missing where that of a group is
  std::vector<LiveGroup> groups;  // most bytes first
};

struct MemoryStepRow {
  std::int64_t number = 0;
  std::size_t begin_moment = 0;
  std::int64_t begin_bytes = 0;  // allocated
  std::int64_t peak_bytes = 0;   // allocated
  MemoryPlace peak;
};

struct MemoryDeviceReport {
  std::int64_t number = 0;
  bool is_main = false, has_history = false, is_history_cut = false, is_whole_life = false;
  std::size_t entry_count = 0, segment_count = 0;
  std::optional<DurationNs> history_ns;  // from the first entry to the last
  std::array<MemoryLevelReport, kMemoryLevelKindCount> levels;
  std::vector<LiveGroup> live_at_requested_peak;  // by line; at the end where there is no history
  std::optional<Fragmentation> fragmentation;     // at the end
  std::int64_t free_in_private_pools_bytes = 0;
  std::vector<MemoryOomReport> ooms;
  std::int64_t cuda_malloc_count = 0, cuda_free_count = 0;
  MaybeInt older_count = 0;  // missing: a trace tells only their sum
  std::int64_t contradiction_count = 0, estimated_size_count = 0;
  std::string steps_name;  // empty: no steps known
  std::vector<MemoryStepRow> steps;

  [[nodiscard]] const MemoryLevelReport& level(MemoryLevelKind kind) const {
    return levels[static_cast<std::size_t>(kind)];
  }
};

// One setting, of the shown device.
struct MemoryWhatIfRow {
  std::string settings;
  std::optional<AllocatorWhatIf> result;  // missing: withheld
  std::optional<std::size_t> oom_event;
};

struct MemoryWhatIfReport {
  ReplayProof proof;
  bool is_ranked = false;                      // a table of sensible settings, else as asked
  std::string recorded_settings;               // what the proof was made under
  std::optional<std::int64_t> capacity_bytes;  // missing: unlimited
  bool is_capacity_recorded = false;           // else given
  std::vector<MemoryWhatIfRow> rows;
  std::string best;      // what the findings advise; empty: none serves all requests
  std::string withheld;  // why no row has a result; empty if they have
};

// What differs between this file (before) and another (after), both at their peaks.
struct MemoryDiffRow {
  std::string line;
  std::int64_t before_bytes = 0, after_bytes = 0;
  MaybeInt before_count = 0, after_count = 0;  // as of LiveGroup
  [[nodiscard]] std::int64_t difference_bytes() const { return after_bytes - before_bytes; }
};
struct MemoryDiffReport {
  std::string other;         // path
  std::string at, other_at;  // "peak", or "end" where no history was recorded
  LiveGrouping by = LiveGrouping::kLine;
  std::int64_t before_bytes = 0, after_bytes = 0;
  std::vector<MemoryDiffRow> rows;  // largest difference first, without zeros; they sum to the difference
};

// How long memory was held, not how much at one moment; of the shown device, or by device of each that has a history,
// within its history.
struct LifetimesReport {
  LiveGrouping by = LiveGrouping::kLine;
  bool has_times = false;                // of any entry; before torch 2.1 they have none
  bool is_inferred = false;              // the category of at least one of the allocations
  std::vector<ByteTimeGroup> byte_time;  // most first; empty without times, or where nothing was held
  std::vector<LiveGroup> never_freed;    // made in the history and never asked to be freed in it, most bytes first
  std::int64_t made_count = 0;           // allocations made in the history
  // Of them, freed by the program and held at the end, for other streams had not done with them.
  std::int64_t free_pending_bytes = 0, free_pending_count = 0;
  std::vector<std::int64_t> without_history;  // by device: numbers of those that hold memory and have no history
};

// A share of the shown live set by category, for the sentence and the bar.
struct CategoryShare {
  MemoryCategory category = MemoryCategory::kUnknown;
  bool is_older = false;  // kUnknown and older than the history: told apart from "unknown"
  std::int64_t bytes = 0;
  std::string top_line;  // which of its lines holds most
  std::int64_t top_line_bytes = 0;
  bool is_inferred = false;  // of at least one of its allocations
};

struct MemoryReport {
  ReportStatus status = ReportStatus::kComplete;
  std::string withheld;  // why no number is sound; empty if they are
  SnapshotInfo info;
  std::string settings;  // as recorded: "expandable_segments:True", "default"; empty if not recorded
  std::vector<Note> notes;
  std::vector<MemoryDeviceReport> devices;  // by number
  std::optional<std::size_t> shown;         // index into devices; missing: none
  std::optional<LiveReport> live;           // of the shown device; missing when withheld
  bool is_live_asked = false;               // --at or --by was given
  std::vector<CategoryShare> categories;    // of `live`
  bool are_categories_inferred = false;
  std::vector<MemoryFinding> findings;  // of the shown device
  std::optional<MemoryWhatIfReport> what_if;
  bool is_what_if_asked = false;  // else it was made because of an oom
  std::optional<MemoryDiffReport> diff;
  // Lines that hold more at the end of the last step than when the second began; missing without steps.
  std::optional<LiveReport> growth;
  std::optional<LifetimesReport> lifetimes;  // if asked for
  std::size_t table_row_count = 0;

  [[nodiscard]] const MemoryDeviceReport* shown_device() const { return shown ? &devices[*shown] : nullptr; }
};

struct MemoryReportOptions {
  std::string at;  // empty: "peak", or "end" without a history
  std::optional<LiveGrouping> by;
  std::optional<std::int64_t> device_number;
  bool rank_settings = false;
  std::vector<std::pair<std::string, AllocatorConfig>> what_ifs;  // as asked, and what it means
  std::optional<std::int64_t> capacity_bytes;
  std::size_t table_row_count = 10;
  bool lifetimes = false;  // a pass over all allocations, so only if asked for
};

// An Error when what was asked is not there: a device, a moment (its message names what there is).
[[nodiscard]] Result<MemoryReport> build_memory_report(const MemorySnapshot& snapshot, const MemoryFacts& facts,
                                                       const MemoryReportOptions& options);
// Both at the peak of their main device, or of the device asked for in both.
[[nodiscard]] Result<MemoryDiffReport> build_memory_diff(const MemorySnapshot& before, const MemoryFacts& before_facts,
                                                         const MemorySnapshot& after, const MemoryFacts& after_facts,
                                                         const MemoryReportOptions& options);
// The device that is shown: the one asked for, else the main one; an Error naming those that there are.
[[nodiscard]] Result<SnapshotDeviceId> find_shown_device(const MemorySnapshot& snapshot, const MemoryFacts& facts,
                                                         std::optional<std::int64_t> number);

// Stacks root first, joined by `;`, then a space and requested bytes: what flame graph tools read. Space, `;`, tab and
// newline inside a frame become `_`. Only stacks with bytes; most first.
[[nodiscard]] Result<std::string> write_memory_folded(const MemorySnapshot& snapshot, const MemoryFacts& facts,
                                                      const MemoryReportOptions& options);

[[nodiscard]] std::string_view live_grouping_name(LiveGrouping by);  // "line", "stack", ...: the words of --by
[[nodiscard]] std::optional<LiveGrouping> find_live_grouping(std::string_view name);

// Each ends with a newline.
[[nodiscard]] std::string write_memory_text(const MemoryReport& report, const Style& style);
[[nodiscard]] std::string write_memory_json(const MemoryReport& report);

}  // namespace stepscope

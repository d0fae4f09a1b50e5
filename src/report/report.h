// Report: the answer as data. Everything that an output shows stands here, so outputs only choose words and places.
//
// It owns its data (names are text, not ids), so a trace can be freed as soon as its report is built: a folder of 64
// ranks needs the memory of one. The structs of analyze/ are kept as they are where they hold no ids; copying
// them field by field into twins was rejected, since each would be one more place to forget.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analyze/facts.h"
#include "analyze/recording_words.h"
#include "base/result.h"
#include "report/excerpt.h"
#include "rules/finding.h"

namespace stepscope {

// Raised when a key of the JSON document changes its meaning or goes away; new keys do not raise it.
inline constexpr int kReportSchemaVersion = 1;
inline constexpr const char* kStepscopeVersion = "0.1.0";

// Why idle time then has no causes. See Report::was_launch_blocking.
inline constexpr std::string_view kLaunchesBlocked = "every launch waited for its kernel";
inline constexpr std::string_view kTooManyDevices = "of so many devices only the 128 busiest have causes";
static_assert(kMostDevicesInFull == 128);

enum class ReportStatus : std::uint8_t {
  kComplete,  // read whole, or everything recovered
  kPartial,   // something was dropped, or a headline is withheld
  kUnusable,  // nothing to report on
};
[[nodiscard]] std::string_view report_status_name(ReportStatus status);

// What the user asked for beyond the file; empty or missing: not asked.
struct Asked {
  std::string steps_name;
  bool whole_file_window = false;
  std::optional<std::int64_t> device_number;
  std::optional<std::int64_t> rank;
};

struct IdleDetail {
  HostLabel label = HostLabel::kNoEvent;
  std::string name;
  DurationNs length_ns = 0;
};

// Totals over the window.
struct DeviceReport {
  std::int64_t number = 0;
  std::string name;  // empty if the file does not say
  bool is_main = false;
  DeviceBusy busy;  // without the union itself
  IdleByCause idle_blame_ns{};
  IdleByCause idle_edges_ns{};
  bool idle_attributed = true;           // false: one of so many devices that only the busiest have causes
  std::vector<IdleDetail> idle_details;  // blame view by name, costliest first
  DurationNs drained_by_wait_ns = 0;
};

struct KernelRow {
  std::string name;
  KernelClass kind = KernelClass::kOther;
  TensorCores tensor_cores = TensorCores::kUnknown;
  std::int64_t count = 0;
  DurationNs total_ns = 0;
};

struct OperatorRow {
  std::string name;
  std::int64_t count = 0;
  DurationNs self_device_ns = 0;
  DurationNs self_cpu_ns = 0;
};

// Of the work that the steps launched. Sorted by time, cut to the rows asked for.
struct Tables {
  std::vector<KernelRow> kernels;
  std::size_t kernel_count = 0;    // distinct names in all
  DurationNs kernel_total_ns = 0;  // sum of all, the base of shares
  std::vector<OperatorRow> operators_by_device;
  std::vector<OperatorRow> operators_by_cpu;
  std::size_t operator_count = 0;
  DurationNs operator_device_total_ns = 0;
  DurationNs operator_cpu_total_ns = 0;
};

// Waits of one kind at one place in the program; places are empty where the file does not say.
struct SynchronizationRow {
  WaitKind kind = WaitKind::kStream;
  std::int64_t count = 0;
  std::int64_t blocked_count = 0;  // of them, those that found the GPU not yet done
  std::int64_t hidden_count = 0;   // of them, those that blocked in mid-step
  DurationNs blocked_ns = 0;       // length of the calls that blocked
  std::string python_line, operators, spans;
};

struct Report {
  ReportStatus status = ReportStatus::kComplete;
  Asked asked;
  TraceInfo info;
  RecordingTool tool = RecordingTool::kTorch;
  std::vector<std::int64_t> devices_present;  // numbers of all devices in the file, also those without events
  std::vector<Note> notes;                    // examples are clean text
  Ledger ledger;
  Steps steps;
  std::vector<DeviceReport> devices;  // those with GPU events
  Launches launches;                  // of the main device
  Flops flops;
  Efficiency efficiency;
  MemoryLevels memory;
  std::optional<std::int64_t> device_memory_bytes;  // of the main device
  WhatIfs what_ifs;
  std::vector<SynchronizationRow> synchronizations;
  std::string verdict;
  std::vector<Finding> findings;
  std::size_t table_row_count = 0;           // --top N
  std::optional<Tables> tables;              // when asked for
  std::optional<std::size_t> shown_finding;  // --finding N: index into findings
  std::optional<TimeNs> first_event_ns;      // where viewers begin to count; only with shown_finding
  std::string page_data;                     // packed columns for the HTML page; empty unless asked for
  std::string memory_page_data;              // likewise, of the trace's allocations; empty where it has none
  std::vector<Excerpt> excerpts;             // for the evidence of shown_finding that has a place, same order

  [[nodiscard]] const DeviceReport* main_device() const;
  // Every launch waited for its kernel: what the host did meanwhile, and what the step would be without the profiler,
  // says nothing about the program.
  [[nodiscard]] bool was_launch_blocking() const;
  // The median step without the profiler; missing when refused, or when launches were blocking.
  [[nodiscard]] std::optional<Estimate> unprofiled_step() const;
  // Step time, busy and idle may be shown as sound numbers.
  [[nodiscard]] bool has_headline() const { return !ledger.headline_withheld.has_value(); }
  // Totals over the window are shown as a mean step: when steps are known and the window is theirs.
  [[nodiscard]] bool is_per_step() const { return !steps.steps.empty() && !asked.whole_file_window; }
  // The divisor that turns them into one; else 1.
  [[nodiscard]] std::int64_t step_divisor() const;
};

// The report of a file that could not be read at all.
struct UnusableFile {
  std::string path;
  Error error;
};

struct ReportOptions {
  Asked asked;
  bool tables_when_withheld = false;    // tables although no headline may be shown
  std::size_t top_count = 0;            // rows of each table; 0: no tables
  std::optional<std::size_t> finding;   // index of the finding whose timeline is wanted
  std::size_t excerpt_cell_count = 60;  // its width
  bool page = false;                    // columns for the HTML page
};

// With every text made safe to print.
[[nodiscard]] Finding clean_finding(Finding finding);

[[nodiscard]] Report build_report(const Trace& trace, const Facts& facts, std::vector<Finding> findings,
                                  const std::string& verdict, const ReportOptions& options);

}  // namespace stepscope

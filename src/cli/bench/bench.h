// What `stepscope bench` was asked, what it measured and what follows from it: data that text and JSON both show.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "report/page.h"
#include "stats/compare_samples.h"
#include "stats/sample_checks.h"
#include "timing/machine_noise.h"
#include "timing/measure_commands.h"

namespace stepscope {

// Raised when a key of the document changes its meaning, unit or type, or goes away (docs/formats/bench.md).
inline constexpr int kBenchSchemaVersion = 1;
inline constexpr double kBenchConfidence = 0.95;
// The difference that people ask for: `units_to_tell` is given for it.
inline constexpr double kSoughtDifference = 0.01;

struct BenchRequest {
  std::vector<std::vector<std::string>> commands;  // one or two, words as typed
  MeasurePlan plan;
  bool by_shell = false;  // the words of a command, joined, are a line for `sh -c`
  bool show_output = false;
};

// A command as the runner takes it, and as the user typed it (quoted for a shell where it needs to be).
[[nodiscard]] std::vector<ProcessCommand> runnable_commands(const BenchRequest& request);
[[nodiscard]] std::string command_line(const BenchRequest& request, std::size_t command);

// Of the counted runs of one command; what needs runs is missing when there is none.
struct CommandSummary {
  std::string label;  // "A", "B"
  std::string line;
  std::vector<CommandRun> runs;
  std::int64_t failed_count = 0;
  std::optional<DurationNs> median_ns;
  std::optional<ConfidenceInterval> median_interval_ns;  // also missing for fewer than 6 runs
  std::optional<DurationNs> min_ns, p25_ns, p75_ns, max_ns;
  std::optional<DurationNs> user_ns, system_ns;  // medians
  std::optional<double> cores_used;              // CPU time over wall time, of all runs
  std::optional<std::int64_t> max_rss_bytes;     // the greatest; missing where it cannot be seen
  SampleChecks checks;                           // values are ns
};

struct BenchResult {
  std::vector<CommandSummary> commands;
  std::optional<Comparison> comparison;       // of two commands; B is the other
  std::optional<std::int64_t> pairs_to_tell;  // 1 %
  std::optional<CommandFailure> failure;
  std::optional<int> interrupted_by;
  std::optional<DurationNs> empty_command_ns;
  std::int64_t hidden_rss_bytes = 0;
  MachineState machine;               // before
  std::vector<std::string> warnings;  // sentences, each about one thing
};

// Summaries, comparison and warnings. `spoiled` is find_spoiled_timing().
[[nodiscard]] BenchResult analyze_bench(const BenchRequest& request, CommandTimes times,
                                        std::optional<DurationNs> empty_command_ns, const MachineState& before,
                                        const MachineState& after, const std::string& spoiled);

// "B is slower than A: ratio 1.05, interval 1.03 to 1.07"; empty without two commands.
[[nodiscard]] std::string comparison_sentence(const BenchResult& result);
// "exit status 7", "killed by signal 9 (Killed)".
[[nodiscard]] std::string end_words(const ProcessRun& run);

[[nodiscard]] std::string write_bench_text(const BenchRequest& request, const BenchResult& result, const Style& style);
[[nodiscard]] std::string write_bench_json(const BenchRequest& request, const BenchResult& result);

// One character a column: how many of `values` fall into each part of [low, high]. Values outside are left out.
[[nodiscard]] std::string draw_histogram(const std::vector<double>& values, double low, double high,
                                         std::size_t columns, bool ascii);

}  // namespace stepscope

// What `stepscope gate` was asked, what it found and what it did: data that text, JSON, JUnit XML and GitHub
// annotations all show.
//
// A CI log is read by people who did not write the job, so the answer is one sentence that stands by itself, the same
// in every output: numbers with units, the limit, what explains the difference. Names of files and reasons come from
// outside and are made safe by whoever writes them out (report/text.h, and the escapes of each format).
#pragma once

#include <string>
#include <vector>

#include "fleet/gate.h"
#include "report/page.h"

namespace stepscope {

// Raised when a key of the document changes its meaning, unit or type, or goes away (docs/formats/gate.md).
inline constexpr int kGateSchemaVersion = 1;

struct GateReport {
  std::vector<std::string> base_files, other_files;  // as given
  GateSide base, other;
  GateOptions options;
  bool allow_few = false;
  GateResult result;          // meaningless when has_base is false
  bool has_base = true;       // false: --update-base, and there was none yet
  bool is_updated = false;    // base was written
  std::string update;         // what became of --update-base, a sentence; empty: not asked
  bool is_unwritten = false;  // base or the JUnit file was to be written and could not be
};

enum class GateOutcome : std::uint8_t { kPassed, kFailed, kCannotTell, kCannotTellAllowed, kNoBase };
[[nodiscard]] GateOutcome gate_outcome(const GateReport& report);

// "gate failed: step 43.5 -> 45.4 ms, +4.4 % (3.9 to 4.8), limit 3 %; mostly: ...". One line, clean text.
[[nodiscard]] std::string gate_sentence(const GateReport& report);
// Of one check: "step 43.5 -> 45.4 ms, +4.4 % (3.9 to 4.8), limit 3 %", or why it cannot be told.
[[nodiscard]] std::string gate_check_sentence(const GateCheck& check, const GateResult& result);
// What makes the answer say less than it seems to: what noise hides, unknown noise between runs, losses, warnings.
[[nodiscard]] std::vector<std::string> gate_remarks(const GateReport& report);

[[nodiscard]] std::string gate_quantity_words(GateQuantity quantity);  // "step", "allocated peak", "reserved peak"
[[nodiscard]] std::string gate_limit_words(const GateCheck& check);    // "3 %", "2.0 ms", "512 MiB"
// "43.5 -> 45.4 ms", "12.1 GiB -> 12.4 GiB"; what is missing is "?".
[[nodiscard]] std::string gate_values_words(const GateCheck& check);
// "+4.4 % (3.9 to 4.8)"; empty without a ratio.
[[nodiscard]] std::string gate_difference_words(const GateCheck& check);
// "5 runs of 100 steps", "1 run of 3 steps, slowest of 8 ranks: 3"
[[nodiscard]] std::string gate_side_words(const GateSide& side);

[[nodiscard]] std::string write_gate_text(const GateReport& report, const Style& style);
[[nodiscard]] std::string write_gate_json(const GateReport& report);
// One testsuite with a testcase a check; what cannot be told is an error, and skipped where that is allowed.
[[nodiscard]] std::string write_gate_junit(const GateReport& report);
// Workflow commands for GitHub Actions: "::error title=...::...", and the text between ::stop-commands::, so that no
// name in it can be taken for a command. `token`: drawn at random.
[[nodiscard]] std::string write_gate_github(const GateReport& report, const std::string& text,
                                            const std::string& token);

// Where nothing could be judged, since a file cannot be used: one testcase with an error, one annotation. A CI system
// that shows the file of an earlier run, or nothing, would hide that.
[[nodiscard]] std::string write_gate_junit_error(const GateReport& report, const std::string& message);
[[nodiscard]] std::string write_gate_github_error(const std::string& message);

}  // namespace stepscope

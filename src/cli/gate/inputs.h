// What one side of `stepscope gate` is read from: traces, captures, summaries, listed times, memory snapshots. The
// content decides, never the name.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/options.h"
#include "fleet/gate.h"

namespace stepscope {

struct GateInput {
  GateSide side;
  // Of everything that has one: what can be a base, and what a difference is explained by. Listed times become
  // summaries without work.
  RunSummary summary;
  bool has_recordings = false;  // traces, or summaries of traces
  bool has_snapshots = false;   // which have no summary
};

struct GateInputOptions {
  std::optional<double> ns_per_unit;
  TraceOptions trace;
};

// The files that are meant: a folder is its files, by name; 'patterns' and @lists as everywhere (cli/file_lists.h). An
// Error where nothing is meant, and for a URL: only local files are read.
[[nodiscard]] Result<std::vector<std::string>> expand_gate_files(const std::vector<std::string>& arguments);

// All files of a side together, as expand_gate_files gives them. An Error when one cannot be used at all: a gate that
// goes on without a file that was named would judge something else.
[[nodiscard]] Result<GateInput> read_gate_input(const std::vector<std::string>& files, const GateInputOptions& options);

}  // namespace stepscope

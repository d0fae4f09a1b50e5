// What `stepscope memory` writes besides its report: the snapshot itself, and torch's statistics of it.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "cli/console.h"
#include "memory/facts.h"

namespace stepscope {

struct SnapshotOutput {
  std::string path;                        // -o; empty: none
  std::optional<std::size_t> max_entries;  // of what is written
  bool is_summary = false, is_stats = false;
  [[nodiscard]] bool is_asked() const { return !path.empty() || is_summary || is_stats; }
};

// -o, --max-entries, --summary, --stats.
void add_snapshot_output(CLI::App& app, SnapshotOutput& output);
// What is wrong with them and with the options beside them; empty if nothing. `input`: the file that is read.
[[nodiscard]] std::string check_snapshot_output(const CLI::App& app, const SnapshotOutput& output,
                                                const std::string& input);
// The exit status; `complete` where nothing fails. `device` is that of --summary and --stats.
[[nodiscard]] int write_snapshot_output(const SnapshotOutput& output, const MemorySnapshot& snapshot,
                                        const MemoryFacts& facts, SnapshotDeviceId device, int complete,
                                        Console& console);

}  // namespace stepscope

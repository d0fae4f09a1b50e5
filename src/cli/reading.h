// Reading traces and memory snapshots for a command: progress on a terminal, and the recording that was asked for.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/console.h"
#include "cli/options.h"
#include "import/bytes/byte_source.h"
#include "memory/facts.h"
#include "memory/snapshot.h"
#include "trace/trace.h"

namespace stepscope {

// A file that is open and whose beginning is known, to be read once from there: a pipe cannot be opened again.
struct OpenedFile {
  std::string path;
  std::string prefix;                  // its first bytes, decompressed
  std::unique_ptr<ByteSource> source;  // all of it, the prefix too
};
[[nodiscard]] Result<OpenedFile> open_file(const std::string& path, unsigned threads = 0);
[[nodiscard]] bool is_snapshot(const OpenedFile& file);
// False: a pipe, a terminal, standard input; or no such file.
[[nodiscard]] bool is_regular_file(const std::string& path);

// All recordings of a file. Shows progress with its rate on stderr when that is a terminal and it takes long.
[[nodiscard]] Result<std::vector<Trace>> read_file(OpenedFile file, unsigned threads);
[[nodiscard]] Result<std::vector<Trace>> read_file(const std::string& path, unsigned threads);

// A memory snapshot, or one made of the memory events of a trace or capture (memory/trace_snapshot.h). What is neither
// is an Error that says what to type.
[[nodiscard]] Result<MemorySnapshot> read_snapshot_file(OpenedFile file);
[[nodiscard]] Result<MemorySnapshot> read_snapshot_file(const std::string& path);

// The map of tensor addresses beside a snapshot, applied to its facts; without one nothing happens. The sentence that
// says why one that is there could not be used; empty otherwise.
[[nodiscard]] std::string apply_map_beside(const std::string& path, const MemorySnapshot& snapshot, MemoryFacts& facts);

// What is wrong with the name of a snapshot's steps, which is "name" also for name#12 and "name 12"; empty if nothing.
[[nodiscard]] std::string check_steps_name(const MemorySnapshot& snapshot, const MemoryFacts& facts,
                                           const std::string& name);

// One recording: that of options.rank, or the only or first one (and a remark when there are others). The exit
// status to end with (already complained) when there is none.
struct OneTrace {
  std::optional<Trace> trace;
  int exit_code = kExitComplete;
};
[[nodiscard]] OneTrace read_one_trace(const std::string& path, const TraceOptions& options, Console& console);

// Says what is wrong with what was asked of this trace (device, name of steps), naming what there is; empty if nothing.
[[nodiscard]] std::string check_asked(const Trace& trace, const TraceOptions& options);

// Ranks of traces that know theirs.
[[nodiscard]] std::vector<std::int64_t> ranks_of(const std::vector<Trace>& traces);

// 4 when something of the file was lost, else 0.
[[nodiscard]] int exit_code_of(const Trace& trace);

}  // namespace stepscope

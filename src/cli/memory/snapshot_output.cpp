// The shape is the ending of the name, as with `convert`: .pickle (.pkl) or .json, each perhaps with .gz.
#include "cli/memory/snapshot_output.h"

#include <fmt/format.h>

#include <filesystem>
#include <string_view>

#include "cli/options.h"
#include "export/text_sink.h"
#include "memory/allocator_stats.h"
#include "memory/snapshot_writer.h"
#include "report/memory_summary.h"

namespace stepscope {
namespace {

std::optional<SnapshotShape> shape_of(std::string_view path) {
  if (path.ends_with(".gz")) path.remove_suffix(3);
  if (path.ends_with(".pickle") || path.ends_with(".pkl") || path == "-") return SnapshotShape::kPickle;
  if (path.ends_with(".json")) return SnapshotShape::kJson;
  return std::nullopt;
}

int write_file(const SnapshotOutput& output, const MemorySnapshot& snapshot, int complete, Console& console) {
  const SnapshotShape shape = *shape_of(output.path);
  const SnapshotWriteOptions options{output.max_entries};
  if (output.path == "-") {
    const Status written = write_snapshot(snapshot, shape, options, [&](std::string_view piece) -> Status {
      if (!console.write(piece)) return Error{ErrorCode::kIo, "standard output ended", ""};
      return Done{};
    });
    return written ? complete : kExitUnusable;
  }
  const Status written = write_text_file(
      output.path, [&](const TextSink& sink) { return write_snapshot(snapshot, shape, options, sink); });
  if (!written) console.complain(written.error().to_string());
  return written ? complete : kExitUnusable;
}

// What is asked of the report, which is not made then.
std::string check_beside(const CLI::App& app, const SnapshotOutput& output) {
  if (app.count("--json") > 0) {
    if (!output.path.empty())
      return "-o writes the snapshot, not the report; for the report: --json > FILE, without -o";
    if (output.is_summary) return "--summary is a text; its numbers as JSON: --stats";
  }
  const char* asked = !output.path.empty() ? "-o" : output.is_summary ? "--summary" : "--stats";
  for (const char* option : {"--at", "--by", "--what-if", "--capacity", "--diff", "--folded", "--lifetimes", "--top"}) {
    if (app.count(option) > 0) return fmt::format("{} does not go with {}", option, asked);
  }
  return !output.path.empty() && app.count("--device") > 0 ? "--device does not go with -o: all GPUs are written" : "";
}

}  // namespace

void add_snapshot_output(CLI::App& app, SnapshotOutput& output) {
  app.add_option("-o,--output", output.path, "the snapshot as another file: .pickle, .json, .gz")->type_name("FILE");
  app.add_option("--max-entries", output.max_entries, "with -o: only the newest N of each GPU's history")
      ->type_name("N")
      ->check(whole_number(1, 4'000'000'000));
  app.add_flag("--summary", output.is_summary, "the table of torch.cuda.memory_summary()");
  app.add_flag("--stats", output.is_stats, "the keys of torch.cuda.memory_stats(), as JSON");
}

std::string check_snapshot_output(const CLI::App& app, const SnapshotOutput& output, const std::string& input) {
  if (output.max_entries && output.path.empty()) return "--max-entries needs -o";
  if (!output.is_asked()) return "";
  if (!output.path.empty() && (output.is_summary || output.is_stats)) return "-o does not go with --summary or --stats";
  if (std::string wrong = check_beside(app, output); !wrong.empty()) return wrong;
  if (output.path.empty()) return "";
  if (output.path == "-") return Console::refuse_terminal("-o");
  if (!shape_of(output.path)) {
    return fmt::format("{}: no format is known by this name; written are .pickle and .json, each perhaps with .gz",
                       output.path);
  }
  std::error_code ignored;
  if (input != "-" && std::filesystem::equivalent(input, output.path, ignored))
    return fmt::format("{}: is the file to be read; name another, since not everything in it is kept", output.path);
  return "";
}

int write_snapshot_output(const SnapshotOutput& output, const MemorySnapshot& snapshot, const MemoryFacts& facts,
                          SnapshotDeviceId device, int complete, Console& console) {
  if (snapshot.notes.unsound()) {
    console.complain(
        Error{ErrorCode::kDamaged, "no number of this file is sound, so nothing is made of it", snapshot.info.source});
    return kExitUnusable;
  }
  if (!output.path.empty()) return write_file(output, snapshot, complete, console);
  if (!device.has_value()) {
    console.complain(Error{ErrorCode::kNotFound, "no GPU in this snapshot", snapshot.info.source});
    return kExitUnusable;
  }
  const AllocatorStats stats = compute_allocator_stats(snapshot, facts, device);
  std::string text;
  if (output.is_summary) text += write_memory_summary(stats);
  if (output.is_stats) text += write_memory_stats_json(stats);
  return console.write(text) ? complete : kExitUnusable;
}

}  // namespace stepscope

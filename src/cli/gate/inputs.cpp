// One function a kind of file. Summaries of all traces are put together before runs are looked for in them, so that the
// ranks of a run may lie in files of their own.
#include "cli/gate/inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>

#include "cli/file_lists.h"
#include "cli/gate/step_list.h"
#include "cli/reading.h"
#include "cli/summarizing.h"
#include "fleet/summarize.h"
#include "fleet/summary_file.h"
#include "import/bytes/byte_source.h"
#include "import/importers.h"
#include "memory/facts.h"
#include "memory/snapshot_reader.h"
#include "rules/rules.h"

namespace stepscope {
namespace {

// Of what is read whole: listed times and summaries. A summary of 1,024 ranks has 256 MiB at most.
constexpr std::size_t kMostBytes = std::size_t{1} << 29;

Result<std::string> read_all(OpenedFile& file) {
  std::string text;
  std::string piece(std::size_t{1} << 20, '\0');
  while (true) {
    const auto got = read_fully(*file.source, piece.data(), piece.size());
    if (!got) return got.error();
    text.append(piece, 0, *got);
    if (*got < piece.size()) break;
    if (text.size() > kMostBytes)
      return Error{ErrorCode::kUnsupported, "too large for a list of step times", file.path};
  }
  Notes notes;
  file.source->add_notes(notes);
  if (notes.lost_anything()) return Error{ErrorCode::kDamaged, "its compressed stream is damaged or cut", file.path};
  return text;
}

FactOptions fact_options(const TraceOptions& options) {
  FactOptions facts;
  facts.steps.span_name = options.steps_name;
  facts.whole_file_window = options.window == "all";
  facts.device_number = options.device;
  return facts;
}

Error no_such_rank(const std::string& path, std::int64_t rank) {
  return {ErrorCode::kInvalidArgument, "no rank " + std::to_string(rank) + " in it", path};
}

Status add_traces(OpenedFile file, const GateInputOptions& options, std::vector<RunSummary>& parts) {
  const std::string path = file.path;
  auto traces = read_file(std::move(file), options.trace.threads);
  if (!traces) return traces.error();
  bool is_any = false;
  for (const Trace& trace : *traces) {
    if (options.trace.rank && trace.info.rank != options.trace.rank) continue;
    const std::string wrong = check_asked(trace, options.trace);
    if (!wrong.empty()) return Error{ErrorCode::kInvalidArgument, wrong, path};
    const Facts facts = compute_facts(trace, fact_options(options.trace));
    const RuleInput input{trace, facts};
    const std::vector<Finding> findings = find_all(input);
    parts.push_back({{summarize_trace(trace, facts, findings, write_verdict(input, findings))}, {}});
    is_any = true;
  }
  if (is_any) return Done{};
  return no_such_rank(path, options.trace.rank.value_or(0));
}

Status add_snapshot(OpenedFile file, GateInput& input) {
  const std::string path = file.path == "-" ? "standard input" : file.path;
  const auto snapshot = read_snapshot_file(std::move(file));
  if (!snapshot) return snapshot.error();
  const MemoryFacts facts = compute_memory_facts(*snapshot);
  if (!facts.main_device.has_value()) return Error{ErrorCode::kDamaged, "no device with memory in it", path};
  const DeviceMemoryFacts& device = facts.devices[facts.main_device];
  GateRun run;
  run.source = path;
  run.kind = GateTimeKind::kNone;
  run.allocated_peak_bytes = device.levels[static_cast<std::size_t>(MemoryLevelKind::kAllocated)].peak_bytes;
  run.reserved_peak_bytes = device.levels[static_cast<std::size_t>(MemoryLevelKind::kReserved)].peak_bytes;
  input.side.runs.push_back(std::move(run));
  input.has_snapshots = true;
  if (snapshot->notes.lost_anything()) input.side.losses.push_back(path + ": something of the snapshot was lost");
  if (device.contradiction_count > 0) {
    input.side.losses.push_back(path + ": its history contradicts itself, something was not recorded");
  }
  if (!device.has_history) {
    input.side.losses.push_back(path + ": it has no history, so its peak is not known");
  } else if (!device.is_whole_life) {
    input.side.warnings.push_back(path + ": the history begins late; a higher peak may lie before it");
  }
  return Done{};
}

void append(GateSide&& from, GateSide& into) {
  std::move(from.runs.begin(), from.runs.end(), std::back_inserter(into.runs));
  std::move(from.losses.begin(), from.losses.end(), std::back_inserter(into.losses));
  std::move(from.warnings.begin(), from.warnings.end(), std::back_inserter(into.warnings));
  if (!into.steps_withheld) into.steps_withheld = std::move(from.steps_withheld);
}

Status add_list(const std::string& path, const std::string& text, const GateInputOptions& options, GateInput& input,
                std::vector<RunSummary>& parts) {
  auto list = read_step_list(text, path == "-" ? "standard input" : path, options.ns_per_unit);
  if (!list) return list.error();
  for (RankSummary& summary : summarize_listed_runs(list->runs)) parts.push_back({{std::move(summary)}, {}});
  // Runs are taken from the list itself and not from its summary, which is a set: two commands may take equally long.
  append(std::move(*list), input.side);
  return Done{};
}

struct Parts {
  std::vector<RunSummary> recorded, listed;
};

Status add_file(const std::string& path, const GateInputOptions& options, GateInput& input, Parts& parts) {
  // Opened once: a pipe cannot be read again.
  auto opened = open_file(path, options.trace.threads);
  if (!opened) return opened.error();
  const std::string_view prefix = opened->prefix;
  if (is_summary(prefix)) {
    const auto bytes = read_all(*opened);
    if (!bytes) return bytes.error();
    auto run = read_summary(*bytes, path);
    if (!run) return run.error();
    const std::string wrong = check_asked_of_summary(path, *run, options.trace);
    if (!wrong.empty()) return Error{ErrorCode::kInvalidArgument, wrong, {}};
    if (options.trace.rank) {
      std::erase_if(run->ranks, [&](const RankSummary& rank) { return rank.rank != options.trace.rank; });
      if (run->ranks.empty()) return no_such_rank(path, *options.trace.rank);
    }
    parts.recorded.push_back(std::move(*run));
    return Done{};
  }
  const bool is_trace = looks_like_trace(prefix), is_snapshot_only = looks_like_snapshot(prefix) && !is_trace;
  // What is piped in and nothing else is most often meant for a list, whose reader says what is wrong with it.
  const bool is_unknown_input = path == "-" && !is_trace && !is_snapshot_only;
  if (looks_like_step_list(prefix) || is_unknown_input) {
    const auto text = read_all(*opened);
    return text ? add_list(path, *text, options, input, parts.listed) : Status(text.error());
  }
  if (is_snapshot_only) return add_snapshot(std::move(*opened), input);
  return add_traces(std::move(*opened), options, parts.recorded);
}

// A signature behind ? and a password before @ are for no log.
Error refuse_url(const std::string& url) {
  std::string shown = url.substr(0, url.find('?'));
  const std::size_t host = shown.find("://") + 3;
  const std::size_t user_end = shown.rfind('@', shown.find('/', host));
  if (user_end != std::string::npos && user_end >= host) shown.erase(host, user_end + 1 - host);
  const char* extra = shown.starts_with("s3") ? "[s3]" : shown.starts_with("gs") ? "[gcs]" : "";
  return {
      ErrorCode::kInvalidArgument,
      fmt::format("gate reads local files; make a summary first, stepscope summarize URL -o new.sss, which the Python "
                  "package does: pip install 'stepscope{}'",
                  extra),
      shown};
}

bool is_named_otherwise(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::exists(path, ignored)) return false;
  return (path.starts_with('@') && path.size() > 1) || path.find_first_of("*?[") != std::string::npos;
}

}  // namespace

Result<std::vector<std::string>> expand_gate_files(const std::vector<std::string>& arguments) {
  std::vector<std::string> paths;
  for (const std::string& argument : arguments) {
    std::error_code ignored;
    const bool is_url = argument.find("://") != std::string::npos && argument.find("://") > 0;
    if (is_url && !std::filesystem::exists(argument, ignored)) return refuse_url(argument);
    if (!is_named_otherwise(argument)) {
      paths.push_back(argument);
      continue;
    }
    FileList list = expand_files({argument}, FileKind::kTraces);
    if (!list.wrong.empty()) return Error{ErrorCode::kNotFound, list.wrong, {}};
    for (const std::string& file : list.files) {
      if (file.find("://") != std::string::npos) return refuse_url(file);
    }
    std::move(list.files.begin(), list.files.end(), std::back_inserter(paths));
  }
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    std::error_code error;
    if (path == "-" || !std::filesystem::is_directory(path, error)) {
      files.push_back(path);
      continue;
    }
    const std::size_t before = files.size();
    for (std::filesystem::directory_iterator at(path, error), end; !error && at != end; at.increment(error)) {
      std::error_code ignored;
      if (at->is_regular_file(ignored)) files.push_back(at->path().string());
    }
    if (error) return Error{ErrorCode::kIo, "the folder cannot be read: " + error.message(), path};
    if (files.size() == before) return Error{ErrorCode::kNotFound, "a folder without files", path};
    std::sort(files.begin() + static_cast<std::ptrdiff_t>(before), files.end());
  }
  return files;
}

namespace {

// The same file twice is no second run.
std::vector<std::string> without_repeats(const std::vector<std::string>& files, GateSide& side) {
  std::vector<std::string> kept;
  std::error_code ignored;
  for (const std::string& file : files) {
    const bool is_repeat = std::any_of(kept.begin(), kept.end(), [&](const std::string& other) {
      return file == other || std::filesystem::equivalent(file, other, ignored);
    });
    if (!is_repeat) {
      kept.push_back(file);
    } else {
      side.warnings.push_back(file + ": named more than once, counted once");
    }
  }
  return kept;
}

}  // namespace

Result<GateInput> read_gate_input(const std::vector<std::string>& files, const GateInputOptions& options) {
  GateInput input;
  Parts parts;
  for (const std::string& file : without_repeats(files, input.side)) {
    if (const Status added = add_file(file, options, input, parts); !added) return added.error();
  }
  GateSide recorded = gate_side(merge_summaries(parts.recorded));
  input.has_recordings = std::any_of(recorded.runs.begin(), recorded.runs.end(), [](const GateRun& run) {
    return run.kind == GateTimeKind::kGpuSteps || run.kind == GateTimeKind::kHostSteps;
  });
  append(std::move(recorded), input.side);
  drop_copied_runs(input.side);
  std::move(parts.listed.begin(), parts.listed.end(), std::back_inserter(parts.recorded));
  input.summary = merge_summaries(std::move(parts.recorded));
  return input;
}

}  // namespace stepscope

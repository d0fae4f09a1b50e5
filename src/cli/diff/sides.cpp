// One recording is in memory at a time: its summary is made and it goes.
#include "cli/diff/sides.h"

#include <algorithm>
#include <filesystem>

#include "cli/reading.h"
#include "fleet/summarize.h"
#include "fleet/summary_file.h"
#include "rules/rules.h"

namespace stepscope {
namespace {

namespace fs = std::filesystem;

FactOptions fact_options(const TraceOptions& options) {
  FactOptions facts;
  facts.steps.span_name = options.steps_name;
  facts.whole_file_window = options.window == "all";
  facts.device_number = options.device;
  return facts;
}

Result<RunSummary> read_as_summary(OpenedFile opened) {
  constexpr std::size_t kPieceBytes = std::size_t{1} << 20;
  std::string bytes;
  while (true) {
    const std::size_t before = bytes.size();
    bytes.resize(before + kPieceBytes);
    const Result<std::size_t> got = read_fully(*opened.source, bytes.data() + before, kPieceBytes);
    if (!got) return got.error();
    bytes.resize(before + *got);
    if (*got < kPieceBytes) return read_summary(bytes, opened.path);
  }
}

void add_summary(OpenedFile opened, const TraceOptions& options, DiffSide& side) {
  const std::string path = opened.path;
  auto run = read_as_summary(std::move(opened));
  if (!run) {
    side.run.unreadable.push_back({path, run.error().message});
    return;
  }
  for (RankSummary& rank : run->ranks) {
    if (!options.rank || rank.rank == options.rank) side.run.ranks.push_back(std::move(rank));
  }
  side.run.unreadable.insert(side.run.unreadable.end(), run->unreadable.begin(), run->unreadable.end());
}

void add_file(const std::string& path, const TraceOptions& options, DiffSide& side) {
  auto opened = open_file(path, options.threads);
  if (!opened) {
    side.run.unreadable.push_back({path, opened.error().message});
    return;
  }
  if (is_summary(opened->prefix)) return add_summary(std::move(*opened), options, side);
  auto traces = read_file(std::move(*opened), options.threads);
  if (!traces) {
    side.run.unreadable.push_back({path, traces.error().message});
    return;
  }
  for (const Trace& trace : *traces) {
    if (options.rank && trace.info.rank != options.rank) continue;
    if (std::string wrong = check_asked(trace, options); !wrong.empty()) {
      side.wrong = path + ": " + wrong;
      return;
    }
    const Facts facts = compute_facts(trace, fact_options(options));
    const RuleInput input{trace, facts};
    const std::vector<Finding> findings = find_all(input);
    side.run.ranks.push_back(summarize_trace(trace, facts, findings, write_verdict(input, findings)));
  }
}

}  // namespace

Result<std::vector<std::string>> expand_folders(const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    std::error_code failed;
    if (path == "-" || !fs::is_directory(path, failed)) {
      files.push_back(path);
      continue;
    }
    std::vector<std::string> inside;
    for (fs::directory_iterator at(path, failed), end; !failed && at != end; at.increment(failed)) {
      std::error_code ignored;
      const bool is_hidden = at->path().filename().string().starts_with(".");
      if (!is_hidden && at->is_regular_file(ignored)) inside.push_back(at->path().string());
    }
    if (failed) return Error{ErrorCode::kIo, failed.message(), path};
    if (inside.empty()) return Error{ErrorCode::kNotFound, "the folder has no files", path};
    std::sort(inside.begin(), inside.end());
    files.insert(files.end(), inside.begin(), inside.end());
  }
  return files;
}

SnapshotShare find_snapshots(const std::vector<std::string>& files) {
  std::size_t count = 0;
  for (const std::string& path : files) {
    if (!is_regular_file(path)) continue;  // a pipe can be read only once
    const auto opened = open_file(path, 1);
    count += opened && is_snapshot(*opened) ? 1 : 0;
  }
  if (count == 0) return SnapshotShare::kNone;
  return count == files.size() ? SnapshotShare::kAll : SnapshotShare::kSome;
}

DiffSide read_diff_side(const std::vector<std::string>& files, const TraceOptions& options) {
  DiffSide side;
  side.files = files;
  for (const std::string& path : files) {
    add_file(path, options, side);
    if (!side.wrong.empty()) break;
  }
  return side;
}

}  // namespace stepscope

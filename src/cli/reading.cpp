// Progress is drawn at most ten times a second and wiped when reading ends, so it never stands in a log.
#include "cli/reading.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

#include "analyze/forward_time.h"
#include "analyze/recording_words.h"
#include "base/parallel.h"
#include "fleet/summary_file.h"
#include "import/importers.h"
#include "memory/address_map.h"
#include "memory/snapshot_reader.h"
#include "memory/trace_snapshot.h"
#include "report/asked.h"
#include "report/numbers.h"
#include "report/text.h"

namespace stepscope {
namespace {

// Enough to tell a trace from a snapshot.
constexpr std::size_t kPrefixBytes = 16 << 10;

class ProgressLine {
 public:
  explicit ProgressLine(std::string name) : name_(std::move(name)) {}
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  ~ProgressLine() {
    if (drawn_) draw("\r\x1b[K");
  }

  void update(std::uint64_t bytes_read, std::optional<std::uint64_t> bytes_total) {
    using Seconds = std::chrono::duration<double>;
    const auto now = std::chrono::steady_clock::now();
    const double elapsed = Seconds(now - start_).count();
    // Half a second: less is over before it can be read.
    if (elapsed < 0.5 || Seconds(now - last_).count() < 0.1) return;
    last_ = now;
    const double megabytes = static_cast<double>(bytes_read) / 1e6;
    std::string text = fmt::format("reading {}: {:.0f}", name_, megabytes);
    if (bytes_total && *bytes_total > 0) {
      const double ratio = static_cast<double>(bytes_read) / static_cast<double>(*bytes_total);
      text += fmt::format(" of {:.0f} MB ({:.0f} %)", static_cast<double>(*bytes_total) / 1e6, ratio * 100);
    } else {
      text += " MB";
    }
    draw("\r" + text + fmt::format(", {:.0f} MB/s\x1b[K", megabytes / elapsed));
    drawn_ = true;
  }

 private:
  static void draw(const std::string& text) {
    // Progress that cannot be shown is no reason to stop.
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
  }

  std::string name_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point last_ = start_;
  bool drawn_ = false;
};

std::string shown_name(const std::string& path) { return path == "-" ? "standard input" : path; }

// A command that reads traces, and is given a summary of some, says so and names what takes it.
std::optional<Error> refuse_summary(const OpenedFile& file) {
  if (!is_summary(file.prefix)) return std::nullopt;
  const std::string again = is_regular_file(file.path) ? file.path : "FILE";
  return Error{ErrorCode::kUnknownFormat, "a summary of ranks, not a trace; type: stepscope report " + again,
               shown_name(file.path)};
}

}  // namespace

bool is_regular_file(const std::string& path) {
  std::error_code ignored;
  return path != "-" && std::filesystem::is_regular_file(path, ignored);
}

Result<OpenedFile> open_file(const std::string& path, unsigned threads) {
  auto opened = open_bytes(path, (threads == 0 ? available_threads() : threads) > 1);
  if (!opened) return opened.error();
  std::string prefix(kPrefixBytes, '\0');
  const auto got = read_fully(**opened, prefix.data(), prefix.size());
  if (!got) return got.error();
  prefix.resize(*got);
  return OpenedFile{path, prefix, put_back(prefix, std::move(*opened))};
}

bool is_snapshot(const OpenedFile& file) { return looks_like_snapshot(file.prefix); }

Result<std::vector<Trace>> read_file(OpenedFile file, unsigned threads) {
  if (auto refused = refuse_summary(file)) return *std::move(refused);
  ReadOptions options;
  options.threads = threads;
  const std::string name = shown_name(file.path);
  ProgressLine line(clean_text(name));
  if (Console::stderr_is_terminal()) {
    options.progress = [&line](std::uint64_t read, std::optional<std::uint64_t> total) { line.update(read, total); };
  }
  auto read = read_traces(std::move(file.source), name, options);
  if (!read && is_snapshot(file)) {  // asked only now: most that looks like one is a trace all the same
    const std::string again = is_regular_file(file.path) ? file.path : "FILE";
    return Error{ErrorCode::kUnknownFormat, "a memory snapshot, not a trace; type: stepscope memory " + again, name};
  }
  return read;
}

Result<std::vector<Trace>> read_file(const std::string& path, unsigned threads) {
  auto opened = open_file(path, threads);
  if (!opened) return opened.error();
  return read_file(std::move(*opened), threads);
}

namespace {

// The recording with memory of a GPU; of several the first.
Result<MemorySnapshot> read_trace_as_snapshot(OpenedFile file) {
  const std::string path = file.path, name = shown_name(path);
  const auto traces = read_file(std::move(file), available_threads());
  if (!traces) return traces.error();
  Result<MemorySnapshot> snapshot = Error{ErrorCode::kNotFound, "no recording in it", name};
  for (const Trace& trace : *traces) {
    snapshot = snapshot_from_trace(trace);
    if (!snapshot && trace.memory_events.empty()) {
      snapshot = Error{ErrorCode::kNotFound, no_memory_events_words(trace), name};
    }
    if (!snapshot) continue;
    snapshot->notes.merge(trace.notes);
    snapshot->info.forward_gpu_ratio = compute_forward_gpu_ratio(trace);
    return snapshot;
  }
  Error none = snapshot.error();
  none.message += "; its other answers: stepscope report " + (is_regular_file(path) ? path : "FILE");
  return none;
}

}  // namespace

Result<MemorySnapshot> read_snapshot_file(OpenedFile file) {
  if (auto refused = refuse_summary(file)) return *std::move(refused);
  const bool is_trace = looks_like_trace(file.prefix);
  if (is_trace && !is_snapshot(file)) return read_trace_as_snapshot(std::move(file));
  const std::string name = shown_name(file.path);
  ProgressLine line(clean_text(name));
  const bool shows_progress = Console::stderr_is_terminal();
  ByteSource& source = *file.source;
  auto snapshot = read_snapshot(name, [&](char* into, std::size_t size) {
    if (shows_progress) line.update(source.stored_bytes_read(), source.stored_bytes_total());
    return source.read(into, size);
  });
  if (snapshot) {
    source.add_notes(snapshot->notes);
    return snapshot;
  }
  if (!is_trace || !is_regular_file(file.path)) return snapshot.error();
  auto again = open_file(file.path);  // begins like either
  return again ? read_trace_as_snapshot(std::move(*again)) : again.error();
}

Result<MemorySnapshot> read_snapshot_file(const std::string& path) {
  auto opened = open_file(path);
  if (!opened) return opened.error();
  return read_snapshot_file(std::move(*opened));
}

std::string apply_map_beside(const std::string& path, const MemorySnapshot& snapshot, MemoryFacts& facts) {
  if (path == "-" || snapshot.info.format == kTraceSnapshotFormat) return "";
  const std::string beside = address_map_path(path);
  std::ifstream file(beside, std::ios::binary);
  if (!file) return "";
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto map = read_address_map(text, beside);
  if (!map) return map.error().to_string();
  (void)apply_address_map(*map, snapshot, facts);
  return "";
}

std::string check_steps_name(const MemorySnapshot& snapshot, const MemoryFacts& facts, const std::string& name) {
  if (name.empty()) return "";
  for (const MemorySteps& steps : facts.steps.raw()) {
    if (!steps.moments.empty()) return "";
  }
  std::map<std::string_view, std::int64_t> counts;
  for (const StringId annotation : snapshot.annotations.name.raw()) ++counts[snapshot.text(annotation)];
  std::string message = fmt::format("no annotation marks steps as `{}`", name);
  if (counts.empty()) return message + "; the file has no annotations";
  std::size_t named = 0;
  constexpr std::size_t kMostNamed = 8;
  for (const auto& [annotation, count] : counts) {
    if (named == kMostNamed) break;
    message += (named++ == 0 ? "; the file has: " : ", ") + shorten_end(clean_text(annotation), 40);
  }
  return message;
}

std::vector<std::int64_t> ranks_of(const std::vector<Trace>& traces) {
  std::vector<std::int64_t> ranks;
  for (const Trace& trace : traces) {
    if (trace.info.rank) ranks.push_back(*trace.info.rank);
  }
  return ranks;
}

std::string check_asked(const Trace& trace, const TraceOptions& options) {
  return check_asked(trace, options.steps_name, options.device);
}

int exit_code_of(const Trace& trace) { return trace.notes.lost_anything() ? kExitPartial : kExitComplete; }

OneTrace read_one_trace(const std::string& path, const TraceOptions& options, Console& console) {
  auto read = read_file(path, options.threads);
  if (!read) {
    console.complain(read.error());
    return {std::nullopt, kExitUnusable};
  }
  std::vector<Trace>& traces = *read;
  auto chosen = traces.begin();
  if (options.rank) {
    chosen = std::find_if(traces.begin(), traces.end(), [&](const Trace& t) { return t.info.rank == options.rank; });
  }
  if (chosen == traces.end()) {
    const auto ranks = ranks_of(traces);
    const std::string present = ranks.empty() ? "the file names none" : "it has: " + list_numbers(ranks);
    console.complain(
        Error{ErrorCode::kInvalidArgument, fmt::format("no rank {}; {}", options.rank.value_or(0), present), path});
    return {std::nullopt, kExitUsage};
  }
  if (traces.size() > 1 && !options.rank) {
    console.remark(
        fmt::format("{}: {} recordings in one file; this is the first, --rank N chooses another", path, traces.size()));
  }
  const std::string wrong = check_asked(*chosen, options);
  if (!wrong.empty()) {
    console.complain(Error{ErrorCode::kInvalidArgument, wrong, path});
    return {std::nullopt, kExitUsage};
  }
  OneTrace one;
  one.exit_code = exit_code_of(*chosen);
  one.trace = std::move(*chosen);
  return one;
}

}  // namespace stepscope

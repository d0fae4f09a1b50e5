// stepscope memory: what a snapshot of PyTorch's allocator held at its peak, by which line, and what would have avoided
// an out-of-memory.
#include <fmt/format.h>

#include <algorithm>

#include "cli/memory/snapshot_output.h"
#include "cli/options.h"
#include "cli/reading.h"
#include "cli/units.h"
#include "memory/allocator_what_if.h"
#include "memory/facts.h"
#include "memory/trace_snapshot.h"
#include "report/memory_report.h"
#include "report/text.h"

namespace stepscope {
namespace {

constexpr const char* kExamples =
    "Examples:\n"
    "  stepscope memory snapshot.pickle\n"
    "  stepscope memory snapshot.pickle --at oom --by stack    held when it failed\n"
    "  stepscope memory snapshot.pickle --what-if              settings, ranked\n"
    "  stepscope memory snapshot.pickle --what-if expandable_segments:True \\\n"
    "                                   --capacity 80GiB\n"
    "  stepscope memory before.pickle --diff after.pickle      what holds more\n"
    "  stepscope memory snapshot.pickle --folded | flamegraph.pl > memory.svg\n"
    "  stepscope memory snapshot.pickle --json | jq '.devices[0].allocated'\n"
    "  stepscope memory snapshot.pickle -o newest.pickle --max-entries 10000\n\n"
    "--by: line, stack, category, span, module, device, stream or pool. --what-if\n"
    "takes what PYTORCH_CUDA_ALLOC_CONF takes, and may be given several times.\n\n"
    "A snapshot: stepscope run --memory; or by hand _record_memory_history() of\n"
    "torch.cuda.memory before the model is made, then its _dump_snapshot(FILE). What\n"
    "it holds is never run. Captures and traces with memory events are answered too,\n"
    "without --what-if. Bytes of held tensors are those requested.\n\n"
    "Exit status: 0 read whole, 2 wrong usage, 3 nothing usable, 4 something lost.\n";

const std::vector<std::string> kGroupings = {"line", "stack", "category", "span", "module", "device", "stream", "pool"};

struct Request {
  std::string file, at, by, other, steps_name;
  std::vector<std::string> what_ifs;
  bool is_what_if_asked = false;
  std::optional<double> capacity_bytes;
  std::optional<std::int64_t> device;
  std::optional<std::size_t> top;
  bool lifetimes = false, json = false, folded = false;
  SnapshotOutput output;
  StyleOptions style;
};

void add_options(CLI::App& app, Request& request, CLI::Option*& what_if) {
  app.add_option("FILE", request.file, "snapshot, capture or trace; gzipped or not")->type_name("");
  auto* at = app.add_option("--at", request.at, "peak (default), oom, start, end, 2.5s, '#123'")->type_name("WHEN");
  auto* by = app.add_option("--by", request.by, "line (default), or another word of the list below")
                 ->type_name("WHAT")
                 ->check(one_of(kGroupings));
  what_if = app.add_option("--what-if", request.what_ifs, "under other allocator settings; alone: a ranked table")
                ->type_name("[CONF]")
                ->expected(0, 1)
                ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_option("--capacity", request.capacity_bytes, "what the process may hold, for --what-if: 80GiB")
      ->type_name("BYTES")
      ->transform(byte_count());
  auto* lifetimes = app.add_flag("--lifetimes", request.lifetimes, "bytes x time, and what was never freed");
  auto* diff = app.add_option("--diff", request.other, "what another snapshot holds more and less")->type_name("OTHER");
  app.add_option("--device", request.device, "GPU to report on; else the one that worked most")
      ->type_name("N")
      ->check(whole_number(0, 65535));
  app.add_option("--steps", request.steps_name, "the annotation that is one step, if not found")->type_name("NAME");
  app.add_option("--top", request.top, "rows of each table (10)")
      ->type_name("N")
      ->check(whole_number(0, 1'000'000'000));
  auto* json = app.add_flag("--json", request.json, "a versioned document (docs/formats/memory.md)");
  app.add_flag("--folded", request.folded, "stacks and bytes, for flame graphs")
      ->excludes(json)
      ->excludes(by)
      ->excludes(diff)
      ->excludes(what_if)
      ->excludes(lifetimes);
  lifetimes->excludes(what_if)->excludes(diff)->excludes(at);  // of the whole history, not of a moment
  add_snapshot_output(app, request.output);
  add_style_options(app, request.style);
  app.footer(kExamples);
}

// `--what-if FILE` reads as a CONF without a FILE; every CONF has a colon but two.
void give_back_file(Request& request) {
  if (!request.file.empty() || request.what_ifs.empty()) return;
  const std::string& last = request.what_ifs.back();
  const bool is_conf = last.empty() || last.find(':') != std::string::npos || last == "default" || last == "no_caching";
  if (is_conf) return;
  request.file = last;
  request.what_ifs.pop_back();
}

Result<MemoryReportOptions> options_of(const Request& request) {
  MemoryReportOptions options;
  options.at = request.at;
  if (!request.by.empty()) options.by = find_live_grouping(request.by);
  options.device_number = request.device;
  if (request.capacity_bytes) options.capacity_bytes = static_cast<std::int64_t>(*request.capacity_bytes);
  options.table_row_count = request.top.value_or(options.table_row_count);
  for (const std::string& conf : request.what_ifs) {
    if (conf.empty()) continue;
    const auto config = conf == "default" ? Result<AllocatorConfig>(AllocatorConfig{}) : parse_allocator_config(conf);
    if (!config) return Error{config.error().code, fmt::format("--what-if {}: {}", conf, config.error().message), {}};
    options.what_ifs.emplace_back(conf, *config);
  }
  options.lifetimes = request.lifetimes;
  options.rank_settings = request.is_what_if_asked && options.what_ifs.empty();
  if (request.capacity_bytes && !request.is_what_if_asked) {
    return Error{ErrorCode::kInvalidArgument, "--capacity needs --what-if", {}};
  }
  return options;
}

int complain(const Error& error, Console& console) {
  console.complain(error);
  return error.code == ErrorCode::kInvalidArgument ? kExitUsage : kExitUnusable;
}

int print(const std::string& text, int exit_code, Console& console) {
  return console.write(text) ? exit_code : kExitUnusable;
}

int exit_code_of(ReportStatus status) {
  if (status == ReportStatus::kComplete) return kExitComplete;
  return status == ReportStatus::kPartial ? kExitPartial : kExitUnusable;
}

int print_folded(const MemorySnapshot& snapshot, const MemoryFacts& facts, const MemoryReportOptions& options,
                 Console& console) {
  if (snapshot.notes.unsound()) {
    return complain({ErrorCode::kDamaged, "no number of this file is sound; see stepscope memory without --folded",
                     snapshot.info.source},
                    console);
  }
  const auto text = write_memory_folded(snapshot, facts, options);
  if (!text) return complain(text.error(), console);
  if (text->empty()) {
    return complain({ErrorCode::kNotFound, "nothing is held at that moment", snapshot.info.source}, console);
  }
  return print(*text, snapshot.notes.lost_anything() ? kExitPartial : kExitComplete, console);
}

// Adds the difference; the status is that of the worse file.
Status add_diff(const Request& request, const MemorySnapshot& snapshot, const MemoryFacts& facts,
                const MemoryReportOptions& options, MemoryReport& report) {
  const auto other = read_snapshot_file(request.other);
  if (!other) return other.error();
  for (const MemorySnapshot* each : {&snapshot, &*other}) {
    if (!each->notes.unsound()) continue;
    return Error{ErrorCode::kDamaged, "no number of this file is sound, so nothing can be compared", each->info.source};
  }
  const MemoryFacts other_facts = compute_memory_facts(*other, {request.steps_name});
  auto diff = build_memory_diff(snapshot, facts, *other, other_facts, options);
  if (!diff) return diff.error();
  report.diff = std::move(*diff);
  if (other->notes.lost_anything()) report.status = ReportStatus::kPartial;
  return Done{};
}

// What is written instead of the report.
int write_output(const Request& request, const MemorySnapshot& snapshot, Console& console) {
  const int complete = snapshot.notes.lost_anything() ? kExitPartial : kExitComplete;
  const MemoryFacts facts =
      request.output.path.empty() ? compute_memory_facts(snapshot, {request.steps_name}) : MemoryFacts();
  SnapshotDeviceId device = facts.main_device;
  for (const SnapshotDeviceId id : snapshot.devices.ids().ids()) {
    if (request.device == snapshot.devices.number[id]) device = id;
  }
  if (request.device && device.has_value() && snapshot.devices.number[device] != *request.device) {
    return complain({ErrorCode::kInvalidArgument, fmt::format("--device: no GPU {} in this snapshot", *request.device),
                     request.file},
                    console);
  }
  return write_snapshot_output(request.output, snapshot, facts, device, complete, console);
}

int run_on(const Request& request, const MemoryReportOptions& options, Console& console) {
  const auto snapshot = read_snapshot_file(request.file);
  if (!snapshot) {
    console.complain(snapshot.error());
    return kExitUnusable;
  }
  if (request.output.is_asked()) {
    if (snapshot->info.format == kTraceSnapshotFormat) {
      return complain({ErrorCode::kUnsupported,
                       "a trace or capture: only a snapshot of PyTorch can be written or summed up", request.file},
                      console);
    }
    return write_output(request, *snapshot, console);
  }
  MemoryFacts facts = compute_memory_facts(*snapshot, {request.steps_name});
  if (const std::string unused = apply_map_beside(request.file, *snapshot, facts); !unused.empty()) {
    console.complain(clean_text(unused) + "; categories are inferred");
  }
  const std::string wrong = check_steps_name(*snapshot, facts, request.steps_name);
  if (!wrong.empty()) return complain({ErrorCode::kInvalidArgument, wrong, request.file}, console);
  if (request.folded) return print_folded(*snapshot, facts, options, console);
  auto report = build_memory_report(*snapshot, facts, options);
  if (!report) return complain(report.error(), console);
  if (!request.other.empty()) {
    if (const Status done = add_diff(request, *snapshot, facts, options, *report); !done) {
      return complain(done.error(), console);
    }
  }
  const std::string text = request.json
                               ? write_memory_json(*report)
                               : write_memory_text(*report, Console::style(request.style.colour, request.style.width));
  return print(text, exit_code_of(report->status), console);
}

}  // namespace

int run_memory(const Arguments& arguments, Console& console) {
  CLI::App app("What was allocated at the peak, by which line, what would have avoided an OOM.", "stepscope memory");
  Request request;
  CLI::Option* what_if = nullptr;
  add_options(app, request, what_if);
  if (const auto ended = parse_arguments(app, arguments, console)) return *ended;
  request.is_what_if_asked = what_if->count() > 0;
  if (request.at.empty() && app.count("--at") > 0) {
    console.complain("--at: no moment is named; give peak, oom, start, end, '#123' or a time such as 2.5s");
    return kExitUsage;
  }
  give_back_file(request);
  const auto options = options_of(request);
  if (!options || request.file.empty()) {
    console.complain((options ? std::string("FILE is required") : options.error().message) +
                     "\nType `stepscope memory --help` for the options and examples.");
    return kExitUsage;
  }
  const std::string wrong = check_snapshot_output(app, request.output, request.file);
  if (!wrong.empty()) {
    console.complain(wrong);
    return kExitUsage;
  }
  return run_on(request, *options, console);
}

}  // namespace stepscope

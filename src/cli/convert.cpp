// stepscope convert: a recording of any format that is read, as a file of a format that is written.
//
// The format is the ending of the name that is asked for, as with every converter, or --to; a name that says none is
// refused before a long file is read. A damaged file converts to a whole one that says in itself what was lost.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <limits>
#include <system_error>

#include "cli/convert/formats.h"
#include "cli/options.h"
#include "cli/reading.h"
#include "export/text_sink.h"
#include "report/text.h"

namespace stepscope {
namespace {

constexpr const char* kExamples =
    "Examples:\n"
    "  stepscope convert trace.json -o trace.json.gz\n"
    "  stepscope convert damaged.json -o whole.json      opens in viewers again\n"
    "  stepscope convert both_ranks.json --rank 1 -o rank1.json.gz\n"
    "  stepscope convert run.stepscope -o run.pftrace    a capture, for Perfetto\n"
    "  stepscope convert trace.json.gz -o small.stepscope\n"
    "  stepscope convert trace.json -o tables/           every table as CSV\n"
    "  stepscope convert trace.json -o - --to csv --table kernels | head\n"
    "  stepscope convert trace.json -o memory.html --to memory-page\n\n";

constexpr const char* kExitStatus =
    "Each ending may be followed by .gz. - is standard output (chrome without --to).\n"
    "chrome and capture read back as the same trace; docs/formats has each format.\n\n"
    "Exit status: 0 read whole, 2 wrong usage, 3 nothing usable or not written,\n"
    "             4 something was lost in reading; the new file says so too.\n";

std::string help_footer() {
  std::string text = kExamples;
  text += "Written, by --to or by the ending of the file:\n";
  for (const ConvertFormat& format : convert_formats()) {
    text += fmt::format("  {:<16} {}\n      {}\n", format.name, format.endings, format.help);
  }
  return text + "\n" + kExitStatus;
}

struct Request {
  std::string input, output, to, table;
  TraceOptions trace;
};

bool is_folder(const std::string& path) {
  std::error_code ignored;
  return path.ends_with('/') || std::filesystem::is_directory(path, ignored);
}

// Null: the name says none.
const ConvertFormat* format_of(const Request& request) {
  if (!request.to.empty()) return find_format(request.to);
  if (is_folder(request.output) || (!request.table.empty() && request.output == "-")) return find_format("csv");
  if (request.output == "-") return find_format("chrome");
  return format_of_path(request.output);
}

bool is_same_file(const std::string& a, const std::string& b) {
  std::error_code ignored;
  return std::filesystem::equivalent(a, b, ignored);
}

std::string list_formats() {
  std::string names;
  for (const ConvertFormat& format : convert_formats())
    names += fmt::format("{}{}", names.empty() ? "" : ", ", format.name);
  return names;
}

std::string wrong_table(const std::string& table) {
  const std::vector<std::string_view> tables = csv_tables();
  if (std::find(tables.begin(), tables.end(), table) != tables.end()) return "";
  const std::string_view nearest = nearest_word(table, tables);
  return fmt::format("--table: no table `{}`{}; tables: {}", table,
                     nearest.empty() ? "" : fmt::format("; did you mean {}?", nearest), fmt::join(tables, ", "));
}

// What is wrong with the arguments; empty if nothing.
std::string check_request(const Request& request) {
  const ConvertFormat* format = format_of(request);
  if (!request.to.empty() && format == nullptr)
    return fmt::format("--to: no format `{}`; formats: {}", request.to, list_formats());
  if (format == nullptr) {
    return fmt::format("{}: no format is known by this name; `--help` lists endings, --to takes: {}", request.output,
                       list_formats());
  }
  const bool is_csv = format->name == "csv";
  // Tables and stacks are lines to be read.
  if (request.output == "-" && !is_csv && !format->name.starts_with("folded")) {
    if (std::string wrong = Console::refuse_terminal("-o"); !wrong.empty()) return wrong;
  }
  if (!is_csv && !request.table.empty()) return "--table: only CSV has tables";
  if (!is_csv && is_folder(request.output)) return fmt::format("{}: is a folder", request.output);
  if (!request.table.empty()) {
    if (std::string wrong = wrong_table(request.table); !wrong.empty()) return wrong;
  } else if (is_csv && !is_folder(request.output)) {
    return fmt::format("--table: a CSV file has one table, say which: {}; or name a folder (DIR/) for all",
                       fmt::join(csv_tables(), ", "));
  }
  if (request.input != "-" && request.output != "-" && !is_folder(request.output) &&
      is_same_file(request.input, request.output)) {
    return fmt::format("{}: is the file to be read; name another, since not everything in it is kept", request.output);
  }
  return "";
}

void tell_losses(const std::string& file, const Trace& trace, Console& console) {
  for (const Note& note : trace.notes.all()) {
    if (note.severity < NoteSeverity::kLost) continue;
    const std::string count = note.count == 1 ? "" : fmt::format(" ({} times)", note.count);
    console.remark(fmt::format("{}: {}{}: {}", file, note_kind_name(note.kind), count, note.example));
  }
}

using Writer = std::function<Status(const TextSink&)>;

// Standard output whose reader has gone ends quietly.
Status write_one(const std::string& output, const Writer& write, Console& console) {
  if (output != "-") return write_text_file(output, write);
  bool has_ended = false;
  Status written = write([&](std::string_view piece) -> Status {
    if (console.write(piece)) return Done{};
    has_ended = true;
    return Error{ErrorCode::kIo, "standard output ended", ""};
  });
  if (!written && !has_ended) console.complain(written.error().to_string());
  return written;
}

Status write_folder(const Trace& trace, const ConvertRequest& request, const std::string& folder, Console& console) {
  std::error_code wrong;
  std::filesystem::create_directories(folder, wrong);
  if (wrong) return Error{ErrorCode::kIo, "cannot be made: " + wrong.message(), folder};
  for (const std::string_view table : csv_tables()) {
    const std::string path = (std::filesystem::path(folder) / (std::string(table) + ".csv")).string();
    Status written = write_one(
        path, [&](const TextSink& sink) { return write_csv(trace, table, request, sink); }, console);
    if (!written) return written;
  }
  return Done{};
}

// False: said on stderr, unless the reader of a pipe has just gone.
bool write(const Trace& trace, const Request& request, Console& console) {
  const ConvertFormat& format = *format_of(request);
  const ConvertRequest what{std::filesystem::path(request.input).filename().string(), request.trace.device,
                            request.trace.steps_name};
  const bool is_csv = format.name == "csv";
  Status written = Done{};
  if (is_csv && request.table.empty()) {
    written = write_folder(trace, what, request.output, console);
  } else {
    written = write_one(
        request.output,
        [&](const TextSink& sink) {
          return is_csv ? write_csv(trace, request.table, what, sink) : format.write(trace, what, sink);
        },
        console);
  }
  if (!written && request.output != "-") console.complain(written.error().to_string());
  return written.has_value();
}

}  // namespace

int run_convert(const Arguments& arguments, Console& console) {
  CLI::App app("A trace as another file.", "stepscope convert");
  Request request;
  add_file_option(app, request.input);
  app.add_option("-o,--output", request.output, "file to write; its ending says the format")
      ->required()
      ->type_name("FILE");
  app.add_option("--to", request.to, "format, if the ending does not say it")->type_name("FORMAT");
  app.add_option("--table", request.table, "of CSV: operators, kernels, steps, gpu_events, ...")->type_name("NAME");
  app.add_option("--steps", request.trace.steps_name, "of the steps table: the span that is one step")
      ->type_name("NAME");
  app.add_option("--device", request.trace.device, "of timelines and steps; else the busiest")
      ->type_name("N")
      ->check(whole_number(0, std::numeric_limits<std::int32_t>::max()));
  add_rank_and_threads(app, request.trace);
  app.footer(help_footer());
  if (const auto ended = parse_arguments(app, arguments, console)) return *ended;
  if (const std::string wrong = check_request(request); !wrong.empty()) {
    console.complain(wrong);
    return kExitUsage;
  }
  const OneTrace one = read_one_trace(request.input, request.trace, console);
  if (!one.trace) return one.exit_code;
  tell_losses(request.input, *one.trace, console);
  return write(*one.trace, request, console) ? one.exit_code : kExitUnusable;
}

}  // namespace stepscope

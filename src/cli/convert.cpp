// stepscope convert: a recording of any format that is read, as a file of a format that is written.
//
// The format is the suffix of the name that is asked for, as with every converter; a name that says none is refused
// before a long file is read. A damaged file converts to a whole one that says in itself what was lost.
#include <fmt/format.h>

#include <filesystem>

#include "cli/options.h"
#include "cli/reading.h"
#include "export/capture_trace.h"
#include "export/chrome_trace.h"

namespace stepscope {
namespace {

constexpr const char* kExamples =
    "Examples:\n"
    "  stepscope convert trace.json -o trace.json.gz\n"
    "  stepscope convert damaged.json -o whole.json      opens in viewers again\n"
    "  stepscope convert both_ranks.json --rank 1 -o rank1.json.gz\n"
    "  stepscope convert run.stepscope -o run.json.gz    a capture, for other tools\n"
    "  stepscope convert trace.json.gz -o small.stepscope\n"
    "  stepscope convert trace.json.gz -o - | less\n\n"
    "Written: .json and .json.gz (Chrome trace JSON as PyTorch writes it: opens in\n"
    "Perfetto, chrome://tracing, HTA, TensorBoard; docs/formats/chrome-trace.md);\n"
    ".stepscope (our own, smallest and read fastest; docs/formats/capture.md);\n"
    "- is JSON on standard output. Either one reads back as the same trace.\n\n"
    "Exit status: 0 read whole, 2 wrong usage, 3 nothing usable or not written,\n"
    "             4 something was lost in reading; the new file says so too.\n";

bool is_capture(std::string_view path) { return path.ends_with(".stepscope"); }

bool is_chrome_json(std::string_view path) {
  return path == "-" || path.ends_with(".json") || path.ends_with(".json.gz");
}

bool is_same_file(const std::string& a, const std::string& b) {
  std::error_code ignored;
  return std::filesystem::equivalent(a, b, ignored);
}

// What is wrong with the arguments; empty if nothing.
std::string check_paths(const std::string& input, const std::string& output) {
  if (!is_chrome_json(output) && !is_capture(output))
    return fmt::format("{}: no format is known by this name; written are .json, .json.gz and .stepscope", output);
  if (input != "-" && output != "-" && is_same_file(input, output)) {
    return fmt::format("{}: is the file to be read; name another, since not everything in it is kept", output);
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

// False: said on stderr, unless the reader of a pipe has just gone.
bool write(const Trace& trace, const std::string& output, Console& console) {
  if (output == "-") {
    return write_chrome_trace(trace,
                              [&](std::string_view piece) -> Status {
                                if (!console.write(piece)) return Error{ErrorCode::kIo, "standard output ended", ""};
                                return Done{};
                              })
        .has_value();
  }
  const Status written =
      is_capture(output) ? write_capture_file(trace, output) : write_chrome_trace_file(trace, output);
  if (!written) console.complain(written.error().to_string());
  return written.has_value();
}

}  // namespace

int run_convert(const Arguments& arguments, Console& console) {
  CLI::App app("A trace as another file.", "stepscope convert");
  std::string input, output;
  TraceOptions options;
  add_file_option(app, input);
  app.add_option("-o,--output", output, "file to write: .json, .json.gz, .stepscope, - (JSON)")
      ->required()
      ->type_name("FILE");
  add_rank_and_threads(app, options);
  app.footer(kExamples);
  if (const auto ended = parse_arguments(app, arguments, console)) return *ended;
  if (const std::string wrong = check_paths(input, output); !wrong.empty()) {
    console.complain(wrong);
    return kExitUsage;
  }
  const OneTrace one = read_one_trace(input, options, console);
  if (!one.trace) return one.exit_code;
  tell_losses(input, *one.trace, console);
  return write(*one.trace, output, console) ? one.exit_code : kExitUnusable;
}

}  // namespace stepscope

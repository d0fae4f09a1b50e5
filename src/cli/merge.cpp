// stepscope merge: summaries of parts of a run as one. Merging what was merged before changes nothing, so any tree of
// machines will do.
#include <fmt/format.h>

#include "cli/file_lists.h"
#include "cli/gathering.h"
#include "cli/summarizing.h"
#include "cli/summary_output.h"

namespace stepscope {
namespace {

constexpr const char* kExamples =
    "Examples:\n"
    "  stepscope merge rank*.sss -o run.sss\n"
    "  stepscope merge parts/ -o run.sss                all *.sss in the folder\n"
    "  stepscope merge 'node*/part.sss' -o run.sss\n"
    "  stepscope merge @parts.txt -o - | stepscope report -\n\n"
    "The order of the files does not matter, and a rank that stands in two of them is\n"
    "taken once.\n\n"
    "Exit status: 0 all merged, 2 wrong usage, 3 no file usable or nothing written,\n"
    "             4 a file was unusable (the summary names it), or a rank in one of\n"
    "               them had lost something or has times that cannot be trusted.\n";

}  // namespace

int run_merge(const Arguments& arguments, Console& console) {
  CLI::App app("Summaries of a run's ranks as one file.", "stepscope merge");
  SummarizeRequest request;
  request.only_summaries = true;
  std::string output;
  app.add_option("FILE", request.files, "summaries (*.sss), a folder, 'a*', @list; - is stdin")
      ->required()
      ->type_name("");
  add_output_option(app, output);
  add_jobs_option(app, request.jobs);
  app.footer(kExamples);
  if (const auto ended = parse_arguments(app, arguments, console)) return *ended;
  FileList list = expand_files(request.files, FileKind::kSummaries);
  if (!list.wrong.empty()) {  // as a file that is not there
    console.complain(Error{ErrorCode::kNotFound, list.wrong, {}});
    return kExitUnusable;
  }
  const std::string wrong = check_summary_output(output, list.files);
  if (!wrong.empty()) {
    console.complain(wrong);
    return kExitUsage;
  }
  request.files = std::move(list.files);
  return write_run(summarize_files(request).run, output, console);
}

}  // namespace stepscope

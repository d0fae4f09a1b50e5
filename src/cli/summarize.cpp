// stepscope summarize: ranks' traces as a summary file each or together, to be moved and merged where traces cannot be.
//
// One file or folder gives its name to the summary, in the current folder as with `view`, since recordings often lie
// where one may not write; several need a name, as none of theirs fits.
#include <fmt/format.h>

#include <filesystem>

#include "cli/file_lists.h"
#include "cli/gathering.h"
#include "cli/summarizing.h"
#include "cli/summary_output.h"
#include "cli/units.h"

namespace stepscope {
namespace {

constexpr const char* kExamples =
    "Examples:\n"
    "  stepscope summarize rank3.json.gz                writes rank3.sss here\n"
    "  stepscope summarize runs/today -o today.sss      all traces in the folder\n"
    "  stepscope summarize 'runs/*/rank*.json.gz' -o run.sss --jobs 8\n"
    "  stepscope summarize @files.txt -o run.sss        one name a line\n"
    "  zcat rank3.json.gz | stepscope summarize - -o - > rank3.sss\n"
    "  srun sh -c 'stepscope summarize rank$SLURM_PROCID.json.gz'   then: merge\n\n"
    "A rank takes at most 256 KiB (docs/formats/summary.md says what is kept). What\n"
    "`report` says of many ranks it says of their summaries too.\n\n"
    "Exit status: 0 read whole, 2 wrong usage, 3 no file usable or nothing written,\n"
    "             4 a file was unusable (the summary names it), or something was\n"
    "               lost, or a rank's times cannot be trusted.\n";

struct Request {
  SummarizeRequest files;
  std::string output;
};

void add_options(CLI::App& app, Request& request) {
  app.add_option("FILE", request.files.files, "traces, summaries, a folder, 'a*', @list; - is stdin")
      ->required()
      ->type_name("");
  add_output_option(app, request.output);
  add_jobs_option(app, request.files.jobs);
  add_trace_options(app, request.files.trace);
  app.add_option("--peak,--peak-flops", request.files.peak_flops_per_s, "FLOP/s of one GPU, dense, for MFU: 989T")
      ->type_name("X")
      ->transform(peak_flops());
  app.footer(kExamples);
}

// "runs/rank3.pt.trace.json.gz" -> "rank3.sss", "runs/" -> "runs.sss"; empty: the name says nothing.
std::string name_after(const std::string& argument) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  const bool is_name = fs::exists(argument, ignored) || argument.find_first_of("@*?[") == std::string::npos;
  if (argument == "-" || !is_name) return "";
  fs::path path = fs::absolute(argument, ignored).lexically_normal();
  if (path.filename().empty()) path = path.parent_path();
  std::string name = path.filename().string();
  for (const std::string_view ending : {".gz", ".json", ".stepscope", ".trace", ".pt"}) {
    if (name.size() > ending.size() && name.ends_with(ending)) name.resize(name.size() - ending.size());
  }
  return name.empty() ? "" : name + ".sss";
}

}  // namespace

int run_summarize(const Arguments& arguments, Console& console) {
  CLI::App app("What is kept of each rank when many are looked at together.", "stepscope summarize");
  Request request;
  add_options(app, request);
  if (const auto ended = parse_arguments(app, arguments, console)) return *ended;
  if (request.output.empty() && request.files.files.size() == 1) request.output = name_after(request.files.files[0]);
  FileList list = expand_files(request.files.files, FileKind::kTraces);
  if (!list.wrong.empty()) {  // as a file that is not there
    console.complain(Error{ErrorCode::kNotFound, list.wrong, {}});
    return kExitUnusable;
  }
  const std::string wrong = check_summary_output(request.output, list.files);
  if (!wrong.empty()) {
    console.complain(wrong);
    return kExitUsage;
  }
  for (const std::string& remark : list.remarks) console.remark(remark);
  request.files.files = std::move(list.files);
  const Summarized summarized = summarize_files(request.files);
  if (!summarized.wrong.empty()) {
    console.complain(summarized.wrong);
    return kExitUsage;
  }
  return write_run(summarized.run, request.output, console);
}

}  // namespace stepscope

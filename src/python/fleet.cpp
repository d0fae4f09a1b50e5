// Ranks' summaries: made from a file, merged, reported, laid out as a table.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "fleet/fleet_findings.h"
#include "fleet/summarize.h"
#include "fleet/summary_file.h"
#include "import/importers.h"
#include "python/bindings.h"
#include "python/errors.h"
#include "python/fleet_tables.h"
#include "python/trace_reading.h"
#include "report/asked.h"
#include "report/html/html_page.h"
#include "report/json.h"
#include "report/ranks.h"
#include "report/terminal.h"
#include "rules/rules.h"

namespace nb = nanobind;

namespace stepscope::python {
namespace {

std::string_view view(const nb::bytes& bytes) { return {bytes.c_str(), bytes.size()}; }
nb::bytes to_bytes(const std::string& text) { return nb::bytes(text.data(), text.size()); }

RankSummary summarize_one(const Trace& trace, const FactOptions& options) {
  const Facts facts = compute_facts(trace, options);
  const RuleInput input{trace, facts};
  const std::vector<Finding> findings = find_all(input);
  return summarize_trace(trace, facts, findings, write_verdict(input, findings));
}

nb::bytes summarize(const nb::bytes& path, const nb::bytes& source, unsigned threads, const Progress& progress,
                    const std::string& steps, std::optional<std::int64_t> device, std::optional<double> peak_flops) {
  const std::string file(view(path));
  std::vector<Trace> traces =
      read_or_raise(file, source.size() == 0 ? file : std::string(view(source)), threads, progress);
  for (const Trace& trace : traces) {
    const std::string wrong = check_asked(trace, steps, device);
    if (!wrong.empty()) throw nb::value_error(wrong.c_str());
  }
  std::string summary;
  {
    const nb::gil_scoped_release others_run;
    FactOptions options;
    options.steps.span_name = steps;
    options.device_number = device;
    options.peak_flops_per_s = peak_flops;
    RunSummary run;
    for (Trace& trace : traces) {
      run.ranks.push_back(summarize_one(trace, options));
      trace = {};  // the next needs the room
    }
    std::vector<RunSummary> parts;
    parts.push_back(std::move(run));
    summary = write_summary(merge_summaries(std::move(parts)));
  }
  return to_bytes(summary);
}

// With the lock held or not; raises with it held.
RunSummary read_or_raise_summary(std::string_view bytes) {
  std::optional<Result<RunSummary>> run;
  {
    const nb::gil_scoped_release others_run;
    run.emplace(read_summary(bytes, "summary"));
  }
  if (!*run) raise(run->error());
  return std::move(**run);
}

nb::bytes merge(const nb::sequence& parts) {
  std::vector<RunSummary> runs;
  for (const nb::handle part : parts) runs.push_back(read_or_raise_summary(view(nb::cast<nb::bytes>(part))));
  std::string whole;
  {
    const nb::gil_scoped_release others_run;
    whole = write_summary(merge_summaries(std::move(runs)));
  }
  return to_bytes(whole);
}

nb::bytes unreadable(const nb::bytes& source, const std::string& reason, std::string_view code) {
  const auto at = std::find(kErrorCodeWords.begin(), kErrorCodeWords.end(), code);
  if (at == kErrorCodeWords.end()) throw nb::value_error(("no code '" + std::string(code) + "'").c_str());
  RunSummary run;
  run.unreadable.push_back({std::string(view(source)), reason, static_cast<ErrorCode>(at - kErrorCodeWords.begin())});
  return to_bytes(write_summary(run));
}

std::vector<std::pair<nb::object, nb::object>> unreadable_of(const nb::bytes& summary) {
  std::vector<std::pair<nb::object, nb::object>> all;
  for (const UnreadableRank& each : read_or_raise_summary(view(summary)).unreadable) {
    all.emplace_back(to_python(each.source), to_python(each.reason));
  }
  return all;
}

RankReports reports_of(const RunSummary& run, std::size_t row_count) {
  std::vector<UnusableFile> unusable;
  for (const UnreadableRank& each : run.unreadable) {
    unusable.push_back({each.source, Error{each.code, each.reason, each.source}});
  }
  std::optional<FleetAnswer> fleet;
  if (!run.ranks.empty()) fleet.emplace(judge_fleet(run));
  RankReports ranks = join_reports({}, std::move(unusable), std::move(fleet));
  ranks.row_count = row_count;
  return ranks;
}

std::string page(const nb::bytes& summary, std::size_t row_count) {
  const RunSummary run = read_or_raise_summary(view(summary));
  const nb::gil_scoped_release others_run;
  return write_html(reports_of(run, row_count));
}

std::string report(const nb::bytes& summary, bool as_json, std::size_t width, bool colour, bool ascii,
                   std::size_t row_count) {
  const RunSummary run = read_or_raise_summary(view(summary));
  const nb::gil_scoped_release others_run;
  const RankReports ranks = reports_of(run, row_count);
  Style style = plain_style(width, colour);
  style.ascii = ascii;
  return as_json ? write_json(ranks) : write_terminal(ranks, style);
}

}  // namespace

void bind_fleet(nb::module_& m) {
  m.def("summarize", summarize, nb::arg("path"), nb::arg("source") = nb::bytes(""), nb::arg("threads") = 0,
        nb::arg("progress") = nb::none(), nb::arg("steps") = "", nb::arg("device") = nb::none(),
        nb::arg("peak_flops") = nb::none());
  m.def("is_summary", [](const nb::bytes& first_bytes) { return is_summary(view(first_bytes)); });
  m.def("looks_like_trace", [](const nb::bytes& first_bytes) { return looks_like_trace(view(first_bytes)); });
  m.def("merge_summaries", merge, nb::arg("parts"));
  m.def(
      "check_asked_of_summary",
      [](const nb::bytes& summary, const nb::bytes& name, const std::string& steps, std::optional<std::int64_t> device,
         std::optional<double> peak_flops) {
        return check_asked_of_summary(std::string(view(name)), read_or_raise_summary(view(summary)),
                                      {steps, false, device, peak_flops});
      },
      nb::arg("summary"), nb::arg("name"), nb::arg("steps"), nb::arg("device") = nb::none(),
      nb::arg("peak_flops") = nb::none());
  m.def("unreadable_summary", unreadable, nb::arg("source"), nb::arg("reason"), nb::arg("code") = "damaged");
  m.def("summary_unreadable", unreadable_of, nb::arg("summary"));
  m.def("fleet_report", report, nb::arg("summary"), nb::arg("as_json") = false, nb::arg("width") = 80,
        nb::arg("colour") = false, nb::arg("ascii") = false, nb::arg("row_count") = 0);
  m.def("fleet_page", page, nb::arg("summary"), nb::arg("row_count") = 0);
  m.def(
      "summary_ranks",
      [](const nb::bytes& summary) { return Table{ranks_table(read_or_raise_summary(view(summary)))}; },
      nb::arg("summary"));
}

}  // namespace stepscope::python

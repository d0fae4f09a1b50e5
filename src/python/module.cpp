// stepscope._core: the library for Python. Thin: what is worth testing without Python stands in other rooms.
//
// Every call that reads or computes lets other threads of Python run meanwhile; Ctrl-C ends reading (it is looked for
// before each piece of the file). Objects are immutable, so threads may share them.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <thread>

#include "analyze/memory_timeline.h"
#include "analyze/stacks.h"
#include "efficiency/operator_flops.h"
#include "export/chrome_trace.h"
#include "export/text_sink.h"
#include "python/bindings.h"
#include "python/column_values.h"
#include "python/errors.h"
#include "python/recording.h"
#include "python/trace_reading.h"
#include "report/json.h"
#include "report/memory_timeline.h"
#include "report/ops_table.h"
#include "report/terminal.h"

namespace nb = nanobind;

namespace stepscope::python {
namespace {

// `source`: what the recordings are said to come from; empty: the file.
std::vector<std::shared_ptr<Recording>> read(const nb::bytes& name, unsigned threads, const Progress& progress,
                                             const nb::bytes& source) {
  const std::string path(name.c_str(), name.size());
  const std::string told(source.c_str(), source.size());
  std::vector<std::shared_ptr<Recording>> recordings;
  for (Trace& trace : read_or_raise(path, told.empty() ? path : told, threads, progress)) {
    recordings.push_back(std::make_shared<Recording>(std::move(trace)));
  }
  return recordings;
}

// Arrow's interface: the consumer calls __arrow_c_stream__ and owns the stream from then on.
nb::capsule stream_of(const TablePointer& table) {
  auto* const stream = new ArrowArrayStream;
  export_stream(table, stream);
  return {stream, "arrow_array_stream", [](void* pointer) noexcept {
            auto* const left = static_cast<ArrowArrayStream*>(pointer);
            if (left->release != nullptr) left->release(left);
            delete left;
          }};
}

Table table_named(const Recording& recording, std::string_view name) {
  std::optional<Result<TablePointer>> found;
  {
    const nb::gil_scoped_release others_run;
    found.emplace(recording.arrow().table(name));
  }
  if (!*found) {
    PyErr_SetString(PyExc_KeyError, found->error().message.c_str());
    throw nb::python_error();
  }
  return {**found};
}

std::optional<GroupBy> group_named(std::string_view by) {
  if (by == "name") return GroupBy::kName;
  if (by == "shape") return GroupBy::kShape;
  if (by == "stack") return GroupBy::kStack;
  if (by == "module") return GroupBy::kModule;
  return std::nullopt;
}

AveragesOptions averages_options(const Recording& recording, std::string_view by, std::size_t stack_depth) {
  AveragesOptions options;
  // A capture has the stacks of Python beside its operators, not in them.
  options.python_stacks = recording.trace().info.producer == "capture";
  const auto group = group_named(by);
  if (!group) throw nb::value_error("by: one of name, shape, stack, module");
  options.group_by = *group;
  options.stack_depth = stack_depth;
  return options;
}

std::string ops_text(const Recording& recording, std::string_view by, std::size_t stack_depth, std::string_view sort,
                     std::optional<std::size_t> limit, std::size_t width, bool as_json) {
  const AveragesOptions options = averages_options(recording, by, stack_depth);
  const nb::gil_scoped_release others_run;
  const Averages averages = compute_averages(recording.trace(), options);
  OpsTable table{averages, {}, options.group_by, std::string(sort)};
  if (sort.empty()) {
    for (std::size_t i = 0; i < averages.rows.size(); ++i) table.rows.push_back(i);
  } else {
    const auto sorted = sorted_rows(averages, sort);
    if (!sorted) throw nb::value_error(("no column '" + std::string(sort) + "' to sort by").c_str());
    table.rows = *sorted;
  }
  if (limit && table.rows.size() > *limit) table.rows.resize(*limit);
  return as_json ? write_ops_json(table) : write_ops_text(table, plain_style(width, false));
}

void write_chrome(const Recording& recording, const std::string& path, const ChromeMetadata& metadata) {
  std::optional<Status> written;
  {
    const nb::gil_scoped_release others_run;
    written.emplace(write_chrome_trace_file(recording.trace(), path, metadata));
  }
  if (!*written) raise(written->error());
}

// `device`: a CUDA ordinal, -1 for the CPU. `shape`: what `stepscope convert --to` calls it.
void write_timeline(const Recording& recording, const std::string& path, std::int64_t device, std::string_view shape) {
  const TimelineShape as = shape == "memory-page"   ? TimelineShape::kPage
                           : shape == "memory-rows" ? TimelineShape::kRows
                                                    : TimelineShape::kLevels;
  std::optional<Status> written;
  {
    const nb::gil_scoped_release others_run;
    const MemoryTimeline timeline = compute_memory_timeline(recording.trace(), device);
    if (!timeline.device_number) {
      written.emplace(Error{ErrorCode::kInvalidArgument, "no memory of this device was recorded", {}});
    } else {
      written.emplace(write_text_file(path, [&](const TextSink& sink) {
        return write_memory_timeline(timeline, as, path.substr(path.rfind('/') + 1), sink);
      }));
    }
  }
  if (!*written) raise(written->error());
}

std::vector<std::string> folded_stacks(const Recording& recording, std::string_view metric) {
  std::optional<std::vector<FoldedStack>> stacks;
  {
    const nb::gil_scoped_release others_run;
    stacks = compute_folded_stacks(recording.trace(), metric);
  }
  if (!stacks) throw nb::value_error(("no metric '" + std::string(metric) + "'").c_str());
  std::vector<std::string> lines;
  for (const FoldedStack& stack : *stacks) lines.push_back(stack.line());
  return lines;
}

nb::list column_of(const Table& table, std::string_view name) {
  for (const ArrowColumn& column : table.table->columns) {
    if (column.name == name) return column_values(column);
  }
  throw nb::key_error(std::string(name).c_str());
}

nb::dict info_of(const Recording& recording) {
  const TraceInfo& info = recording.trace().info;
  nb::dict all;
  all["source"] = to_python(info.source);
  all["producer"] = info.producer;
  all["rank"] = info.rank;
  all["world_size"] = info.world_size;
  all["host_name"] = info.host_name;
  all["base_ns"] = info.base_ns;
  all["event_count"] = info.event_count;
  all["text_bytes"] = info.text_bytes;
  all["torch_version"] = info.torch_version;
  all["python_version"] = info.python_version;
  all["command_line"] = info.command_line;
  return all;
}

void bind_request(nb::module_& m) {
  nb::class_<Request>(m, "Request", "What is asked beyond the file.")
      .def(
          "__init__",
          [](Request* self, const std::string& steps, bool whole_file, std::optional<std::int64_t> device,
             std::optional<double> peak_flops, std::size_t top) {
            new (self) Request{steps, whole_file, device, peak_flops, top};
          },
          nb::arg("steps") = "", nb::arg("whole_file") = false, nb::arg("device") = nb::none(),
          nb::arg("peak_flops") = nb::none(), nb::arg("top") = 5);
}

void bind_table(nb::module_& m) {
  nb::class_<Table>(m, "Table", "Columns for pandas, polars, pyarrow, DuckDB: nothing is copied.")
      .def(
          "__arrow_c_stream__", [](const Table& self, const nb::object&) { return stream_of(self.table); },
          nb::arg("requested_schema") = nb::none())
      .def_prop_ro("column_names",
                   [](const Table& self) {
                     std::vector<std::string> names;
                     for (const ArrowColumn& column : self.table->columns) names.push_back(column.name);
                     return names;
                   })
      .def_prop_ro("column_docs",
                   [](const Table& self) {
                     std::vector<std::string> docs;
                     for (const ArrowColumn& column : self.table->columns) docs.push_back(column.doc);
                     return docs;
                   })
      .def("column", column_of, nb::arg("name"))
      .def("__len__", [](const Table& self) { return self.table->row_count(); });
}

void bind_recording(nb::module_& m) {
  const auto free = nb::call_guard<nb::gil_scoped_release>();
  nb::class_<Recording>(m, "Recording", "One recording: a trace and what follows from it.")
      .def_prop_ro("info", info_of)
      .def(
          "report_json", [](const Recording& self, const Request& request) { return write_json(self.report(request)); },
          nb::arg("request"), free)
      .def(
          "report_text",
          [](const Recording& self, const Request& request, std::size_t width, bool colour) {
            return write_terminal(self.report(request), plain_style(width, colour));
          },
          nb::arg("request"), nb::arg("width") = 80, nb::arg("colour") = false, free)
      .def("table", table_named, nb::arg("name"))
      .def_static("table_names",
                  [] {
                    std::vector<std::string> names;
                    for (const std::string_view name : ArrowTrace::names()) names.emplace_back(name);
                    return names;
                  })
      .def(
          "steps",
          [](const Recording& self, const Request& request) {
            return Table{steps_table(self.trace(), *self.facts(request))};
          },
          nb::arg("request"), free)
      .def(
          "kernels",
          [](const Recording& self, const Request& request) {
            return Table{kernels_table(self.trace(), *self.facts(request))};
          },
          nb::arg("request"), free)
      .def(
          "gaps",
          [](const Recording& self, const Request& request) {
            return Table{gaps_table(self.trace(), *self.facts(request))};
          },
          nb::arg("request"), free)
      .def(
          "ops",
          [](const Recording& self, std::string_view by, std::size_t stack_depth) {
            const AveragesOptions options = averages_options(self, by, stack_depth);
            const nb::gil_scoped_release others_run;
            return Table{averages_table(self.trace(), options)};
          },
          nb::arg("by") = "name", nb::arg("stack_depth") = 5)
      .def("write_chrome_trace", write_chrome, nb::arg("path"), nb::arg("metadata"))
      .def("write_memory_timeline", write_timeline, nb::arg("path"), nb::arg("device"), nb::arg("shape"))
      .def("folded_stacks", folded_stacks, nb::arg("metric"))
      .def("ops_text", ops_text, nb::arg("by"), nb::arg("stack_depth"), nb::arg("sort"), nb::arg("limit").none(),
           nb::arg("width"), nb::arg("as_json"));
}

}  // namespace

NB_MODULE(_core, m) {
  m.doc() = "The compiled part of stepscope; use the package.";
  // Where PyTorch is loaded, globals of the program may live to the end of the process: no fault that its user could
  // mend.
  nb::set_leak_warnings(false);
  m.attr("__version__") = kStepscopeVersion;
  add_error_class(m);
  bind_request(m);
  bind_table(m);
  bind_recording(m);
  bind_timing(m);
  bind_efficiency(m);
  bind_fleet(m);
  bind_device_memory(m);
  bind_memory(m);
  m.def("read", read, nb::arg("path"), nb::arg("threads") = 0, nb::arg("progress") = nb::none(),
        nb::arg("source") = nb::bytes(""),
        "All recordings of a file (its name as os.fsencode gives it); gzip and format are found from the content.");
  m.def(
      "torch_flops",
      [](std::string_view name, std::string_view input_dims, std::string_view concrete_inputs) {
        return compute_torch_flops(name, input_dims, concrete_inputs);
      },
      nb::arg("name"), nb::arg("input_dims"), nb::arg("concrete_inputs"),
      "FLOPs of one operator by PyTorch's own formulas, from the columns of the table `ops`; None: it has none.");
  m.def(
      "report_json",
      [](const std::vector<std::shared_ptr<Recording>>& all, const Request& request) {
        return write_json(report_together({all.begin(), all.end()}, request));
      },
      nb::arg("recordings"), nb::arg("request"), nb::call_guard<nb::gil_scoped_release>());
  m.def(
      "report_text",
      [](const std::vector<std::shared_ptr<Recording>>& all, const Request& request, std::size_t width, bool colour) {
        return write_terminal(report_together({all.begin(), all.end()}, request), plain_style(width, colour));
      },
      nb::arg("recordings"), nb::arg("request"), nb::arg("width") = 80, nb::arg("colour") = false,
      nb::call_guard<nb::gil_scoped_release>());
}

}  // namespace stepscope::python

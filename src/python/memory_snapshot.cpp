// Memory snapshots for Python: reading, and what is asked of one. What the words mean: docs/memory.md.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <fstream>
#include <iterator>

#include "import/bytes/byte_source.h"
#include "import/importers.h"
#include "memory/address_map.h"
#include "memory/snapshot_reader.h"
#include "memory/trace_snapshot.h"
#include "python/bindings.h"
#include "python/errors.h"
#include "python/memory_recording.h"
#include "python/reading.h"
#include "report/memory_build.h"
#include "report/memory_summary.h"

namespace nb = nanobind;

namespace stepscope::python {
namespace {

constexpr std::size_t kPrefixBytes = 16 << 10;  // enough to tell a trace from a snapshot

Result<MemorySnapshot> read_trace_as_snapshot(const std::string& path, Attention& attention) {
  ReadOptions options;
  options.is_stopped = [&] { return attention.look(0, {}); };
  options.progress = [&](std::uint64_t read, std::optional<std::uint64_t> total) { (void)attention.look(read, total); };
  const auto traces = read_traces(path, options);
  if (!traces) return traces.error();
  for (const Trace& trace : *traces) {
    auto snapshot = snapshot_from_trace(trace);
    if (!snapshot) continue;
    snapshot->notes.merge(trace.notes);
    return snapshot;
  }
  return Error{ErrorCode::kUnknownFormat, "a trace without allocations of a GPU; read it with stepscope.load", path};
}

// The content decides, as for the command; what begins like both is tried as a snapshot first.
Result<MemorySnapshot> read_any(const std::string& path, Attention& attention) {
  auto opened = open_bytes(path, true);
  if (!opened) return opened.error();
  std::string prefix(kPrefixBytes, '\0');
  const auto got = read_fully(**opened, prefix.data(), prefix.size());
  if (!got) return got.error();
  prefix.resize(*got);
  const bool is_trace = looks_like_trace(prefix);
  if (is_trace && !looks_like_snapshot(prefix)) return read_trace_as_snapshot(path, attention);
  const auto source = put_back(prefix, std::move(*opened));
  auto snapshot = read_snapshot(path, [&](char* into, std::size_t size) -> Result<std::size_t> {
    if (attention.look(source->stored_bytes_read(), source->stored_bytes_total())) {
      return Error{ErrorCode::kIo, "interrupted", path};
    }
    return source->read(into, size);
  });
  if (snapshot) {
    source->add_notes(snapshot->notes);
    return snapshot;
  }
  return is_trace && !attention.is_stopped() ? read_trace_as_snapshot(path, attention) : snapshot.error();
}

// The map of tensor addresses beside the file, if there is one. What is wrong with it; empty: nothing.
std::string apply_map_beside(const std::string& path, const MemorySnapshot& snapshot, MemoryFacts& facts) {
  if (snapshot.info.format == kTraceSnapshotFormat) return "";
  const std::string beside = address_map_path(path);
  std::ifstream file(beside, std::ios::binary);
  if (!file) return "";
  const auto map = read_address_map(std::string{std::istreambuf_iterator<char>(file), {}}, beside);
  if (!map) return map.error().to_string();
  (void)apply_address_map(*map, snapshot, facts);
  return "";
}

std::shared_ptr<MemoryRecording> read_memory(const nb::bytes& name, const std::string& steps_name,
                                             const Progress& progress) {
  const std::string path(name.c_str(), name.size());
  Attention attention(progress);
  std::optional<Result<MemorySnapshot>> snapshot;
  std::shared_ptr<MemoryRecording> made;
  std::string unused_map;
  {
    const nb::gil_scoped_release others_run;
    snapshot.emplace(read_any(path, attention));
    if (*snapshot && !attention.is_stopped()) {
      MemoryFacts facts = compute_memory_facts(**snapshot, {steps_name});
      unused_map = apply_map_beside(path, **snapshot, facts);
      made = std::make_shared<MemoryRecording>(std::move(**snapshot), std::move(facts));
    }
  }
  if (attention.is_stopped()) throw nb::python_error();
  if (!*snapshot) raise(snapshot->error());
  if (!unused_map.empty() &&
      PyErr_WarnEx(PyExc_RuntimeWarning, (unused_map + "; categories are inferred").c_str(), 2) != 0) {
    throw nb::python_error();
  }
  return made;
}

// ---- What is asked. Errors are thrown with the lock of Python held: `call` frees it around the work alone.

template <class Work>
auto without_lock(Work work) {
  const nb::gil_scoped_release others_run;
  return work();
}

template <class T>
T value_or_raise(Result<T> result) {
  if (!result) raise(result.error());
  return std::move(result).value();
}

SnapshotDeviceId device_of(const MemoryRecording& self, std::optional<std::int64_t> number) {
  const SnapshotDeviceId device = value_or_raise(find_shown_device(self.snapshot(), self.facts(), number));
  if (!device.has_value()) raise({ErrorCode::kDamaged, "no GPU in this snapshot", self.snapshot().info.source});
  return device;
}

void require_sound(const MemoryRecording& self) {
  if (!self.snapshot().notes.unsound()) return;
  raise({ErrorCode::kDamaged, "no number of this file is sound, since it was cut; events() shows what is there",
         self.snapshot().info.source});
}

struct Question {
  std::string at, by = "line";
  std::optional<std::int64_t> device;
};

MemoryReportOptions options_of(const Question& question) {
  MemoryReportOptions options;
  options.at = question.at;
  options.device_number = question.device;
  if (!question.by.empty()) {
    options.by = find_live_grouping(question.by);
    if (!options.by) throw nb::value_error("by: one of line, stack, category, span, module, device, stream, pool");
  }
  return options;
}

MemoryReport report_of(const MemoryRecording& self, const MemoryReportOptions& options) {
  return value_or_raise(without_lock([&] { return build_memory_report(self.snapshot(), self.facts(), options); }));
}

LiveMoment moment_of(const MemoryRecording& self, const Question& question) {
  require_sound(self);
  const SnapshotDeviceId device = device_of(self, question.device);
  return value_or_raise(choose_moment(self.snapshot(), self.facts(), device, options_of(question)));
}

Table live(const MemoryRecording& self, const std::string& at, std::optional<std::int64_t> device) {
  const LiveMoment moment = moment_of(self, {at, "", device});
  return {without_lock([&] { return self.live(moment.device, moment.moment); })};
}

Table live_by(const MemoryRecording& self, const std::string& by, const std::string& at,
              std::optional<std::int64_t> device) {
  const Question question{at, by, device};
  const LiveMoment moment = moment_of(self, question);
  const LiveGrouping grouping = *options_of(question).by;
  return {without_lock([&] {
    const auto rows = find_live(self.snapshot(), self.facts(), moment.device, moment.moment);
    return groups_table(clean_groups(group_live(self.snapshot(), self.facts(), rows, grouping)));
  })};
}

Table diff(const MemoryRecording& self, const MemoryRecording& after, const std::string& by, const std::string& at,
           std::optional<std::int64_t> device) {
  require_sound(self);
  require_sound(after);
  const MemoryReportOptions options = options_of({at, by, device});
  return {differences_table(value_or_raise(without_lock(
      [&] { return build_memory_diff(self.snapshot(), self.facts(), after.snapshot(), after.facts(), options); })))};
}

void add_what_ifs(const std::vector<std::string>& settings, MemoryReportOptions& options) {
  for (const std::string& conf : settings) {
    options.what_ifs.emplace_back(conf, value_or_raise(parse_allocator_config(conf)));
  }
}

Table what_if(const MemoryRecording& self, const std::vector<std::string>& settings,
              std::optional<std::int64_t> capacity_bytes, std::optional<std::int64_t> device) {
  require_sound(self);
  (void)device_of(self, device);
  MemoryReportOptions options;
  options.device_number = device;
  options.capacity_bytes = capacity_bytes;
  options.rank_settings = settings.empty();
  add_what_ifs(settings, options);
  const MemoryReport report = report_of(self, options);
  if (!report.what_if) raise({ErrorCode::kDamaged, "nothing to replay", self.snapshot().info.source});
  if (!report.what_if->withheld.empty()) {
    raise({ErrorCode::kDamaged, "no answer: " + report.what_if->withheld, self.snapshot().info.source});
  }
  return {what_ifs_table(*report.what_if)};
}

MemoryReport whole_report(const MemoryRecording& self, const Question& question,
                          const std::vector<std::string>& settings, std::optional<std::int64_t> capacity_bytes,
                          std::size_t top, bool lifetimes) {
  MemoryReportOptions options = options_of(question);
  options.lifetimes = lifetimes;
  options.capacity_bytes = capacity_bytes;
  options.table_row_count = top;
  add_what_ifs(settings, options);
  return report_of(self, options);
}

template <TablePointer (MemoryRecording::*kTable)(SnapshotDeviceId) const, bool kNeedsSound>
Table table_of(const MemoryRecording& self, std::optional<std::int64_t> number) {
  if (kNeedsSound) require_sound(self);
  const SnapshotDeviceId device = device_of(self, number);
  return {without_lock([&] { return (self.*kTable)(device); })};
}

std::vector<std::int64_t> devices_of(const MemoryRecording& self) { return self.snapshot().devices.number.raw(); }

std::optional<std::int64_t> main_device_of(const MemoryRecording& self) {
  const SnapshotDeviceId device = self.facts().main_device;
  return device.has_value() ? std::optional(self.snapshot().devices.number[device]) : std::nullopt;
}

}  // namespace

void bind_memory(nb::module_& m) {
  const auto device = nb::arg("device").none() = nb::none();
  nb::class_<MemoryRecording>(m, "MemoryRecording", "A memory snapshot and what follows from it.")
      .def_prop_ro("devices", devices_of)
      .def_prop_ro("main_device", main_device_of)
      .def("events", table_of<&MemoryRecording::events, false>, device)
      .def("segments", table_of<&MemoryRecording::segments, false>, device)
      .def("blocks", table_of<&MemoryRecording::blocks, false>, device)
      .def("levels", table_of<&MemoryRecording::levels, true>, device)
      .def("allocations", table_of<&MemoryRecording::allocations, true>, device)
      .def("steps", table_of<&MemoryRecording::steps, true>, device)
      .def("live", live, nb::arg("at") = "", device)
      .def("live_by", live_by, nb::arg("by") = "line", nb::arg("at") = "", device)
      .def("diff", diff, nb::arg("after"), nb::arg("by") = "line", nb::arg("at") = "", device)
      .def("what_if", what_if, nb::arg("settings"), nb::arg("capacity_bytes").none() = nb::none(), device)
      .def(
          "report_json",
          [](const MemoryRecording& self, const std::string& at, const std::string& by, std::optional<std::int64_t> on,
             const std::vector<std::string>& settings, std::optional<std::int64_t> capacity_bytes, std::size_t top,
             bool lifetimes) {
            return write_memory_json(whole_report(self, {at, by, on}, settings, capacity_bytes, top, lifetimes));
          },
          nb::arg("at"), nb::arg("by"), nb::arg("device").none(), nb::arg("settings"), nb::arg("capacity_bytes").none(),
          nb::arg("top"), nb::arg("lifetimes"))
      .def(
          "report_text",
          [](const MemoryRecording& self, const std::string& at, const std::string& by, std::optional<std::int64_t> on,
             const std::vector<std::string>& settings, std::optional<std::int64_t> capacity_bytes, std::size_t top,
             bool lifetimes, std::size_t width, bool colour) {
            return write_memory_text(whole_report(self, {at, by, on}, settings, capacity_bytes, top, lifetimes),
                                     plain_style(width, colour));
          },
          nb::arg("at"), nb::arg("by"), nb::arg("device").none(), nb::arg("settings"), nb::arg("capacity_bytes").none(),
          nb::arg("top"), nb::arg("lifetimes"), nb::arg("width"), nb::arg("colour"))
      .def(
          "summary_text",
          [](const MemoryRecording& self, std::optional<std::int64_t> number, bool abbreviated) {
            require_sound(self);
            const SnapshotDeviceId on = device_of(self, number);
            return write_memory_summary(compute_allocator_stats(self.snapshot(), self.facts(), on), abbreviated);
          },
          nb::arg("device").none(), nb::arg("abbreviated"));
  m.def("read_memory", read_memory, nb::arg("path"), nb::arg("steps") = "", nb::arg("progress") = nb::none(),
        "A snapshot of any version (its name as os.fsencode gives it), or a trace or capture with memory events.");
}

}  // namespace stepscope::python

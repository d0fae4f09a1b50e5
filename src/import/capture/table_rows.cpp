// Columns are found by name and type through the tables' own lists, so a column that is added later needs nothing here.
#include "import/capture/table_rows.h"

#include <algorithm>
#include <limits>
#include <type_traits>

#include "trace/group_ranks.h"
#include "wire/cell_type.h"
#include "wire/trace_tables.h"

namespace stepscope::capture_format {
namespace {

// As everywhere: no difference of two times may overflow.
constexpr TimeNs kFarthestTime = 4'500'000'000'000'000'000;

bool is_sound_time(TimeNs start_ns, TimeNs end_ns) {
  return start_ns >= -kFarthestTime && start_ns <= end_ns && end_ns <= kFarthestTime;
}

// Does row `at` keep the model's invariants?
template <class Table>
bool is_sound_row(const Fragment& all, const Table& rows, typename Table::Id at) {
  if constexpr (requires { rows.start_ns; }) {
    if (!is_sound_time(rows.start_ns[at], rows.end_ns[at])) return false;
  }
  if constexpr (requires { rows.time_ns; }) {
    if (!is_sound_time(rows.time_ns[at], rows.time_ns[at])) return false;
  }
  if constexpr (requires { rows.thread; }) {
    if (rows.thread[at].value >= all.threads.size()) return false;
  }
  if constexpr (requires { rows.process; }) {
    if (rows.process[at].value >= all.processes.size()) return false;
  }
  if constexpr (requires { rows.stream; }) {
    if (rows.stream[at].value >= all.streams.size()) return false;
    if (rows.device[at] != all.streams.device[rows.stream[at]]) return false;
  } else if constexpr (requires { rows.device; }) {
    if (rows.device[at].value >= all.devices.size()) return false;
  }
  if constexpr (std::is_same_v<Table, GpuEvents>) {
    if (rows.kind[at] > GpuEventKind::kSet || rows.fault[at] > TimeFault::kDuplicate) return false;
    if (rows.collective[at].has_value() && rows.collective[at].value >= all.collectives.size()) return false;
  }
  return true;
}

std::optional<NoteKind> note_kind_of(std::string_view name) {
  for (std::size_t i = 0; i < kNoteKindCount; ++i) {
    if (note_kind_name(static_cast<NoteKind>(i)) == name) return static_cast<NoteKind>(i);
  }
  return std::nullopt;
}

std::optional<NoteSeverity> note_severity_of(std::string_view name) {
  for (unsigned i = 0; i <= static_cast<unsigned>(NoteSeverity::kUnsound); ++i) {
    if (note_severity_name(static_cast<NoteSeverity>(i)) == name) return static_cast<NoteSeverity>(i);
  }
  return std::nullopt;
}

}  // namespace

StringId TableRows::intern(WireString number) {
  const auto [at, is_new] = interned_.try_emplace(number);
  if (is_new) at.value() = fragment_.strings.intern(text_of_(number));
  return at->second;
}

template <class T>
void TableRows::fill(wire::ColumnReader& reader, std::vector<T>& cells, std::size_t from, bool& is_sound) {
  for (std::size_t i = from; i < cells.size() && !reader.failed(); ++i) {
    if constexpr (std::is_same_v<T, MaybeInt>) {
      cells[i] = reader.maybe();
    } else if constexpr (std::is_same_v<T, StringId>) {
      cells[i] = intern(reader.string());
    } else if constexpr (std::is_floating_point_v<T>) {
      cells[i] = reader.real();
    } else if constexpr (std::is_integral_v<T> || std::is_enum_v<T>) {
      const std::int64_t number = reader.integer();
      cells[i] = static_cast<T>(number);
      is_sound = is_sound && static_cast<std::int64_t>(cells[i]) == number;
    } else {
      const std::optional<std::uint32_t> row = reader.row();
      cells[i] = row ? T(*row) : T();
    }
  }
  is_sound = is_sound && !reader.failed();
}

// False: no row is kept.
template <class Table>
bool TableRows::append(const wire::TableReader& reader, Table Fragment::*member) {
  Table& rows = fragment_.*member;
  const std::size_t before = rows.size();
  // Rows of places are named by their number, so none may be missing before these.
  bool is_sound = reader.first_row() >= before;
  if (std::is_same_v<Table, Processes> || std::is_same_v<Table, Threads> || std::is_same_v<Table, Devices> ||
      std::is_same_v<Table, Streams> || std::is_same_v<Table, Collectives>) {
    is_sound = reader.first_row() == before;
  }
  if (before + reader.rows() > std::numeric_limits<std::uint32_t>::max()) is_sound = false;
  if (!is_sound) return false;
  rows.for_each_column([&](std::string_view name, std::string_view doc, auto& column) {
    auto& cells = column.raw();
    using Cell = typename std::remove_reference_t<decltype(cells)>::value_type;
    cells.resize(before + reader.rows());
    if (doc.starts_with(wire::kLinkedColumn)) return;
    if (auto found = reader.column(name, wire::cell_type_of<Cell>())) fill(*found, cells, before, is_sound);
  });
  for (std::size_t i = before; is_sound && i < rows.size(); ++i) {
    is_sound = is_sound_row(fragment_, rows, typename Table::Id(i));
  }
  if (!is_sound) {
    rows.for_each_column([&](std::string_view, std::string_view, auto& column) { column.raw().resize(before); });
  }
  return is_sound;
}

// A row `process_group` opens a group, those that follow it tell of it.
void TableRows::take_process_group_row(std::string_view key, const std::string& text,
                                       std::optional<std::int64_t> size) {
  std::vector<ProcessGroup>& groups = info_.process_groups;
  if (key == "process_group") groups.push_back({text, "", "", size.value_or(0) > 0 ? size : std::nullopt, {}});
  if (groups.empty()) return;
  if (key == "process_group_description") groups.back().description = text;
  if (key == "process_group_backend") groups.back().backend = text;
  if (key == "process_group_ranks") groups.back().ranks = read_group_ranks(text);
}

void TableRows::take_info_row(std::string_view key, const std::string& text, MaybeInt number) {
  const std::optional<std::int64_t> value = number.has_value() ? std::optional(number.value()) : std::nullopt;
  const bool flag = number.value_or(0) != 0;
  std::vector<Interval>& windows = info_.windows;
  if (key == "producer") info_.producer = text;
  if (key == "base_ns") info_.base_ns = std::clamp(number.value_or(0), -kFarthestTime, kFarthestTime);
  if (key == "metadata_event_count") info_.metadata_event_count = static_cast<std::uint64_t>(number.value_or(0));
  if (key == "rank") info_.rank = value;
  if (key == "world_size") info_.world_size = value;
  if (key == "backend") info_.backend = text;
  take_process_group_row(key, text, value);
  if (key == "trace_name") info_.trace_name = text;
  if (key == "host_name") info_.host_name = text;
  if (key == "cuda_runtime_version") info_.cuda_runtime_version = value;
  if (key == "cuda_driver_version") info_.cuda_driver_version = value;
  if (key == "cupti_version") info_.cupti_version = value;
  if (key == "record_shapes") info_.record_shapes = flag;
  if (key == "profile_memory") info_.profile_memory = flag;
  if (key == "with_stack") info_.with_stack = flag;
  if (key == "with_flops") info_.with_flops = flag;
  if (key == "with_modules") info_.with_modules = flag;
  if (key == "command_line") info_.command_line = text;
  if (key == "python_version") info_.python_version = text;
  if (key == "torch_version") info_.torch_version = text;
  if (key == "process_start_ns") info_.process_start_ns = value;
  if (key == "remark") info_.remarks.push_back(text);
  const TimeNs at = std::clamp(number.value_or(0), -kFarthestTime, kFarthestTime);
  if (key == "window_start_ns") windows.push_back({at, at});
  if (key == "window_end_ns" && !windows.empty()) windows.back().end_ns = at;
}

bool TableRows::take_info(const wire::TableReader& reader) {
  auto keys = reader.column("key", wire::CellType::kString);
  auto texts = reader.column("text", wire::CellType::kString);
  auto numbers = reader.column("number", wire::CellType::kMaybeInteger);
  if (!keys || !texts || !numbers) return false;
  for (std::uint32_t i = 0; i < reader.rows(); ++i) {
    const std::string_view key = text_of_(keys->string());
    const std::string text(text_of_(texts->string()));
    const MaybeInt number = numbers->maybe();
    if (keys->failed() || texts->failed() || numbers->failed()) return false;
    take_info_row(key, text, number);
  }
  return true;
}

bool TableRows::take_notes(const wire::TableReader& reader) {
  auto kinds = reader.column("kind", wire::CellType::kString);
  auto severities = reader.column("severity", wire::CellType::kString);
  auto examples = reader.column("example", wire::CellType::kString);
  auto counts = reader.column("count", wire::CellType::kInteger);
  auto offsets = reader.column("first_offset", wire::CellType::kInteger);
  if (!kinds || !severities || !examples || !counts || !offsets) return false;
  for (std::uint32_t i = 0; i < reader.rows(); ++i) {
    const auto kind = note_kind_of(text_of_(kinds->string()));
    const auto severity = note_severity_of(text_of_(severities->string()));
    const std::string_view example = text_of_(examples->string());
    const std::int64_t count = counts->integer(), offset = offsets->integer();
    if (kinds->failed() || severities->failed() || examples->failed() || counts->failed() || offsets->failed())
      return false;
    // Kinds of a later version are unknown here; nothing can be said about them.
    if (!kind || !severity || count <= 0) continue;
    notes_.add(*kind, *severity, static_cast<std::uint64_t>(offset), example, static_cast<std::uint64_t>(count));
  }
  return true;
}

bool TableRows::take(std::string_view payload) {
  wire::TableReader reader;
  if (!reader.open(payload)) return false;
  has_any_ = true;
  const std::string_view name = reader.name();
  if (name == wire::kTraceInfoTable) return take_info(reader);
  if (name == wire::kNotesTable) return take_notes(reader);
  if (name == "processes") return append(reader, &Fragment::processes);
  if (name == "threads") return append(reader, &Fragment::threads);
  if (name == "devices") return append(reader, &Fragment::devices);
  if (name == "streams") return append(reader, &Fragment::streams);
  if (name == "ops") return append(reader, &Fragment::ops);
  if (name == "spans") return append(reader, &Fragment::spans);
  if (name == "frames") return append(reader, &Fragment::frames);
  if (name == "calls") return append(reader, &Fragment::calls);
  if (name == "collectives") return append(reader, &Fragment::collectives);
  if (name == "gpu_events") return append(reader, &Fragment::gpu_events);
  if (name == "gpu_spans") return append(reader, &Fragment::gpu_spans);
  if (name == "memory_events") return append(reader, &Fragment::memory_events);
  if (name == "flows") return append(reader, &Fragment::flows);
  if (name == "counters") return append(reader, &Fragment::counters);
  if (name == "other_events") return append(reader, &Fragment::other_events);
  ++unknown_count_;
  return true;
}

// Names and properties of places go by their keys, since the builder numbers places anew.
void TableRows::finish(Builder& builder) {
  const Fragment& from = fragment_;
  auto text = [&](StringId id) { return std::string(from.strings[id]); };
  for (const ProcessId id : from.processes.ids().ids()) {
    const std::string pid = text(from.processes.key[id]);
    if (const StringId name = from.processes.name[id]; !name.empty())
      builder.set_place_name({pid, "", text(name), false});
    if (const StringId labels = from.processes.labels[id]; !labels.empty())
      builder.set_place_name({pid, "", text(labels), true});
  }
  for (const ThreadId id : from.threads.ids().ids()) {
    if (from.threads.name[id].empty()) continue;
    builder.set_place_name({text(from.processes.key[from.threads.process[id]]), text(from.threads.key[id]),
                            text(from.threads.name[id]), false});
  }
  for (const DeviceId id : from.devices.ids().ids()) {
    const Devices::Row row = from.devices.row(id);
    builder.set_device_properties(
        {row.number, text(row.name), row.memory_bytes, row.sm_count, row.compute_major, row.compute_minor});
  }
  for (const StreamId id : from.streams.ids().ids()) {
    if (from.streams.name[id].empty()) continue;
    builder.set_place_name({std::to_string(from.devices.number[from.streams.device[id]]), text(from.streams.key[id]),
                            text(from.streams.name[id]), false});
  }
  builder.info() = info_;
  builder.add(std::move(fragment_));
}

}  // namespace stepscope::capture_format

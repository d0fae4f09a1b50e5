// Chunks in the order in which a reader needs them: the process, the strings, the places (processes, threads, devices,
// streams), then the tables whose rows name them. Strings keep the numbers that they have in the trace.
#include "export/capture_trace.h"

#include <charconv>
#include <type_traits>

#include "trace/group_ranks.h"
#include "wire/cell_type.h"
#include "wire/chunk.h"
#include "wire/record_encoder.h"
#include "wire/table.h"
#include "wire/trace_tables.h"

namespace stepscope {
namespace {

// 25 columns of 10 bytes a cell at worst: half of what a chunk may hold.
constexpr std::uint32_t kMostRows = 32768;
constexpr std::size_t kMostText = std::size_t{15} << 20;

class CaptureWriter {
 public:
  CaptureWriter(const Trace& trace, const TextSink& sink) : trace_(trace), sink_(sink) {}

  Status write() {
    put(wire::file_header());
    write_process();
    write_strings();
    write_info();
    write_notes();
    table("processes", trace_.processes);
    table("threads", trace_.threads);
    table("devices", trace_.devices);
    table("streams", trace_.streams);
    table("ops", trace_.ops);
    table("spans", trace_.spans);
    table("frames", trace_.frames);
    table("calls", trace_.calls);
    table("collectives", trace_.collectives);
    table("gpu_events", trace_.gpu_events);
    table("gpu_spans", trace_.gpu_spans);
    table("memory_events", trace_.memory_events);
    table("flows", trace_.flows);
    table("counters", trace_.counters);
    table("other_events", trace_.other_events);
    records_.add(WireEnd{});
    end_records();
    return status_;
  }

 private:
  void put(std::string_view bytes) {
    if (status_.has_value()) status_ = sink_(bytes);
  }
  void end_records() {
    put(chunks_.encode(wire::ChunkKind::kRecords, records_.payload(), records_.record_count()));
    records_.clear();
  }
  void end_table(std::uint32_t rows) { put(chunks_.encode(wire::ChunkKind::kTable, tables_.finish(), rows)); }

  // For readers of records alone; the tables say it all again.
  void write_process() {
    CaptureInfo info;
    if (!trace_.processes.empty()) {
      const std::string_view key = trace_.text(trace_.processes.key[ProcessId(0)]);
      (void)std::from_chars(key.data(), key.data() + key.size(), info.process_id);
    }
    info.start_ns = trace_.info.base_ns;
    info.host_name = trace_.info.host_name;
    info.command_line = trace_.info.command_line;
    records_.add(info);
    end_records();
  }

  void write_strings() {
    auto define = [&](std::uint32_t number, std::string_view text) {
      if (records_.payload().size() + text.size() > wire::kChunkBytes && records_.record_count() > 0) end_records();
      records_.add(WireStringDefinition{number, text.substr(0, kMostText)});
    };
    for (std::uint32_t i = 1; i < trace_.strings.size(); ++i) define(i, trace_.text(StringId{i}));
    for (const std::string& text : info_texts()) define(next_string_++, text);
    if (records_.record_count() > 0) end_records();
  }

  struct InfoRow {
    std::string key, text;
    MaybeInt number;
  };
  [[nodiscard]] std::vector<InfoRow> info_rows() const {
    const TraceInfo& info = trace_.info;
    std::vector<InfoRow> rows;
    auto text = [&](const char* key, const std::string& value) {
      if (!value.empty()) rows.push_back({key, value, {}});
    };
    auto number = [&](const char* key, std::optional<std::int64_t> value) {
      if (value) rows.push_back({key, "", *value});
    };
    auto flag = [&](const char* key, bool value) {
      if (value) rows.push_back({key, "", 1});
    };
    text("producer", info.producer);
    number("base_ns", info.base_ns);
    number("metadata_event_count", static_cast<std::int64_t>(info.metadata_event_count));
    number("rank", info.rank);
    number("world_size", info.world_size);
    text("backend", info.backend);
    for (const ProcessGroup& group : info.process_groups) {
      rows.push_back({"process_group", group.name, group.size ? MaybeInt(*group.size) : MaybeInt()});
      text("process_group_description", group.description);
      text("process_group_backend", group.backend);
      if (!group.ranks.empty()) text("process_group_ranks", write_group_ranks(group.ranks));
    }
    text("trace_name", info.trace_name);
    text("host_name", info.host_name);
    number("cuda_runtime_version", info.cuda_runtime_version);
    number("cuda_driver_version", info.cuda_driver_version);
    number("cupti_version", info.cupti_version);
    flag("record_shapes", info.record_shapes);
    flag("profile_memory", info.profile_memory);
    flag("with_stack", info.with_stack);
    flag("with_flops", info.with_flops);
    flag("with_modules", info.with_modules);
    text("command_line", info.command_line);
    text("python_version", info.python_version);
    text("torch_version", info.torch_version);
    number("process_start_ns", info.process_start_ns);
    for (const Interval& window : info.windows) {
      rows.push_back({"window_start_ns", "", window.start_ns});
      rows.push_back({"window_end_ns", "", window.end_ns});
    }
    for (const std::string& remark : info.remarks) rows.push_back({"remark", remark, {}});
    return rows;
  }
  // Texts of the info and the notes, which are not in the trace's pool, in the order in which they are written.
  [[nodiscard]] std::vector<std::string> info_texts() const {
    std::vector<std::string> texts;
    for (const InfoRow& row : info_rows()) {
      texts.push_back(row.key);
      texts.push_back(row.text);
    }
    for (const Note& note : trace_.notes.all()) {
      texts.emplace_back(note_kind_name(note.kind));
      texts.emplace_back(note_severity_name(note.severity));
      texts.push_back(note.example);
    }
    return texts;
  }

  void write_info() {
    next_string_ = static_cast<WireString>(trace_.strings.size());
    const std::vector<InfoRow> rows = info_rows();
    const auto count = static_cast<std::uint32_t>(rows.size());
    tables_.begin(wire::kTraceInfoTable, 0, count);
    strings_column("key", count, 2, 0);
    strings_column("text", count, 2, 1);
    tables_.begin_column("number", wire::CellType::kMaybeInteger);
    for (const InfoRow& row : rows) tables_.maybe(row.number);
    tables_.end_column();
    end_table(count);
    next_string_ += 2 * count;
  }
  void write_notes() {
    const std::vector<Note>& notes = trace_.notes.all();
    const auto count = static_cast<std::uint32_t>(notes.size());
    if (count == 0) return;
    tables_.begin(wire::kNotesTable, 0, count);
    strings_column("kind", count, 3, 0);
    strings_column("severity", count, 3, 1);
    strings_column("example", count, 3, 2);
    tables_.begin_column("count", wire::CellType::kInteger);
    for (const Note& note : notes) tables_.integer(static_cast<std::int64_t>(note.count));
    tables_.end_column();
    tables_.begin_column("first_offset", wire::CellType::kInteger);
    for (const Note& note : notes) tables_.integer(static_cast<std::int64_t>(note.first_offset));
    tables_.end_column();
    end_table(count);
  }
  // Every `stride`-th of info_texts(), from next_string_ + `first` on.
  void strings_column(std::string_view name, std::uint32_t count, std::uint32_t stride, std::uint32_t first) {
    tables_.begin_column(name, wire::CellType::kString);
    for (std::uint32_t i = 0; i < count; ++i) tables_.string(next_string_ + i * stride + first);
    tables_.end_column();
  }

  template <class Table>
  void table(std::string_view name, const Table& rows) {
    for (std::size_t first = 0; first < rows.size() && status_.has_value(); first += kMostRows) {
      const auto count = static_cast<std::uint32_t>(std::min<std::size_t>(kMostRows, rows.size() - first));
      tables_.begin(name, first, count);
      rows.for_each_column([&](std::string_view column, std::string_view doc, const auto& cells) {
        if (!doc.starts_with(wire::kLinkedColumn)) put_column(column, cells.raw(), first, count);
      });
      end_table(count);
    }
  }
  template <class T>
  void put_column(std::string_view name, const std::vector<T>& cells, std::size_t first, std::uint32_t count) {
    tables_.begin_column(name, wire::cell_type_of<T>());
    for (std::size_t i = first; i < first + count; ++i) put_cell(cells[i]);
    tables_.end_column();
  }
  void put_cell(MaybeInt number) { tables_.maybe(number); }
  void put_cell(StringId text) { tables_.string(text.value); }
  void put_cell(double number) { tables_.real(number); }
  template <class Tag>
  void put_cell(Id<Tag> id) {
    tables_.row(id.has_value() ? std::optional(id.value) : std::nullopt);
  }
  template <class T>
  void put_cell(T number)
    requires(std::is_integral_v<T> || std::is_enum_v<T>)
  {
    tables_.integer(static_cast<std::int64_t>(number));
  }

  const Trace& trace_;
  const TextSink& sink_;
  Status status_ = Done{};
  wire::ChunkEncoder chunks_;
  wire::RecordEncoder records_;
  wire::TableWriter tables_;
  WireString next_string_ = static_cast<WireString>(trace_.strings.size());
};

}  // namespace

Status write_capture(const Trace& trace, const TextSink& sink) { return CaptureWriter(trace, sink).write(); }

Status write_capture_file(const Trace& trace, const std::string& path) {
  return write_text_file(path, [&](const TextSink& sink) { return write_capture(trace, sink); });
}

}  // namespace stepscope

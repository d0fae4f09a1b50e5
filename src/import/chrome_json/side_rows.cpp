// Rows beside the work: allocator events, flows, counters, metadata, and everything else.
#include <limits>

#include "import/chrome_json/decimal.h"
#include "import/chrome_json/event_reader.h"
#include "import/chrome_json/row_writer.h"

namespace stepscope::chrome_json {

void RowWriter::write_instant(const Event& event) {
  const std::optional<TimeNs> time = time_of(event);
  if (!time) return;
  if (event.fields[Field::kName].text() == "[memory]" && event.args.has(Arg::kBytes)) return write_memory(event, *time);
  write_other(event, {*time, *time, false});
}

void RowWriter::write_memory(const Event& event, TimeNs time_ns) {
  MemoryEvents::Row row;
  row.time_ns = time_ns;
  row.thread = thread_of(event);
  row.address = integer_of(event.args[Arg::kAddress]);
  row.bytes = integer_of(event.args[Arg::kBytes]).value_or(0);
  row.total_allocated_bytes = integer_of(event.args[Arg::kTotalAllocated]);
  row.total_reserved_bytes = integer_of(event.args[Arg::kTotalReserved]);
  row.device_type = static_cast<std::int32_t>(integer_of(event.args[Arg::kDeviceType]).value_or(0));
  row.device_number = static_cast<std::int32_t>(integer_of(event.args[Arg::kDevice]).value_or(-1));
  row.file_order = file_order_;
  fragment_.memory_events.push_back(row);
}

// Arrows that our writer drew from the links of a trace are none of its rows (export/chrome_side_events.cpp).
void RowWriter::write_flow(const Event& event) {
  if (event.fields[Field::kName].text() == "stepscope launch") return;
  const std::optional<TimeNs> time = time_of(event);
  if (!time) return;
  Flows::Row row;
  row.time_ns = *time;
  const Token id = event.fields[Field::kId];
  const MaybeInt number = integer_of(id);
  if (number.has_value()) {
    row.id = static_cast<std::uint64_t>(number.value());
  } else {
    row.id_text = intern(id);
  }
  row.category = intern(event.fields[Field::kCategory]);
  row.name = intern(event.fields[Field::kName]);
  row.process_key = intern(event.fields[Field::kPid]);
  row.thread_key = intern(event.fields[Field::kTid]);
  row.phase = event.fields[Field::kPhase].text()[0];
  fragment_.flows.push_back(row);
}

void RowWriter::write_counter(const Event& event) {
  const std::optional<TimeNs> time = time_of(event);
  if (!time) return;
  Counters::Row row;
  row.time_ns = *time;
  row.process_key = intern(event.fields[Field::kPid]);
  row.name = intern(event.fields[Field::kName]);
  for_each_member(event.fields[Field::kArgs].text(), [&](std::string_view series, Token value) {
    const bool is_none = value.kind == TokenKind::kNoValue || value.text() == "null";
    if (value.kind != TokenKind::kNumber && !is_none && !value.is_string()) return;
    row.series = intern_text(series.find('\\') == std::string_view::npos ? series : decode(series), series);
    const std::optional<double> number = value.may_be_number() ? real_from(value.text()) : std::nullopt;
    if (!number && !is_none) return;
    row.value = number.value_or(std::numeric_limits<double>::quiet_NaN());
    fragment_.counters.push_back(row);
  });
}

void RowWriter::write_metadata(const Event& event) {
  ++fragment_.metadata_event_count;
  const std::string_view what = event.fields[Field::kName].text();
  PlaceName place;
  place.is_labels = what == "process_labels";
  if (what != "process_name" && what != "thread_name" && !place.is_labels) return;
  place.pid = text_of(event.fields[Field::kPid]);
  if (what == "thread_name") {
    place.tid = text_of(event.fields[Field::kTid]);
    if (place.tid.empty()) return;  // without one it would name the process
  }
  place.name = text_of(event.args[place.is_labels ? Arg::kLabels : Arg::kName]);
  rows_.place_names.push_back(std::move(place));
}

void RowWriter::write_other(const Event& event, EventTime time) {
  OtherEvents::Row row;
  row.start_ns = time.start_ns;
  row.end_ns = time.end_ns;
  row.category = intern(event.fields[Field::kCategory]);
  row.name = intern(event.fields[Field::kName]);
  row.process_key = intern(event.fields[Field::kPid]);
  row.thread_key = intern(event.fields[Field::kTid]);
  row.phase = event.fields[Field::kPhase].text()[0];
  fragment_.other_events.push_back(row);
}

void RowWriter::write_other(const Event& event, std::uint64_t file_order) {
  file_order_ = file_order;
  if (const std::optional<EventTime> time = times_of(event)) write_complete(event, *time);
}

void RowWriter::write_instant_of_begin(const Event& event, std::uint64_t file_order) {
  file_order_ = file_order;
  if (const std::optional<TimeNs> time = time_of(event)) write_other(event, {*time, *time, false});
}

}  // namespace stepscope::chrome_json

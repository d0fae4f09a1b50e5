// A row a key. Flags are written as 0 and 1 by PyTorch and as true and false by others.
#include "import/chrome_json/header.h"

#include <limits>
#include <optional>
#include <utility>

#include "import/chrome_json/decimal.h"
#include "import/chrome_json/escapes.h"
#include "import/chrome_json/event_reader.h"
#include "import/chrome_json/process_groups.h"
#include "import/chrome_json/row_writer.h"
#include "trace/producers.h"

namespace stepscope::chrome_json {
namespace {

bool flag_of(Token token) { return token.text() == "true" || integer_of(token).value_or(0) != 0; }

std::optional<std::int64_t> optional_of(Token token) {
  const MaybeInt number = integer_of(token);
  return number.has_value() ? std::optional(number.value()) : std::nullopt;
}

// A number that cannot be less than `least`; a smaller one is damage and reads as unknown.
std::optional<std::int64_t> at_least(std::int64_t least, Token token) {
  const std::optional<std::int64_t> number = optional_of(token);
  return number && *number >= least ? number : std::nullopt;
}

void take_devices(Token list, Builder& builder) {
  if (list.kind != TokenKind::kContainer) return;
  std::int64_t next_number = 0;
  for_each_element(list.text(), [&](Token element) {
    if (element.kind != TokenKind::kContainer || element.text()[0] != '{') return;
    DeviceProperties device;
    device.number = next_number++;
    for_each_member(element.text(), [&](std::string_view key, Token value) {
      if (key == "id")
        device.number = integer_of(value).value_or(device.number);
      else if (key == "name")
        device.name = text_of(value);
      else if (key == "totalGlobalMem")
        device.memory_bytes = integer_of(value);
      else if (key == "numSms")
        device.sm_count = integer_of(value);
      else if (key == "computeMajor")
        device.compute_major = integer_of(value);
      else if (key == "computeMinor")
        device.compute_minor = integer_of(value);
    });
    builder.set_device_properties(std::move(device));
  });
}

void take_distributed(Token object, TraceInfo& info, Notes& notes) {
  if (object.kind != TokenKind::kContainer || object.text()[0] != '{') return;
  for_each_member(object.text(), [&](std::string_view key, Token value) {
    if (key == "rank")
      info.rank = at_least(0, value);
    else if (key == "world_size")
      info.world_size = at_least(1, value);
    else if (key == "backend")
      info.backend = text_of(value);
    else if (key == "pg_config")
      take_process_groups(value, info.process_groups, notes);
  });
}

// [first, second]
std::pair<Token, Token> pair_of(Token list) {
  std::pair<Token, Token> pair;
  if (list.kind != TokenKind::kContainer) return pair;
  std::size_t count = 0;
  for_each_element(list.text(), [&](Token element) {
    if (count == 0) pair.first = element;
    if (count == 1) pair.second = element;
    ++count;
  });
  return pair;
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

// Kinds and severities of a later version are unknown here; nothing can be said about them.
void take_note(Token object, Notes& carried) {
  if (object.kind != TokenKind::kContainer) return;
  std::optional<NoteKind> kind;
  std::optional<NoteSeverity> severity;
  std::int64_t count = 0;
  std::int64_t offset = 0;
  std::string example;
  for_each_member(object.text(), [&](std::string_view key, Token value) {
    if (key == "kind")
      kind = note_kind_of(value.text());
    else if (key == "severity")
      severity = note_severity_of(value.text());
    else if (key == "count")
      count = integer_of(value).value_or(0);
    else if (key == "first_offset")
      offset = integer_of(value).value_or(0);
    else if (key == "example")
      example = text_of(value);
  });
  if (!kind || !severity || count <= 0) return;
  carried.add(*kind, *severity, static_cast<std::uint64_t>(offset), example, static_cast<std::uint64_t>(count));
}

// What only captures have.
void take_recording(std::string_view key, Token value, TraceInfo& info) {
  if (key == "producer" && (value.text() == "capture" || value.text() == kSessionProducer))
    info.producer = value.text();
  if (key == "command_line") info.command_line = text_of(value);
  if (key == "python_version") info.python_version = text_of(value);
  if (key == "torch_version") info.torch_version = text_of(value);
  if (key == "process_start_ns") info.process_start_ns = optional_of(value);
}

// The object that our own writer adds (docs/formats/chrome-trace.md): rows of threads and streams in their order, what
// only captures have, and notes.
void take_own(Token object, Builder& builder, Notes& carried) {
  if (object.kind != TokenKind::kContainer) return;
  Fragment places;
  for_each_member(object.text(), [&](std::string_view key, Token list) {
    if (list.kind != TokenKind::kContainer) return take_recording(key, list, builder.info());
    for_each_element(list.text(), [&](Token element) {
      if (key == "notes") return take_note(element, carried);
      if (key == "remarks") return builder.info().remarks.push_back(text_of(element));
      const auto [owner, row] = pair_of(element);
      if (row.kind == TokenKind::kMissing) return;
      if (key == "windows")
        builder.info().windows.push_back({integer_of(owner).value_or(0), integer_of(row).value_or(0)});
      if (key == "threads") places.thread(text_of(owner), text_of(row));
      if (key == "streams") places.stream(integer_of(owner).value_or(-1), text_of(row));
    });
  });
  builder.add(std::move(places));
}

}  // namespace

std::string text_of(Token token) {
  if (token.kind == TokenKind::kContainer || token.kind == TokenKind::kNoValue) return {};
  std::string text(token.text());
  if (token.kind == TokenKind::kEscapedString) decode_escapes(token.text(), text);
  return text;
}

Notes join_notes(const Notes& carried, const Notes& found) {
  Notes joined;
  joined.merge(carried);
  for (const Note& note : found.all()) {
    std::uint64_t known = 0;
    for (const Note& other : carried.all()) {
      if (other.kind == note.kind && other.severity == note.severity) known = other.count;
    }
    // Behind everything, so that the source's place and example stay.
    const std::uint64_t offset = known > 0 ? std::numeric_limits<std::uint64_t>::max() : note.first_offset;
    if (note.count > known) joined.add(note.kind, note.severity, offset, note.example, note.count - known);
  }
  return joined;
}

void take_document_field(std::string_view key, Token value, Builder& builder, Notes& carried) {
  TraceInfo& info = builder.info();
  if (key == "deviceProperties")
    take_devices(value, builder);
  else if (key == "distributedInfo")
    take_distributed(value, info, builder.notes());
  else if (key == "stepscope")
    take_own(value, builder, carried);
  else if (key == "baseTimeNanoseconds")
    info.base_ns = integer_of(value).value_or(0);
  else if (key == "traceName")
    info.trace_name = text_of(value);
  else if (key == "host_name" || key == "hostname")
    info.host_name = text_of(value);
  else if (key == "cuda_runtime_version" || key == "hip_runtime_version")
    info.cuda_runtime_version = optional_of(value);
  else if (key == "cuda_driver_version" || key == "hip_driver_version")
    info.cuda_driver_version = optional_of(value);
  else if (key == "cupti_version")
    info.cupti_version = optional_of(value);
  else if (key == "record_shapes")
    info.record_shapes = flag_of(value);
  else if (key == "profile_memory")
    info.profile_memory = flag_of(value);
  else if (key == "with_stack")
    info.with_stack = flag_of(value);
  else if (key == "with_flops")
    info.with_flops = flag_of(value);
  else if (key == "with_modules")
    info.with_modules = flag_of(value);
}

}  // namespace stepscope::chrome_json

// Keeping one note a kind, with the first place and its example.
#include "trace/notes.h"

#include <algorithm>
#include <array>

namespace stepscope {

std::string_view note_kind_name(NoteKind kind) {
  static constexpr std::array<std::string_view, kNoteKindCount> kNames = {"file_cut",
                                                                          "array_unclosed",
                                                                          "damaged_event",
                                                                          "invalid_escape",
                                                                          "unescaped_quote",
                                                                          "bare_value",
                                                                          "control_character",
                                                                          "big_integer",
                                                                          "missing_field",
                                                                          "bad_duration",
                                                                          "swallowing_duration",
                                                                          "duplicate_event",
                                                                          "interleaved_writers",
                                                                          "second_document",
                                                                          "merged_processes",
                                                                          "gzip_damaged",
                                                                          "unmatched_begin",
                                                                          "unknown_category",
                                                                          "negative_latency",
                                                                          "empty_object",
                                                                          "trailing_text",
                                                                          "chunk_damaged",
                                                                          "undefined_name",
                                                                          "ended_early",
                                                                          "records_dropped",
                                                                          "unmatched_records",
                                                                          "unknown_record",
                                                                          "bad_size",
                                                                          "history_cut",
                                                                          "unknown_key",
                                                                          "bad_process_group"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string_view note_severity_name(NoteSeverity severity) {
  static constexpr std::array<std::string_view, 4> kNames = {"info", "recovered", "lost", "unsound"};
  return kNames[static_cast<std::size_t>(severity)];
}

namespace {

// The beginning of `text`, without half of a character at its end.
std::string_view cut(std::string_view text) {
  constexpr std::size_t kExampleBytes = 120;
  if (text.size() <= kExampleBytes) return text;
  std::size_t size = kExampleBytes;
  while (size > kExampleBytes - 3 && (static_cast<unsigned char>(text[size]) & 0xC0U) == 0x80) --size;
  return text.substr(0, size);
}

}  // namespace

void Notes::add(NoteKind kind, NoteSeverity severity, std::uint64_t offset, std::string_view example,
                std::uint64_t count) {
  auto before = [](const Note& note, std::pair<NoteKind, NoteSeverity> key) {
    return std::pair(note.kind, note.severity) < key;
  };
  auto at = std::lower_bound(notes_.begin(), notes_.end(), std::pair(kind, severity), before);
  if (at == notes_.end() || at->kind != kind || at->severity != severity) {
    notes_.insert(at, Note{kind, severity, count, offset, std::string(cut(example))});
    return;
  }
  at->count += count;
  if (offset < at->first_offset) {
    at->first_offset = offset;
    at->example = std::string(cut(example));
  }
}

void Notes::merge(const Notes& other) {
  for (const Note& note : other.notes_) add(note.kind, note.severity, note.first_offset, note.example, note.count);
}

std::uint64_t Notes::count(NoteKind kind) const {
  std::uint64_t sum = 0;
  for (const Note& note : notes_) sum += note.kind == kind ? note.count : 0;
  return sum;
}

bool Notes::lost_anything() const {
  return std::any_of(notes_.begin(), notes_.end(), [](const Note& n) { return n.severity >= NoteSeverity::kLost; });
}

bool Notes::unsound() const {
  return std::any_of(notes_.begin(), notes_.end(), [](const Note& n) { return n.severity == NoteSeverity::kUnsound; });
}

}  // namespace stepscope

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
                                                                          "unknown_record"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string_view note_severity_name(NoteSeverity severity) {
  static constexpr std::array<std::string_view, 4> kNames = {"info", "recovered", "lost", "unsound"};
  return kNames[static_cast<std::size_t>(severity)];
}

void Notes::add(NoteKind kind, NoteSeverity severity, std::uint64_t offset, std::string_view example,
                std::uint64_t count) {
  constexpr std::size_t kExampleBytes = 120;
  auto before = [](const Note& note, std::pair<NoteKind, NoteSeverity> key) {
    return std::pair(note.kind, note.severity) < key;
  };
  auto at = std::lower_bound(notes_.begin(), notes_.end(), std::pair(kind, severity), before);
  if (at == notes_.end() || at->kind != kind || at->severity != severity) {
    notes_.insert(at, Note{kind, severity, count, offset, std::string(example.substr(0, kExampleBytes))});
    return;
  }
  at->count += count;
  if (offset < at->first_offset) {
    at->first_offset = offset;
    at->example = std::string(example.substr(0, kExampleBytes));
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

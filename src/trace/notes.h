// What was wrong with the input: counted, located, with one example for each kind, and shown in every output.
//
// Damage is data, not an error: one bad event costs that event. A note's severity says whether anything was
// lost. kInfo: worth knowing, nothing lost. kRecovered: damaged, and read all the same. kLost: something is
// missing from the tables, so the report is `partial` and the exit status 4. kUnsound: the numbers of the file
// cannot be trusted as a whole (two writers in one file), so headlines are withheld.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace stepscope {

enum class NoteSeverity : std::uint8_t { kInfo, kRecovered, kLost, kUnsound };

// One spelling in C++, JSON and docs: note_kind_name gives the snake_case name.
enum class NoteKind : std::uint8_t {
  kFileCut,             // the text ends inside an event or a string
  kArrayUnclosed,       // the text ends after a whole event, without ] or }
  kDamagedEvent,        // an event that could not be read was dropped
  kInvalidEscape,       // backslashes that JSON does not know, taken as themselves
  kUnescapedQuote,      // a raw quote inside a name, restored
  kBareValue,           // inf, nan, N/A ... read as "no value"
  kControlCharacter,    // raw control character or invalid UTF-8 in a string, kept
  kBigInteger,          // an integer over 64 bits, kept as text where it is an id
  kMissingField,        // an event without a field that it needs (ts, name)
  kBadDuration,         // negative or absurd duration
  kSwallowingDuration,  // a duration that wholly contains later work of its stream
  kDuplicateEvent,      // the same GPU event twice
  kInterleavedWriters,  // two writers wrote into one file
  kSecondDocument,      // another JSON document follows in the file
  kMergedProcesses,     // correlation numbers of several processes clash
  kGzipDamaged,         // the compressed stream is cut or fails its checksum
  kUnmatchedBegin,      // B without E, or E without B
  kUnknownCategory,     // category we do not know; kept as OtherEvents
  kNegativeLatency,     // a GPU event that starts before its launch call
  kEmptyObject,         // {} in the event list (JAX writes one at the end)
  kTrailingText,        // text after the document that is no document
  kChunkDamaged,        // a chunk of a capture could not be read: its records are gone
  kUndefinedName,       // a record names a text, frame or stack whose definition is gone
  kEndedEarly,          // a capture without its last record: the process was killed, or the capture was
  kRecordsDropped,      // the recorder had no room for them (rings, memory or disk cap, CUPTI's buffers)
  kUnmatchedRecords,    // the recorder's own count of launches and GPU records that found no partner
  kUnknownRecord,       // records of a newer version's kinds, skipped
  kBadSize,             // a size that cannot be: negative, or over what 64 bits of address can hold
  kHistoryCut,          // older entries of a memory history fell out of its ring
  kUnknownKey,          // keys of a newer version, skipped
  kBadProcessGroup,     // a listed process group that cannot be: what is wrong of it is taken for unknown
};
inline constexpr std::size_t kNoteKindCount = static_cast<std::size_t>(NoteKind::kBadProcessGroup) + 1;

[[nodiscard]] std::string_view note_kind_name(NoteKind kind);
[[nodiscard]] std::string_view note_severity_name(NoteSeverity severity);

struct Note {
  NoteKind kind = NoteKind::kDamagedEvent;
  NoteSeverity severity = NoteSeverity::kInfo;
  std::uint64_t count = 0;
  std::uint64_t first_offset = 0;  // byte in the decompressed file; 0 where no place applies
  std::string example;             // a sentence, or the text found there (cut to 120 bytes)
};

// At most one Note for each (kind, severity).
class Notes {
 public:
  void add(NoteKind kind, NoteSeverity severity, std::uint64_t offset, std::string_view example,
           std::uint64_t count = 1);
  void merge(const Notes& other);
  // In the order of enum NoteKind.
  [[nodiscard]] const std::vector<Note>& all() const { return notes_; }
  [[nodiscard]] std::uint64_t count(NoteKind kind) const;
  [[nodiscard]] bool lost_anything() const;  // any kLost or kUnsound
  [[nodiscard]] bool unsound() const;        // any kUnsound

 private:
  std::vector<Note> notes_;
};

}  // namespace stepscope

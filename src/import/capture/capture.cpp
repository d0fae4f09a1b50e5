// Chunks to records to rows, and what went wrong on the way to notes.
#include "import/capture/capture.h"

#include "import/capture/records_to_rows.h"
#include "import/capture/table_rows.h"
#include "wire/chunk.h"
#include "wire/record_decoder.h"

namespace stepscope::capture_format {
namespace {

NoteKind note_kind_of(wire::ChunkDamage damage) {
  switch (damage) {
    case wire::ChunkDamage::kCut:
      return NoteKind::kFileCut;
    case wire::ChunkDamage::kUnknownKind:
      return NoteKind::kUnknownRecord;
    default:
      return NoteKind::kChunkDamaged;
  }
}

class Reader {
 public:
  Reader(ByteSource& source, const std::string& path, const ReadOptions& options)
      : source_(source), path_(path), options_(options) {}

  Result<std::vector<Trace>> read() {
    wire::ChunkReader chunks(
        [&](char* into, std::size_t size) { return source_.read(into, size); },
        [&](wire::ChunkDamage damage, std::uint64_t offset, std::uint64_t bytes, std::optional<std::uint32_t> records) {
          take_damage(damage, offset, bytes, records);
        });
    if (const Status opened = chunks.open(); !opened) return with_path(opened.error());
    while (true) {
      const auto chunk = chunks.next();
      if (!chunk) return with_path(chunk.error());
      if (!*chunk) break;
      take_chunk(**chunk);
    }
    return finish(chunks.bytes_read());
  }

 private:
  Error with_path(Error error) const {
    if (error.file.empty()) error.file = path_;
    return error;
  }

  void take_damage(wire::ChunkDamage damage, std::uint64_t offset, std::uint64_t bytes,
                   std::optional<std::uint32_t> records) {
    met_damage_ = true;
    std::string words(wire::chunk_damage_words(damage));
    words += " (" + std::to_string(bytes) + " bytes";
    if (records) words += ", " + std::to_string(*records) + " records";
    words += ")";
    const bool is_harmless = damage == wire::ChunkDamage::kFileHeader;
    const bool is_newer = damage == wire::ChunkDamage::kUnknownKind;
    const NoteSeverity severity = is_harmless ? NoteSeverity::kRecovered
                                  : is_newer  ? NoteSeverity::kInfo
                                              : NoteSeverity::kLost;
    notes_.add(note_kind_of(damage), severity, offset, words);
  }

  void take_chunk(const wire::Chunk& chunk) {
    // What damage swallowed is told where it was met; a chunk that is not there at all shows only in the numbers.
    if (chunk.number > next_number_ && !met_damage_) {
      notes_.add(NoteKind::kChunkDamaged, NoteSeverity::kLost, chunk.offset, "chunks are missing before this one",
                 chunk.number - next_number_);
    }
    next_number_ = chunk.number + 1;
    met_damage_ = false;
    if (options_.progress) options_.progress(source_.stored_bytes_read(), source_.stored_bytes_total());
    if (chunk.kind == wire::ChunkKind::kTable) {
      if (!tables_.take(chunk.payload)) {
        notes_.add(NoteKind::kChunkDamaged, NoteSeverity::kLost, chunk.offset, "the rows of a table make no sense");
      }
      return;
    }
    rows_.set_offset(chunk.offset);
    const wire::DecodedPayload decoded = decoder_.decode(chunk.payload, rows_);
    if (decoded.malformed_at) {
      notes_.add(NoteKind::kChunkDamaged, NoteSeverity::kLost, chunk.offset,
                 "a record at byte " + std::to_string(*decoded.malformed_at) + " of a chunk makes no sense");
    }
    if (decoded.unknown_record_count > 0) {
      notes_.add(NoteKind::kUnknownRecord, NoteSeverity::kInfo, chunk.offset, "of a kind that a newer version writes",
                 decoded.unknown_record_count);
    }
    if (options_.progress) options_.progress(source_.stored_bytes_read(), source_.stored_bytes_total());
  }

  Result<std::vector<Trace>> finish(std::uint64_t bytes) {
    if (!rows_.has_end()) {
      notes_.add(NoteKind::kEndedEarly, NoteSeverity::kLost, bytes,
                 "the capture has no last record: the program was killed, or is still running");
    }
    source_.add_notes(notes_);
    if (tables_.unknown_count() > 0) {
      notes_.add(NoteKind::kUnknownRecord, NoteSeverity::kInfo, 0, "tables that a newer version writes",
                 tables_.unknown_count());
    }
    const std::string remarks = rows_.remarks();
    Builder builder;
    rows_.finish(builder);
    if (tables_.has_any()) tables_.finish(builder);
    builder.info().source = path_;
    // A file of tables keeps the producer of its recording.
    if (!tables_.has_any()) builder.info().producer = "capture";
    builder.info().text_bytes = bytes;
    builder.notes().merge(notes_);
    Trace trace = builder.finish(options_.threads);
    if (tables_.has_any()) {
      // What linking found in the rows stands among the notes that came with them.
      trace.notes = tables_.notes();
      trace.notes.merge(notes_);
    }
    if (trace.info.event_count == 0) return nothing_in(trace, remarks);
    std::vector<Trace> traces;
    traces.push_back(std::move(trace));
    return traces;
  }

  Error nothing_in(const Trace& trace, const std::string& remarks) const {
    std::string message = "a capture without events";
    if (!remarks.empty()) message += ": " + remarks;
    for (const Note& each : trace.notes.all()) {
      if (each.severity == NoteSeverity::kLost) message += "; " + each.example;
    }
    return {ErrorCode::kDamaged, message, path_};
  }

  ByteSource& source_;
  const std::string& path_;
  const ReadOptions& options_;
  Notes notes_;
  RecordsToRows rows_;
  TableRows tables_{[this](WireString number) { return rows_.text_of(number); }};
  wire::RecordDecoder decoder_;
  std::uint32_t next_number_ = 0;
  bool met_damage_ = false;  // since the last sound chunk
};

}  // namespace

bool recognises(std::string_view prefix) { return wire::looks_like_capture(prefix); }

Result<std::vector<Trace>> read(ByteSource& source, const std::string& path, const ReadOptions& options) {
  return Reader(source, path, options).read();
}

}  // namespace stepscope::capture_format

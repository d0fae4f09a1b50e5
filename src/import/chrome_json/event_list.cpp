// The loop over events. The fast reader does nearly all of them.
#include "import/chrome_json/event_list.h"

#include <string>

#include "import/chrome_json/careful_reader.h"
#include "import/chrome_json/learned_reader.h"

namespace stepscope::chrome_json {
namespace {

class EventList {
 public:
  EventList(const char* at, const char* end, std::uint64_t offset, TextEnd text_end, BlockRows& rows)
      : begin_(at), end_(end), offset_(offset), text_end_(text_end), rows_(rows), writer_(rows) {}

  ListResult read() {
    const char* at = begin_;
    for (;;) {
      at = skip_separators(at);
      if (at >= end_) return finish(end_, ListEnd::kTextEnd);
      if (*at == ']') return finish(at + 1, ListEnd::kListEnd);
      const char* const behind = *at == '{' ? read_one(at) : skip_garbage(at);
      if (behind == nullptr) return finish(at, ListEnd::kNeedMore);
      at = behind;
      if (document_starts_) return finish(at, ListEnd::kDocument);
    }
  }

 private:
  static const char* skip_separators(const char* at) {
    while (is_space(*at) || *at == ',') ++at;
    return at;
  }

  std::uint64_t offset_of(const char* at) const { return offset_ + static_cast<std::uint64_t>(at - begin_); }

  const char* read_one(const char* at) {
    const Remarks before = remarks_;
    const char* const behind = reader_.read(at, end_, event_, remarks_);
    if (behind == nullptr || !may_follow(behind)) {
      const bool met_end = behind == nullptr ? remarks_.met_end : skip_space(behind) >= end_;
      remarks_ = before;
      if (met_end && text_end_ != TextEnd::kFile) return nullptr;
      return read_damaged(at);
    }
    ++rows_.event_count;
    writer_.write(event_, offset_of(at));
    return behind;
  }

  bool may_follow(const char* behind) const {
    const char c = *skip_space(behind);
    return c == ',' || c == ']';
  }

  const char* read_damaged(const char* at) {
    const CarefulResult result = read_event_carefully(at, end_, text_end_, event_, remarks_);
    switch (result.reading) {
      case Reading::kNeedMore:
        return nullptr;
      case Reading::kRead:
        ++rows_.event_count;
        writer_.write(event_, offset_of(at));
        if (result.restored_strings > 0) {
          add_note(NoteKind::kUnescapedQuote, NoteSeverity::kRecovered, at, text_at(at, event_.end),
                   result.restored_strings);
        }
        break;
      case Reading::kDropped:
        note_dropped(at, result);
        document_starts_ = result.starts_document;
        break;
    }
    return result.resume;
  }

  const char* skip_garbage(const char* at) {
    const CarefulResult result = skip_damage(at, end_, text_end_);
    if (result.reading == Reading::kNeedMore) return nullptr;
    if (!is_padding(at, result.resume)) note_dropped(at, result);
    document_starts_ = result.starts_document;
    return result.resume;
  }

  // Zero bytes at the end of a file: a file system that lost the last write.
  static bool is_padding(const char* at, const char* end) {
    while (at < end && (*at == '\0' || is_space(*at))) ++at;
    return at == end;
  }

  void note_dropped(const char* at, const CarefulResult& result) {
    if (result.resume == at) return;
    if (result.is_cut) {
      const std::string size = std::to_string(offset_of(end_));
      add_note(NoteKind::kFileCut, NoteSeverity::kLost, end_,
               "file is cut at byte " + size + " of " + size + ", 1 partial event dropped");
      return;
    }
    if (result.too_deep != nullptr) {  // whole, so no sign of two writers
      add_note(NoteKind::kDamagedEvent, NoteSeverity::kLost, result.too_deep,
               "an event nests deeper than " + std::to_string(kDeepestNesting) + " levels");
      if (!rows_.first_too_deep) rows_.first_too_deep = offset_of(result.too_deep);
      return;
    }
    add_note(NoteKind::kDamagedEvent, NoteSeverity::kLost, at, text_at(at, result.resume));
    if (rows_.dropped_count++ == 0) rows_.first_dropped = offset_of(at);
    if (result.is_pieces) ++rows_.pieces_count;
  }

  static std::string_view text_at(const char* at, const char* end) { return {at, static_cast<std::size_t>(end - at)}; }

  void add_note(NoteKind kind, NoteSeverity severity, const char* at, std::string_view example,
                std::uint64_t count = 1) {
    rows_.fragment.notes.add(kind, severity, offset_of(at), example, count);
  }

  ListResult finish(const char* stop, ListEnd end) {
    if (remarks_.bare_values > 0) {
      const char* const first = remarks_.first_bare_value;
      const char* last = first;
      while (!ends_value(*last)) ++last;
      add_note(NoteKind::kBareValue, NoteSeverity::kRecovered, first, text_at(first, last), remarks_.bare_values);
    }
    if (remarks_.big_integers > 0) {
      const char* const first = remarks_.first_big_integer;
      const char* last = first;
      while (is_digit(*last)) ++last;
      add_note(NoteKind::kBigInteger, NoteSeverity::kInfo, first, text_at(first, last), remarks_.big_integers);
    }
    rows_.deferred.seal();
    return {stop, end};
  }

  const char* begin_;
  const char* end_;
  std::uint64_t offset_;
  TextEnd text_end_;
  BlockRows& rows_;
  RowWriter writer_;
  LearnedReader reader_;
  Event event_;
  Remarks remarks_;
  bool document_starts_ = false;
};

}  // namespace

ListResult read_event_list(const char* at, const char* end, std::uint64_t offset, TextEnd text_end, BlockRows& rows) {
  return EventList(at, end, offset, text_end, rows).read();
}

}  // namespace stepscope::chrome_json

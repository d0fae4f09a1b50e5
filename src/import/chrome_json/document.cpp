// A small machine of four states: before a document, among its top-level keys, in its list of events, behind it.
//
// No step takes its reasons from the end of the text, unless the file ends there too: see scan.h.
//
// A file that two processes wrote at once shows itself here in two ways: as damaged events that are pieces of two
// (dropped by the event list), and as events that go on behind the end of the list or of the document.
#include "import/chrome_json/document.h"

#include <algorithm>

#include "import/chrome_json/careful_reader.h"
#include "import/chrome_json/event_reader.h"
#include "import/chrome_json/header.h"
#include "import/chrome_json/scan.h"

namespace stepscope::chrome_json {
namespace {

// One event in the middle that cannot be read may be bad luck with one byte. Where one writer's text lies in
// another's there are two, at its start and its end, or one that is plainly pieces of two; and nothing tells how
// much lies between. Quotes and backslashes in names do not count: they are restored.
bool looks_like_two_writers(std::uint64_t dropped_count, std::uint64_t pieces_count) {
  return dropped_count >= 2 || pieces_count >= 1;
}

// Files of ranks that were joined hold a document a rank; a document costs a trace, however short it is.
constexpr std::size_t kMostDocuments = 1024;

constexpr std::string_view kEventsKey = "\"traceEvents\"";
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

// Values beside the list of events: properties of GPUs, stack frames of other tools. One that does not end within this
// has lost its bracket, and the list of events is looked for inside.
constexpr std::ptrdiff_t kLongestTopContainer = 16 << 20;

std::uint64_t rows_in(const Fragment& fragment) {
  return fragment.ops.size() + fragment.spans.size() + fragment.frames.size() + fragment.calls.size() +
         fragment.gpu_events.size() + fragment.gpu_spans.size() + fragment.memory_events.size() +
         fragment.flows.size() + fragment.counters.size() + fragment.other_events.size();
}

// Does `"traceEvents": [` stand at `at`?
bool is_events_key(const char* at, const char* end, bool& met_end) {
  const auto size = std::min(static_cast<std::size_t>(end - at), kEventsKey.size());
  if (std::string_view(at, size) != kEventsKey.substr(0, size)) return false;
  at = size < kEventsKey.size() ? end : skip_space(at + size);
  const bool has_colon = *at == ':';
  if (has_colon) at = skip_space(at + 1);
  met_end |= at >= end;
  return has_colon && *at == '[';
}

bool opens_document(const char* at, const char* end, bool& met_end) {
  if (*at == '[') return true;
  if (*at != '{' || starts_event_perhaps(at, end, met_end)) return false;
  const char* const key = skip_space(at + 1);
  met_end |= key >= end;
  return key < end && (*key == '"' || *key == '}');
}

const char* read_top_value(const char* at, const char* end, Token& token, Remarks& remarks) {
  if (*at == '[' || *at == '{') return read_container(at, end, kLongestTopContainer, token, remarks);
  return read_value(at, end, token, remarks);
}

}  // namespace

void Documents::take(BlockRows&& rows, ListEnd end, std::uint64_t rows_end) {
  Document& document = *document_;
  document.row_count += rows_in(rows.fragment) + rows.deferred.entries.size();
  document.metadata_count += rows.fragment.metadata_event_count;
  if (rows.dropped_count > 0) {
    if (document.dropped_count == 0) document.first_dropped = rows.first_dropped;
    document.dropped_count += rows.dropped_count;
    document.pieces_count += rows.pieces_count;
  }
  if (!document.first_too_deep) document.first_too_deep = rows.first_too_deep;
  document.is_damaged |= rows.fragment.notes.lost_anything();
  document.has_cut_event |= rows.fragment.notes.count(NoteKind::kFileCut) > 0;
  document.deferred.add_names(rows.place_names);
  document.deferred.add(rows.deferred);
  for (PlaceName& name : rows.place_names) document.builder.set_place_name(std::move(name));
  document.builder.add(std::move(rows.fragment));
  if (end == ListEnd::kListEnd) state_ = document.is_list ? State::kEnd : State::kTop;
  if (end != ListEnd::kDocument) return;
  state_ = State::kEnd;
  document.builder.notes().add(document.is_list ? NoteKind::kArrayUnclosed : NoteKind::kFileCut,
                               document.is_list ? NoteSeverity::kInfo : NoteSeverity::kLost, rows_end,
                               "the list of events ends where another document starts");
}

std::size_t Documents::feed(std::string_view text, std::uint64_t offset, TextEnd text_end) {
  begin_ = text.data();
  end_ = begin_ + text.size();
  offset_ = offset;
  text_end_ = text_end;
  const char* at = begin_;
  while (at < end_) {
    const State before = state_;
    const char* behind = nullptr;
    switch (state_) {
      case State::kStart:
        behind = read_start(at);
        break;
      case State::kTop:
        behind = read_top(at);
        break;
      case State::kEvents:
        behind = read_events(at);
        break;
      case State::kEnd:
        behind = read_end(at);
        break;
    }
    if (behind == at && state_ == before) break;
    at = behind;
  }
  return static_cast<std::size_t>(at - begin_);
}

void Documents::drop(std::string_view text, std::uint64_t offset) {
  if (document_ == nullptr) return;
  document_->is_damaged = true;
  document_->builder.notes().add(NoteKind::kDamagedEvent, NoteSeverity::kLost, offset, text);
}

const char* Documents::read_start(const char* at) {
  if (offset_of(at) == 0) {
    const std::string_view text(at, static_cast<std::size_t>(end_ - at));
    if (needs_more(text.size() < kByteOrderMark.size() && kByteOrderMark.starts_with(text))) return at;
    if (text.starts_with(kByteOrderMark)) at += kByteOrderMark.size();
  }
  while (at < end_ && (is_space(*at) || *at == '\0')) ++at;
  if (at >= end_) return end_;
  if (*at != '{' && *at != '[') {
    open_document(at, false);
    return at;
  }
  bool met_end = false;
  if (*at == '{' && starts_event_perhaps(at, end_, met_end)) {  // events without any list around them
    open_document(at, true);
    return at;
  }
  if (needs_more(met_end)) return at;
  open_document(at, *at == '[');
  return at + 1;
}

void Documents::open_document(const char* at, bool is_list) {
  document_ = std::make_unique<Document>();
  document_->begin = offset_of(at);
  document_->is_list = is_list;
  document_->has_events_key = is_list;
  state_ = is_list ? State::kEvents : State::kTop;
}

const char* Documents::read_top(const char* at) {
  while (is_space(*at) || *at == ',') ++at;
  if (at >= end_) return end_;
  if (*at == '}') {
    state_ = State::kEnd;
    return at + 1;
  }
  Remarks remarks;
  if (is_events_key(at, end_, remarks.met_end)) {
    document_->has_events_key = true;
    state_ = State::kEvents;
    return std::find(at, end_, '[') + 1;
  }
  std::string_view key;
  Token value;
  const char* behind = read_key(at, end_, key, remarks.met_end);
  if (behind != nullptr) behind = read_top_value(behind, end_, value, remarks);
  const char* const next = behind != nullptr ? skip_space(behind) : at;
  if (needs_more(remarks.met_end || next >= end_)) return at;
  if (behind != nullptr && (*next == ',' || *next == '}' || *next == '\0')) {
    take_document_field(key, value, document_->builder, document_->carried);
    return behind;
  }
  return find_way_back(at);
}

// From damage at the top level to the list of events, to events, or to another document.
const char* Documents::find_way_back(const char* at) {
  Document& document = *document_;
  const char* const begin = at;
  bool met_end = false;
  for (; at < end_; ++at) {
    if (*at == '"' && is_events_key(at, end_, met_end)) break;
    if (needs_more(met_end)) return begin;
    if (*at != '{') continue;
    if (starts_document(at, end_, met_end)) {
      note_garbage(begin, at);
      state_ = State::kEnd;
      return at;
    }
    const bool is_value = at > begin && *(at - 1) == ':';
    if (starts_event_surely(at, end_, met_end) ||
        (document.has_events_key && !is_value && starts_event_perhaps(at, end_, met_end))) {
      resume_events(at);
      return at;
    }
    if (needs_more(met_end)) return begin;
  }
  if (at < end_) {
    note_garbage(begin, at);
    state_ = State::kTop;
    return at;
  }
  if (needs_more(true)) return begin;
  note_garbage(begin, end_);
  return end_;
}

void Documents::note_garbage(const char* begin, const char* end) {
  Document& document = *document_;
  document.is_damaged = true;
  const NoteSeverity severity = document.has_events_key ? NoteSeverity::kRecovered : NoteSeverity::kLost;
  document.builder.notes().add(document.has_events_key ? NoteKind::kTrailingText : NoteKind::kFileCut, severity,
                               offset_of(begin), {begin, static_cast<std::size_t>(end - begin)});
}

void Documents::resume_events(const char* at) {
  Document& document = *document_;
  if (document.has_events_key) {
    if (document.dropped_count == 0) document.first_dropped = offset_of(at);
    ++document.dropped_count;
    ++document.pieces_count;
  }
  document.has_events_key = true;
  document.is_damaged = true;
  state_ = State::kEvents;
}

const char* Documents::read_events(const char* at) {
  BlockRows rows;
  const ListResult result = read_event_list(at, end_, offset_of(at), text_end_, rows);
  take(std::move(rows), result.end, offset_of(result.stop));
  return result.stop;
}

const char* Documents::read_end(const char* at) {
  while (at < end_ && (is_space(*at) || *at == '\0')) ++at;
  if (at >= end_) return end_;
  if (ignores_rest_) return end_;
  bool met_end = false;
  const bool opens = opens_document(at, end_, met_end);
  if (needs_more(met_end)) return at;
  if (opens) {
    if (closed_.size() + 1 == kMostDocuments) return ignore_rest(at);
    document_->builder.notes().add(NoteKind::kSecondDocument, NoteSeverity::kInfo, offset_of(at),
                                   "another document starts here");
    close_document(offset_of(at));
    open_document(at, *at == '[');
    return at + 1;
  }
  return find_way_back(at);
}

const char* Documents::ignore_rest(const char* at) {
  ignores_rest_ = true;
  document_->builder.notes().add(NoteKind::kTrailingText, NoteSeverity::kLost, offset_of(at),
                                 "more documents than can be meant; those from here on are not read");
  return end_;
}

void Documents::close_document(std::uint64_t end) {
  Document& document = *document_;
  BlockRows rest = document.deferred.finish();
  for (PlaceName& name : rest.place_names) document.builder.set_place_name(std::move(name));
  document.builder.add(std::move(rest.fragment));
  if (looks_like_two_writers(document.dropped_count, document.pieces_count)) {
    document.builder.notes().add(NoteKind::kInterleavedWriters, NoteSeverity::kUnsound, document.first_dropped,
                                 "the file is corrupt in the middle: two writers suspected", document.dropped_count);
  }
  closed_.push_back(std::move(document_));
  closed_ends_.push_back(end);
}

void Documents::note_unclosed(std::uint64_t end) {
  Document& document = *document_;
  Notes& notes = document.builder.notes();
  if (state_ == State::kEvents) {
    if (document.is_list) {
      notes.add(NoteKind::kArrayUnclosed, NoteSeverity::kInfo, end, "the list of events has no ]");
      return;
    }
    document.is_cut = true;
    if (!document.has_cut_event) {
      notes.add(NoteKind::kFileCut, NoteSeverity::kLost, end,
                "file is cut at byte " + std::to_string(end) + " of " + std::to_string(end) + ", between two events");
    }
  } else if (state_ == State::kTop) {
    document.is_cut = true;
    notes.add(NoteKind::kArrayUnclosed, NoteSeverity::kRecovered, end, "the document has no }");
  }
}

Error Documents::nothing_in(const Document& document) const {
  if (document.is_cut || document.has_cut_event || file_notes_.count(NoteKind::kGzipDamaged) > 0) {
    return {ErrorCode::kDamaged, "the file is cut before its first event", source_};
  }
  if (!document.has_events_key) {
    return {ErrorCode::kUnknownFormat, "not a trace: JSON without a list of events (\"traceEvents\")", source_,
            document.begin};
  }
  if (document.first_too_deep && document.dropped_count == 0) {
    return {ErrorCode::kDamaged,
            "no event could be read: the nesting is deeper than " + std::to_string(kDeepestNesting) + " levels",
            source_, *document.first_too_deep};
  }
  if (document.is_damaged) {
    return {ErrorCode::kDamaged, "no event could be read: the text is damaged", source_, document.begin};
  }
  if (document.metadata_count > 0) return {ErrorCode::kDamaged, "no events but metadata", source_};
  return {ErrorCode::kDamaged, "no events", source_};
}

Result<std::vector<Trace>> Documents::finish(std::uint64_t text_bytes, unsigned threads) {
  if (document_ == nullptr)
    return Error{ErrorCode::kEmpty, text_bytes == 0 ? "file is empty" : "file is blank", source_};
  note_unclosed(text_bytes);
  close_document(text_bytes);
  std::vector<Trace> traces;
  std::optional<Error> first_error;
  for (std::size_t i = 0; i < closed_.size(); ++i) {
    Document& document = *closed_[i];
    if (document.row_count == 0) {
      if (!first_error) first_error = nothing_in(document);
      continue;
    }
    TraceInfo& info = document.builder.info();
    info.source = source_;
    if (info.producer.empty()) info.producer = "chrome-json";
    info.text_bytes = closed_ends_[i] - document.begin;
    document.builder.notes().merge(file_notes_);
    Trace trace = document.builder.finish(threads);
    trace.notes = join_notes(document.carried, trace.notes);
    if (trace.info.event_count > 0)
      traces.push_back(std::move(trace));
    else if (!first_error)
      first_error = nothing_in(document);
    closed_[i].reset();
  }
  if (traces.empty()) return *first_error;
  return traces;
}

}  // namespace stepscope::chrome_json

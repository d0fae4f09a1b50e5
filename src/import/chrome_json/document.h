// The text of a file as documents: what stands before, in, between and behind the lists of events.
//
// Everything but the events is read here, in the order of the file, by one thread. Blocks of events that
// were read elsewhere are taken over when the document stands inside a list at a border between events, which is
// what the reader of blocks hoped for; else the same text is fed here.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "import/chrome_json/deferred_rows.h"
#include "import/chrome_json/event_list.h"
#include "trace/builder.h"

namespace stepscope::chrome_json {

class Documents {
 public:
  explicit Documents(std::string source) : source_(std::move(source)) {}

  // Inside a list of events: a block read as such may be taken.
  [[nodiscard]] bool in_event_list() const { return state_ == State::kEvents; }
  // Rows of text that starts at a border between events, ends at `rows_end`, and of which `end` was the outcome.
  void take(BlockRows&& rows, ListEnd end, std::uint64_t rows_end);
  // Reads `text` (padded), which stands at `offset`. Returns the bytes that are done; the others have to come again
  // with more text behind them, unless the file ends there. Wherever the text is cut, the outcome is the same.
  std::size_t feed(std::string_view text, std::uint64_t offset, TextEnd text_end);
  // Gives up text in which nothing ends.
  void drop(std::string_view text, std::uint64_t offset);

  // Notes that concern the bytes below the text.
  Notes& file_notes() { return file_notes_; }
  Result<std::vector<Trace>> finish(std::uint64_t text_bytes, unsigned threads);

 private:
  enum class State : std::uint8_t { kStart, kTop, kEvents, kEnd };
  struct Document {
    Builder builder;
    DeferredRows deferred;
    Notes carried;                // of the recording that a file of ours was converted from
    std::uint64_t begin = 0;      // byte of the file
    std::uint64_t row_count = 0;  // events that became rows, or wait to
    std::uint64_t metadata_count = 0;
    std::uint64_t dropped_count = 0;
    std::uint64_t pieces_count = 0;
    std::uint64_t first_dropped = 0;
    std::optional<std::uint64_t> first_too_deep;  // of whole events, not among those dropped
    bool is_list = false;                         // a plain list without an object around it
    bool has_events_key = false;
    bool is_damaged = false;
    bool has_cut_event = false;
    bool is_cut = false;  // the text ends before the document does
  };

  // Each reads on at `at` and returns where it stopped; `at` itself in the same state means that it needs more text.
  const char* read_start(const char* at);
  const char* read_top(const char* at);
  const char* read_events(const char* at);
  const char* read_end(const char* at);
  const char* find_way_back(const char* at);
  void note_garbage(const char* begin, const char* end);

  // The text ends before something can be told, and more will come.
  [[nodiscard]] bool needs_more(bool met_end) const { return met_end && text_end_ != TextEnd::kFile; }
  const char* ignore_rest(const char* at);
  void open_document(const char* at, bool is_list);
  void close_document(std::uint64_t end);
  void resume_events(const char* at);
  void note_unclosed(std::uint64_t end);
  [[nodiscard]] Error nothing_in(const Document& document) const;
  [[nodiscard]] std::uint64_t offset_of(const char* at) const {
    return offset_ + static_cast<std::uint64_t>(at - begin_);
  }

  std::string source_;
  State state_ = State::kStart;
  std::unique_ptr<Document> document_;
  std::vector<std::unique_ptr<Document>> closed_;
  std::vector<std::uint64_t> closed_ends_;
  Notes file_notes_;
  bool ignores_rest_ = false;

  // The text being fed.
  const char* begin_ = nullptr;
  const char* end_ = nullptr;
  std::uint64_t offset_ = 0;
  TextEnd text_end_ = TextEnd::kAnywhere;
};

}  // namespace stepscope::chrome_json

// From tokens to rows: which table an event goes to, and its columns.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "import/chrome_json/category.h"
#include "import/chrome_json/jax.h"
#include "import/chrome_json/tokens.h"
#include "trace/builder.h"

namespace stepscope::chrome_json {

// Events that cannot become rows where they stand: B waits for its E, b for its e, and events without a category
// for the name of their process, which says whether it is a device of JAX. Kept as text, in one string.
struct DeferredEvents {
  struct Entry {
    std::uint64_t file_order = 0;
    std::size_t begin = 0;
    std::size_t size = 0;
  };
  std::string text;
  std::vector<Entry> entries;

  void push_back(const Event& event, std::uint64_t file_order);
  // The text is followed by kTextPadding bytes only after seal().
  void seal();
};

// What one block of text becomes.
struct BlockRows {
  Fragment fragment;
  std::vector<PlaceName> place_names;
  DeferredEvents deferred;
  std::uint64_t event_count = 0;  // objects in the list, of whatever kind
  // Damaged events that could not be read, the one at the end of a cut file excepted, and those of them that must be
  // pieces of two events.
  std::uint64_t dropped_count = 0;
  std::uint64_t pieces_count = 0;
  std::uint64_t first_dropped = 0;
  std::optional<std::uint64_t> first_too_deep;  // of whole events that nest too deeply, not among those dropped
};

struct EventTime {
  TimeNs start_ns = 0;
  TimeNs end_ns = 0;
  bool is_bad = false;  // end_ns == start_ns because the duration cannot be true
};

class RowWriter {
 public:
  explicit RowWriter(BlockRows& rows) : rows_(rows), fragment_(rows.fragment) {}

  void write(const Event& event, std::uint64_t file_order);
  // A complete event with the times given: from a pair of B and E.
  void write_pair(const Event& begin, const Event& end, std::uint64_t file_order);
  // An asynchronous pair, b and e: perhaps on two threads.
  void write_async_pair(const Event& begin, const Event& end, std::uint64_t file_order);
  // One without a category whose process is no device of JAX.
  void write_other(const Event& event, std::uint64_t file_order);
  // A begin whose end is missing.
  void write_instant_of_begin(const Event& event, std::uint64_t file_order);
  // One of JAX: a row of its host, or of the stream or row called `thread_name` of a device.
  void write_jax(const Event& event, std::uint64_t file_order, JaxProcess process, std::string_view thread_name);

 private:
  // The text a token stands for, escapes decoded; valid until the next call.
  std::string_view text_of(Token token);
  StringId intern(Token token);
  std::optional<EventTime> times_of(const Event& event);
  ThreadId thread_of(const Event& event);
  void note(NoteKind kind, NoteSeverity severity, std::string_view example);
  void write_complete(const Event& event, EventTime time);
  void write_op(const Event& event, EventTime time);
  void write_span(const Event& event, EventTime time, bool is_async);
  void write_frame(const Event& event, EventTime time);
  void write_call(const Event& event, EventTime time);
  void write_gpu_event(const Event& event, EventTime time, GpuEventKind kind);
  void write_gpu_span(const Event& event, EventTime time);
  void write_memory(const Event& event, TimeNs time_ns);
  void write_other(const Event& event, EventTime time);
  void write_flow(const Event& event);
  void write_counter(const Event& event);
  void write_metadata(const Event& event);
  void write_instant(const Event& event);
  StreamId jax_stream(const Event& event, std::int64_t device, std::string_view thread_name);
  void write_jax_work(const Event& event, EventTime time, std::int64_t device, std::string_view thread_name);
  void write_jax_mark(const Event& event, EventTime time, std::int64_t device, std::string_view thread_name);
  void write_jax_host(const Event& event, EventTime time);
  CollectiveId write_collective(const Event& event);
  std::optional<TimeNs> time_of(const Event& event);
  StreamId stream_of(const Event& event);
  StringId intern_text(std::string_view text) { return intern_text(text, text); }
  StringId intern_text(std::string_view text, std::string_view as_written);
  // The text of a list, which may stand in quotes; empty for anything else.
  StringId intern_list(Token token);
  std::string_view decode(std::string_view text);

  BlockRows& rows_;
  Fragment& fragment_;
  std::uint64_t file_order_ = 0;
  std::string scratch_;
  std::size_t looked_at_ = 0;        // strings of the fragment that were
  std::vector<StringId> forbidden_;  // strings with bytes that JSON forbids, ascending
  std::string last_pid_, last_tid_;
  ThreadId last_thread_;
};

[[nodiscard]] MaybeInt integer_of(Token token);

}  // namespace stepscope::chrome_json

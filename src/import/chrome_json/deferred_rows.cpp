// Matching begins and ends: by nesting on a thread, by id for asynchronous ones.
#include "import/chrome_json/deferred_rows.h"

#include <algorithm>
#include <optional>

#include "import/chrome_json/event_reader.h"
#include "import/chrome_json/jax.h"
#include "import/chrome_json/scan.h"

namespace stepscope::chrome_json {
namespace {

// What waits is kept as text. No file of PyTorch or JAX comes near this; beyond it (names of processes that never
// come, a million begins) events are taken as they are, so that memory does not follow the text.
constexpr std::size_t kMostWaitingBytes = 64 << 20;

std::string padded(const Event& event) {
  std::string text(event.begin, event.end);
  text.append(kTextPadding, '\0');
  return text;
}

// Reads an event that was read before.
bool read_again(const std::string& text, Event& event) {
  Remarks ignored;
  return read_event_again(text.data(), text.data() + text.size() - kTextPadding, event, ignored);
}

std::string key_of(const Event& event, std::initializer_list<Field> fields) {
  std::string key;
  for (const Field field : fields) {
    key += event.fields[field].text();
    key += '\0';
  }
  return key;
}

}  // namespace

// The first name counts, so that the outcome does not depend on which names had come when an event did.
void DeferredRows::add_names(const std::vector<PlaceName>& names) {
  for (const PlaceName& place : names) {
    if (place.is_labels) continue;
    if (place.tid.empty()) {
      process_names_.try_emplace(place.pid, place.name);
    } else {
      thread_names_.try_emplace({place.pid, place.tid}, place.name);
    }
  }
}

void DeferredRows::add(const DeferredEvents& events) {
  Event event;
  Remarks ignored;
  for (const DeferredEvents::Entry& entry : events.entries) {
    const char* const at = events.text.data() + entry.begin;
    if (read_event_again(at, at + entry.size, event, ignored)) add_event(event, entry.file_order);
  }
}

void DeferredRows::add_event(const Event& event, std::uint64_t file_order) {
  const std::initializer_list<Field> thread = {Field::kPid, Field::kTid};
  const std::initializer_list<Field> id = {Field::kCategory, Field::kId, Field::kName};
  switch (event.fields[Field::kPhase].text()[0]) {
    case 'B':
      return begin(open_, key_of(event, thread), event, file_order);
    case 'E':
      return end(open_, key_of(event, thread), event, file_order, false);
    case 'b':
    case 'S':
      return begin(open_async_, key_of(event, id), event, file_order);
    case 'e':
    case 'F':
      return end(open_async_, key_of(event, id), event, file_order, true);
    default:
      if (write_without_category(event, file_order, true)) return;
      if (waiting_bytes_ < kMostWaitingBytes) {
        keep(unnamed_, event, file_order);
      } else {
        writer_.write_other(event, file_order);
      }
  }
}

void DeferredRows::begin(Stacks& stacks, const std::string& key, const Event& event, std::uint64_t file_order) {
  if (waiting_bytes_ < kMostWaitingBytes) {
    keep(stacks[key], event, file_order);
  } else {
    note_unmatched(file_order);
    writer_.write_instant_of_begin(event, file_order);
  }
}

void DeferredRows::keep(std::vector<Waiting>& waiting, const Event& event, std::uint64_t file_order) {
  waiting.push_back({padded(event), file_order});
  waiting_bytes_ += waiting.back().text.size();
}

void DeferredRows::note_unmatched(std::uint64_t file_order) {
  rows_.fragment.notes.add(NoteKind::kUnmatchedBegin, NoteSeverity::kRecovered, file_order,
                           "a begin without an end, kept as an instant");
}

void DeferredRows::end(Stacks& stacks, const std::string& key, const Event& event, std::uint64_t file_order,
                       bool is_async) {
  const auto found = stacks.find(key);
  if (found == stacks.end() || found->second.empty()) {
    rows_.fragment.notes.add(NoteKind::kUnmatchedBegin, NoteSeverity::kRecovered, file_order, "an end without a begin");
    return;
  }
  const Waiting waiting = std::move(found->second.back());
  found->second.pop_back();
  waiting_bytes_ -= waiting.text.size();
  Event first;
  if (!read_again(waiting.text, first)) return;
  if (is_async)
    writer_.write_async_pair(first, event, waiting.file_order);
  else
    writer_.write_pair(first, event, waiting.file_order);
}

bool DeferredRows::write_without_category(const Event& event, std::uint64_t file_order, bool more_names) {
  const std::string pid(event.fields[Field::kPid].text());
  const auto process = process_names_.find(pid);
  if (process == process_names_.end()) return false;
  const JaxProcess jax = jax_process_of(process->second);
  if (jax.kind == JaxProcess::Kind::kNone) {
    writer_.write_other(event, file_order);
    return true;
  }
  const auto thread = thread_names_.find({pid, std::string(event.fields[Field::kTid].text())});
  const bool is_named = thread != thread_names_.end();
  if (!is_named && more_names && jax.kind == JaxProcess::Kind::kDevice) return false;
  writer_.write_jax(event, file_order, jax, is_named ? thread->second : std::string_view{});
  return true;
}

void DeferredRows::give_up(Stacks& stacks) {
  for (auto& [key, stack] : stacks) {
    for (const Waiting& waiting : stack) {
      note_unmatched(waiting.file_order);
      unnamed_.push_back(waiting);
    }
  }
  stacks.clear();
}

BlockRows DeferredRows::finish() {
  give_up(open_);
  give_up(open_async_);
  std::sort(unnamed_.begin(), unnamed_.end(),
            [](const Waiting& a, const Waiting& b) { return a.file_order < b.file_order; });
  Event event;
  for (const Waiting& waiting : unnamed_) {
    if (!read_again(waiting.text, event)) continue;
    if (event.fields[Field::kPhase].text() != "X")
      writer_.write_instant_of_begin(event, waiting.file_order);
    else if (!write_without_category(event, waiting.file_order, false))
      writer_.write_other(event, waiting.file_order);
  }
  unnamed_.clear();
  return std::move(rows_);
}

}  // namespace stepscope::chrome_json

// The buffer of one thread in one recording: a list of chunks, written by the thread and read by whoever stops.
//
//   entry     | head: entry 8, kind 8, words 16 | name or line 32 | ... 8 bytes at a time
//   span      head name start end                                  24 bytes
//   record    head name start end value detail                     40
//   memory    record + address, totals, device                     72
//   detail    head line file flops counts, stack, inputs           as long as it is
//   name      head name                                            8: the thread is called so from now on
//
// The writer fills bytes behind `used` and then publishes them by moving `used` (release); the reader takes what lies
// before it (acquire). A detail is written when its span begins, when shapes and stack are at hand, the record when it
// ends; they meet by number. Writer and recorder each hold the log; the second to let go frees it, so a span that ends
// after the stop writes into memory that nobody reads (a thread that rests keeps its last chunk until it records
// again). Fixed records in a ring were rejected: a ring that overruns loses the oldest, and which record fits which
// then depends on the reader's speed.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

#include "capture/recorder.h"
#include "capture/thread_state.h"

namespace stepscope {

enum class EntryKind : std::uint8_t {
  kEnded,  // a record of something that was counted when it began
  kPoint,  // a record of something that was not
  kTimed,  // the same, with times in nanoseconds instead of ticks
  kDetail,
  kThreadName,
};

struct EntryHead {
  EntryKind entry;
  RecordKind kind;            // of records
  std::uint16_t words_count;  // of 8 bytes, with the head
  std::uint32_t name;         // kDetail: line
};
static_assert(sizeof(EntryHead) == 8);

struct SpanEntry {
  EntryHead head;
  std::uint64_t start;
  std::uint64_t end;
};
struct RecordEntry : SpanEntry {
  std::int64_t value;
  std::uint64_t detail;  // its number in this log, from 1; 0: none
};
struct AllocationEntry : RecordEntry {
  std::uint64_t address;
  std::int64_t total_allocated_bytes;
  std::int64_t total_reserved_bytes;
  std::int32_t device_type;
  std::int32_t device_number;
};
static_assert(sizeof(SpanEntry) == 24 && sizeof(RecordEntry) == 40 && sizeof(AllocationEntry) == 72);
constexpr std::size_t kMostEntryBytes = std::size_t{0xFFFF} * 8;

struct Chunk {
  std::atomic<Chunk*> next{nullptr};
  std::atomic<std::uint32_t> used{0};
  [[nodiscard]] std::byte* bytes() { return reinterpret_cast<std::byte*>(this + 1); }
};

// Memory of all logs of one recording.
struct Budget {
  std::atomic<std::size_t> used_bytes{0};
  std::size_t max_bytes = 0;
  [[nodiscard]] bool take(std::size_t bytes);
};

class ThreadLog {
 public:
  ThreadLog(std::uint64_t number, std::int64_t thread_id, NameId thread_name, std::shared_ptr<Budget> budget);
  ThreadLog(const ThreadLog&) = delete;
  ThreadLog& operator=(const ThreadLog&) = delete;
  // The writer's, and the recorder's.
  void release();

  // Writer: a chunk with `bytes` of room becomes the thread's. False: closed, or no memory.
  bool add_chunk(ThreadState& thread, std::size_t bytes);
  // Writer: counters that only it changes.
  void count_opened() { bump(opened_count); }
  void count_dropped(bool was_open) { bump(was_open ? dropped_open_count : dropped_count); }

  // Reader: from here on the writer gets no more memory.
  void close() { is_closed_.store(true, std::memory_order_relaxed); }
  // Reader: calls visit(entry) for each entry that is published, in order, and frees the chunks that are done with.
  template <class Visit>
  void drain(Visit&& visit);

  const std::uint64_t number;
  const std::int64_t thread_id;
  const NameId thread_name;
  std::atomic<std::uint64_t> opened_count{0};        // spans that began
  std::atomic<std::uint64_t> dropped_count{0};       // entries without room, of things that have no length
  std::atomic<std::uint64_t> dropped_open_count{0};  // spans that ended without room

 private:
  ~ThreadLog();
  static void bump(std::atomic<std::uint64_t>& count) {
    count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }
  static void free_chunk(Chunk* chunk);

  std::atomic<Chunk*> first_{nullptr};
  std::atomic<bool> is_closed_{false};
  std::atomic<int> owners_{2};
  std::size_t next_bytes_;
  bool is_full_ = false;  // the writer's
  std::shared_ptr<Budget> budget_;
};

// Room for `bytes` (a multiple of 8) in the calling thread's log; nullptr: there is none. Then fill it and publish().
inline std::byte* reserve(ThreadState& thread, std::size_t bytes) {
  if (static_cast<std::size_t>(thread.limit - thread.at) < bytes && !thread.log->add_chunk(thread, bytes)) [[unlikely]]
    return nullptr;
  return thread.at;
}
inline void publish(ThreadState& thread, std::size_t bytes) {
  thread.at += bytes;
  thread.chunk->used.store(static_cast<std::uint32_t>(thread.at - thread.chunk->bytes()), std::memory_order_release);
}
template <class Entry>
inline bool append(ThreadState& thread, const Entry& entry) {
  std::byte* const at = reserve(thread, sizeof(Entry));
  if (at == nullptr) [[unlikely]]
    return false;
  new (at) Entry(entry);
  publish(thread, sizeof(Entry));
  return true;
}
template <class Entry>
EntryHead head_of(EntryKind entry, RecordKind kind, std::uint32_t name) {
  return {entry, kind, sizeof(Entry) / 8, name};
}

template <class Visit>
void ThreadLog::drain(Visit&& visit) {
  Chunk* chunk = first_.load(std::memory_order_acquire);
  while (chunk != nullptr) {
    // In this order: once a chunk has a follower, its `used` is final.
    Chunk* const next = chunk->next.load(std::memory_order_acquire);
    const std::uint32_t used = chunk->used.load(std::memory_order_acquire);
    for (std::uint32_t at = 0; at < used;) {
      const auto* head = reinterpret_cast<const EntryHead*>(chunk->bytes() + at);
      visit(*head);
      at += head->words_count * 8U;
    }
    if (next == nullptr) break;  // the writer's still; freed with the log
    first_.store(next, std::memory_order_relaxed);
    free_chunk(chunk);
    chunk = next;
  }
}

}  // namespace stepscope

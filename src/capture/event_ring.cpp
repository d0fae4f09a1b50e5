// Rings of all threads. A thread's ring is a list of segments: the writer fills the last one round and round, and when
// the reader has fallen behind takes one of four times the size, as long as the cap allows. A quiet thread so costs 4
// KiB and a busy one grows once to what its bursts need; after that nothing is allocated. One fixed size was rejected:
// 200 threads of a data loader would take 180 MiB for what one launching thread needs.
//
// Segments come from mmap, since hooks run inside other people's allocators. New rings are handed to the reader by a
// lock-free stack, so that a fork never finds a lock held. A thread's end is noticed by a key of pthread (destructors
// of thread_local objects would have to be registered from inside a hook).
#include "capture/event_ring.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <new>
#include <vector>

#include "capture/recorder.h"

namespace stepscope {
namespace {

// 72 events. 256 KiB hold 4,680: 15 ms at the 300,000 events a second of a launching thread, several drains' worth.
constexpr std::size_t kFirstBytes = 4 << 10;
constexpr std::size_t kMostBytes = 256 << 10;
constexpr std::uint64_t kDefaultCap = std::uint64_t{64} << 20;

struct Segment {
  alignas(64) std::atomic<std::uint64_t> written{0};  // events ever; the writer's
  std::atomic<Segment*> next{nullptr};                // set once the writer has left this segment
  alignas(64) std::atomic<std::uint64_t> taken{0};    // the reader's
  std::size_t bytes = 0;
  std::uint64_t capacity = 0;

  [[nodiscard]] HookEvent* events() { return reinterpret_cast<HookEvent*>(this + 1); }
};

struct Ring {
  Ring* next = nullptr;  // in the stack of new ones
  Segment* first = nullptr;
  RingThread thread;
  std::atomic<bool> is_over{false};
};

// The calling thread's. Plain data: read by hooks that run in destructors, too.
struct Writer {
  Ring* ring = nullptr;
  Segment* segment = nullptr;
  std::uint64_t taken = 0;  // what the reader had taken when last asked
  bool is_over = false;
};
constinit thread_local Writer writer __attribute__((tls_model("initial-exec")));

constinit std::atomic<Ring*> new_rings{nullptr};
constinit std::atomic<std::uint64_t> held_bytes{0};
constinit std::atomic<std::uint64_t> cap_bytes{kDefaultCap};
constinit std::atomic<std::uint64_t> dropped_count{0};
constinit std::atomic<bool> is_child{false};

// The reader's.
// A forked child has a list of its own and never looks into its parent's, which the reader may have been changing at
// that moment. Made at load: a static that the reader is just making would never be made in the child.
struct KnownRings {
  std::vector<Ring*> rings;
  // So that leak checkers see the parent's, pages that nobody touches.
  KnownRings* of_parent = nullptr;
  Ring* new_of_parent = nullptr;
};
std::atomic<KnownRings*>& known() {
  static auto* const one = new std::atomic<KnownRings*>(new KnownRings);
  return *one;
}
[[maybe_unused]] const std::atomic<KnownRings*>& known_at_load = known();
std::vector<Ring*>& known_rings() { return known().load(std::memory_order_relaxed)->rings; }

Segment* new_segment(std::size_t bytes) {
  if (held_bytes.fetch_add(bytes, std::memory_order_relaxed) + bytes <= cap_bytes.load(std::memory_order_relaxed)) {
    void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory != MAP_FAILED) {
      Segment* const made = new (memory) Segment;
      made->bytes = bytes;
      made->capacity = (bytes - sizeof(Segment)) / sizeof(HookEvent);
      return made;
    }
  }
  held_bytes.fetch_sub(bytes, std::memory_order_relaxed);
  return nullptr;
}

void free_segment(Segment* segment) {
  const std::size_t bytes = segment->bytes;
  munmap(segment, bytes);
  held_bytes.fetch_sub(bytes, std::memory_order_relaxed);
}

void note_thread_end(void* ring) {
  writer = {.is_over = true};
  static_cast<Ring*>(ring)->is_over.store(true, std::memory_order_release);
}

struct ThreadEnd {
  pthread_key_t key{};
  bool is_made = false;
  ThreadEnd();
};
void enter_child() {
  is_child.store(true, std::memory_order_relaxed);
  writer = {};
}
ThreadEnd::ThreadEnd() {
  is_made = pthread_key_create(&key, note_thread_end) == 0;
  pthread_atfork(nullptr, nullptr, enter_child);
}
ThreadEnd& thread_end() {
  static auto* const one = new ThreadEnd;
  return *one;
}
[[maybe_unused]] const ThreadEnd& at_load = thread_end();

bool make_ring() noexcept {
  if (writer.is_over || !thread_end().is_made) return false;
  Segment* const segment = new_segment(kFirstBytes);
  if (segment == nullptr) return false;
  Ring* const ring = new (std::nothrow) Ring;
  if (ring == nullptr || pthread_setspecific(thread_end().key, ring) != 0) {
    delete ring;
    free_segment(segment);
    return false;
  }
  char name[16] = {};
  prctl(PR_GET_NAME, name);
  ring->first = segment;
  ring->thread = {gettid(), name};
  writer = {ring, segment, 0, false};
  ring->next = new_rings.load(std::memory_order_relaxed);
  while (!new_rings.compare_exchange_weak(ring->next, ring, std::memory_order_release, std::memory_order_relaxed)) {
  }
  return true;
}

// The calling thread's segment is full: is it really, and if so, is there room for another?
bool make_room() noexcept {
  Segment* const full = writer.segment;
  writer.taken = full->taken.load(std::memory_order_acquire);
  if (full->written.load(std::memory_order_relaxed) - writer.taken < full->capacity) return true;
  Segment* const next = new_segment(std::min(full->bytes * 4, kMostBytes));
  if (next == nullptr) return false;
  writer.segment = next;
  writer.taken = 0;
  full->next.store(next, std::memory_order_release);
  return true;
}

using Take = std::function<void(const RingThread&, std::span<const HookEvent>)>;

void drain_segment(Segment& segment, const RingThread& thread, const Take& take) {
  const std::uint64_t written = segment.written.load(std::memory_order_acquire);
  std::uint64_t taken = segment.taken.load(std::memory_order_relaxed);
  while (taken < written) {
    const std::uint64_t at = taken % segment.capacity;
    const std::uint64_t count = std::min(written - taken, segment.capacity - at);
    take(thread, {segment.events() + at, count});
    taken += count;
    segment.taken.store(taken, std::memory_order_release);
  }
}

// False: the thread is over and everything of it was taken.
bool drain_ring(Ring& ring, const Take& take) {
  // Before the events: what was written before the end is then seen.
  const bool is_over = ring.is_over.load(std::memory_order_acquire);
  while (true) {
    Segment* const next = ring.first->next.load(std::memory_order_acquire);
    drain_segment(*ring.first, ring.thread, take);
    if (next == nullptr) break;
    free_segment(ring.first);
    ring.first = next;
  }
  if (is_over) free_segment(ring.first);
  return !is_over;
}

}  // namespace

constinit std::atomic<bool> hook_events_on{false};

void emit_event(const HookEvent& event) noexcept {
  if (!hook_events_on.load(std::memory_order_relaxed)) return;
  if (is_child.load(std::memory_order_relaxed)) return;
  Segment* segment = writer.segment;
  if (segment == nullptr) [[unlikely]] {
    if (!make_ring()) {
      dropped_count.fetch_add(1, std::memory_order_relaxed);
      return;
    }
    segment = writer.segment;
  }
  std::uint64_t written = segment->written.load(std::memory_order_relaxed);
  if (written - writer.taken >= segment->capacity) [[unlikely]] {
    if (!make_room()) {
      dropped_count.fetch_add(1, std::memory_order_relaxed);
      return;
    }
    segment = writer.segment;
    written = segment->written.load(std::memory_order_relaxed);
  }
  new (segment->events() + written % segment->capacity) HookEvent(event);
  segment->written.store(written + 1, std::memory_order_release);
}

void drain_events(const Take& take) {
  std::vector<Ring*>& rings = known_rings();
  const auto known = static_cast<std::ptrdiff_t>(rings.size());
  for (Ring* ring = new_rings.exchange(nullptr, std::memory_order_acquire); ring != nullptr; ring = ring->next) {
    rings.push_back(ring);
  }
  std::reverse(rings.begin() + known, rings.end());  // in the order of their first events
  std::erase_if(rings, [&](Ring* ring) {
    if (drain_ring(*ring, take)) return false;
    delete ring;
    return true;
  });
}

void watch_ring_forks() { (void)thread_end(); }
std::uint64_t dropped_event_count() { return dropped_count.load(std::memory_order_relaxed); }
std::uint64_t ring_bytes() { return held_bytes.load(std::memory_order_relaxed); }
void set_ring_cap(std::uint64_t bytes) { cap_bytes.store(bytes, std::memory_order_relaxed); }

void allow_events_in_child() {
  auto* const own = new (std::nothrow) KnownRings;
  if (own == nullptr) return;  // it stays silent
  own->of_parent = known().load(std::memory_order_relaxed);
  own->new_of_parent = new_rings.exchange(nullptr, std::memory_order_relaxed);
  known().store(own, std::memory_order_relaxed);
  held_bytes.store(0, std::memory_order_relaxed);
  dropped_count.store(0, std::memory_order_relaxed);
  is_child.store(false, std::memory_order_release);
}

}  // namespace stepscope

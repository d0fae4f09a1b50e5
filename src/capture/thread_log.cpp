// Memory of logs. The first chunk of a log is small, since many threads of a program say a few words only; the later
// ones are large enough that taking one is rare (2,700 spans) and small enough that the last one, half empty, is cheap.
#include "capture/thread_log.h"

#include <algorithm>

namespace stepscope {
namespace {
constexpr std::size_t kFirstChunkBytes = 4 << 10;
constexpr std::size_t kChunkBytes = 64 << 10;
}  // namespace

bool Budget::take(std::size_t bytes) {
  if (used_bytes.fetch_add(bytes, std::memory_order_relaxed) + bytes <= max_bytes) return true;
  used_bytes.fetch_sub(bytes, std::memory_order_relaxed);
  return false;
}

ThreadLog::ThreadLog(std::uint64_t log_number, std::int64_t kernel_thread_id, NameId name,
                     std::shared_ptr<Budget> budget)
    : number(log_number),
      thread_id(kernel_thread_id),
      thread_name(name),
      next_bytes_(kFirstChunkBytes),
      budget_(std::move(budget)) {}

ThreadLog::~ThreadLog() {
  Chunk* chunk = first_.load(std::memory_order_acquire);
  while (chunk != nullptr) {
    Chunk* const next = chunk->next.load(std::memory_order_acquire);
    free_chunk(chunk);
    chunk = next;
  }
}

void ThreadLog::release() {
  if (owners_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
}

void ThreadLog::free_chunk(Chunk* chunk) {
  chunk->~Chunk();
  ::operator delete(static_cast<void*>(chunk));
}

bool ThreadLog::add_chunk(ThreadState& thread, std::size_t bytes) {
  if (is_full_ || is_closed_.load(std::memory_order_relaxed)) return false;
  const std::size_t whole = std::max(next_bytes_, bytes + sizeof(Chunk));
  // Once without room, always: what follows a gap would look complete.
  is_full_ = !budget_->take(whole);
  if (is_full_) return false;
  void* const memory = ::operator new(whole, std::nothrow);
  is_full_ = memory == nullptr;
  if (is_full_) return false;

  Chunk* const chunk = new (memory) Chunk;
  next_bytes_ = kChunkBytes;
  (thread.chunk == nullptr ? first_ : thread.chunk->next).store(chunk, std::memory_order_release);
  thread.chunk = chunk;
  thread.at = chunk->bytes();
  thread.limit = thread.at + (whole - sizeof(Chunk));
  return true;
}

}  // namespace stepscope

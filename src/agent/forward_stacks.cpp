// Tables stay for the life of the process: their threads' numbers are not used again, and 64 of them are 32 MiB of
// which only what was written is ever in memory.
#include "agent/forward_stacks.h"

#include <sys/mman.h>

#include <array>
#include <atomic>

namespace stepscope::agent {
namespace {

// A forward pass of the largest models has some 20,000 operators.
constexpr std::size_t kRemembered = std::size_t{1} << 16;

// Number (its lower half) and stack in one word, so that a reader never sees halves of two.
using Table = std::array<std::atomic<std::uint64_t>, kRemembered>;
struct Slot {
  std::atomic<std::uint64_t> thread_number{0};  // 0: free
  std::atomic<Table*> table{nullptr};
};
constinit std::array<Slot, 64> slots;
constinit thread_local Table* own_table __attribute__((tls_model("initial-exec"))) = nullptr;

Table* make_table(std::uint64_t thread_number) noexcept {
  for (Slot& slot : slots) {
    std::uint64_t free = 0;
    if (!slot.thread_number.compare_exchange_strong(free, thread_number) && free != thread_number) continue;
    if (Table* const known = slot.table.load(std::memory_order_acquire); known != nullptr) return known;
    void* const memory = mmap(nullptr, sizeof(Table), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return nullptr;
    slot.table.store(static_cast<Table*>(memory), std::memory_order_release);
    return static_cast<Table*>(memory);
  }
  return nullptr;
}

}  // namespace

void note_forward_stack(std::uint64_t thread_number, std::int64_t sequence, std::uint32_t stack) noexcept {
  if (own_table == nullptr) own_table = make_table(thread_number);
  if (own_table == nullptr || sequence < 0) return;
  const auto number = static_cast<std::uint64_t>(sequence);
  (*own_table)[number % kRemembered].store(number << 32 | stack, std::memory_order_relaxed);
}

std::uint32_t forward_stack(std::uint64_t thread_number, std::int64_t sequence) noexcept {
  if (thread_number == 0 || sequence < 0) return 0;
  for (const Slot& slot : slots) {
    if (slot.thread_number.load(std::memory_order_relaxed) != thread_number) continue;
    const Table* const table = slot.table.load(std::memory_order_acquire);
    if (table == nullptr) return 0;
    const auto number = static_cast<std::uint64_t>(sequence);
    const std::uint64_t word = (*table)[number % kRemembered].load(std::memory_order_relaxed);
    return static_cast<std::uint32_t>(word >> 32) == static_cast<std::uint32_t>(number)
               ? static_cast<std::uint32_t>(word)
               : 0;
  }
  return 0;
}

}  // namespace stepscope::agent

// What is replaced while others may still look at it is never freed: a forked child's copy of its parent's state, lists
// that a callback may be in. Keeping a pointer to it says so to leak checkers.
#pragma once

#include <atomic>
#include <new>

namespace stepscope::agent {

inline void keep_forever(const void* what) noexcept {
  struct Kept {
    const void* what;
    Kept* next;
  };
  static constinit std::atomic<Kept*> all{nullptr};
  auto* const kept = new (std::nothrow) Kept{what, all.load(std::memory_order_relaxed)};
  while (kept != nullptr && !all.compare_exchange_weak(kept->next, kept, std::memory_order_release)) {
  }
}

}  // namespace stepscope::agent

// The process's pool of names behind a mutex, and the threads' caches before it. XXH3 hashes a short name in 2 to 3 ns.
// The pool is never destroyed: threads may still name things while the process exits.
#include "capture/names.h"

#define XXH_INLINE_ALL
#include <pthread.h>
#include <xxhash.h>

#include <cstring>
#include <limits>
#include <mutex>
#include <new>

#include "base/string_pool.h"
#include "capture/thread_state.h"

namespace stepscope {
namespace {

struct Pool {
  std::mutex mutex;
  StringPool names;
  std::size_t bytes = 0;
  StringId past_limit = names.intern("(names past 64 MiB)");
};

Pool& pool();
void lock_pool() { pool().mutex.lock(); }
void unlock_pool() { pool().mutex.unlock(); }

Pool& pool() {
  static Pool* const one = [] {
    Pool* made = new Pool;
    // So that a child never finds the pool locked by a thread it does not have.
    pthread_atfork(lock_pool, unlock_pool, unlock_pool);
    return made;
  }();
  return *one;
}
[[maybe_unused]] const Pool& at_load = pool();

struct Kept {
  std::uint32_t id;
  std::string_view text;
};

Kept keep(std::string_view text) {
  Pool& all = pool();
  const std::lock_guard lock(all.mutex);
  StringId id = all.names.find(text);
  if (id.empty()) {
    // 64: what the pool's table and list take beside the text.
    const std::size_t bytes = text.size() + 64;
    const bool has_room = text.size() < kMostNameBytes && all.bytes + bytes <= kMostNameBytes;
    id = has_room ? all.names.intern(text) : all.past_limit;
    if (has_room) all.bytes += bytes;
  }
  return {id.value, all.names.view(id)};
}

}  // namespace

NameId intern_name(std::string_view text) {
  if (text.empty()) return NameId(std::size_t{0});
  ThreadState& thread = thread_state;
  if (thread.names == nullptr) {
    if (!adopt_thread()) return NameId(keep(text).id);
    thread.names = new (std::nothrow) NameCache;
    if (thread.names == nullptr) return NameId(keep(text).id);
  }
  NameCache::Slot& slot = thread.names->slots[XXH3_64bits(text.data(), text.size()) % NameCache::kSlots];
  if (slot.text != nullptr && slot.bytes == text.size() && std::memcmp(slot.text, text.data(), text.size()) == 0) {
    return NameId(std::size_t{slot.id});
  }
  const Kept kept = keep(text);
  // Not the shared name of those that found no room: it is another text.
  if (kept.text.size() == text.size()) slot = {kept.text.data(), static_cast<std::uint32_t>(text.size()), kept.id};
  return NameId(std::size_t{kept.id});
}

std::string_view name_text(NameId name) {
  if (!name.has_value()) return {};
  Pool& all = pool();
  const std::lock_guard lock(all.mutex);
  return name.value < all.names.size() ? all.names.view(StringId{name.value}) : std::string_view{};
}

}  // namespace stepscope

// Pushed ranges nest on their thread within a domain; started ones end anywhere and are known by number. Both are
// followed while nothing records, by what it takes to match their ends (2 stores), since a window may open inside one.
//
// Handles of domains and registered strings are numbers of names: no table, and nothing to free.
#include "agent/nvtx.h"

#include <pthread.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>
#include <cwchar>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "agent/fork_hooks.h"
#include "agent/parts.h"
#include "agent/python_code.h"
#include "agent/thread_owned.h"
#include "capture/event_ring.h"

namespace stepscope::agent {
namespace {

constexpr std::size_t kMostPushed = 128;     // on one thread; deeper ones are counted to find their ends
constexpr std::size_t kMostStarted = 65536;  // at once; a program that never ends its ranges would fill the memory

struct OpenRange {
  const NvtxDomain* domain = nullptr;
  TimeNs start_ns = 0;  // 0: began while nothing recorded
  NameId name;
  std::uint32_t stack = 0;
  std::int64_t thread_id = 0;  // of started ones
  bool is_step = false;
};
struct Pushed {
  std::array<OpenRange, kMostPushed> ranges;
  std::uint32_t count = 0;
  std::uint32_t beyond = 0;  // pushes past the array
};
struct Started {
  std::mutex mutex;
  std::uint64_t next = 1;
  std::unordered_map<std::uint64_t, OpenRange> ranges;
};
void lock_started();
void unlock_started();
Started& started() {
  static auto* const one = [] {
    auto* const made = new Started;
    join_forks({lock_started, unlock_started, unlock_started});
    return made;
  }();
  return *one;
}
void lock_started() { started().mutex.lock(); }
void unlock_started() { started().mutex.unlock(); }

template <class Handle>
const Handle* handle_of(NameId name) {
  return reinterpret_cast<const Handle*>(std::uintptr_t{name.value} + 1);
}
NameId name_of(const NvtxString* handle) {
  const auto number = reinterpret_cast<std::uintptr_t>(handle);
  return NameId(number == 0 || number > 0xFFFFFFFF ? std::size_t{0} : number - 1);
}
NameId name_of(const char* text) {
  return text == nullptr ? NameId(std::size_t{0}) : intern_name({text, std::strlen(text)});
}
NameId name_of(const wchar_t* text) {
  if (text == nullptr) return NameId(std::size_t{0});
  const std::string_view stored(reinterpret_cast<const char*>(text), std::wcslen(text) * sizeof(wchar_t));
  return intern_name(utf8_of(stored, sizeof(wchar_t)));
}
NameId name_of(const NvtxEvent* event) {
  // Older versions have a shorter struct without a message.
  if (event == nullptr || event->struct_bytes < sizeof(NvtxEvent)) return NameId(std::size_t{0});
  switch (event->message_type) {
    case NvtxMessage::kAscii:
      return name_of(event->message.ascii);
    case NvtxMessage::kWide:
      return name_of(event->message.wide);
    case NvtxMessage::kRegistered:
      return name_of(event->message.registered);
    case NvtxMessage::kNone:
      break;
  }
  return NameId(std::size_t{0});
}

template <class Text>
OpenRange open_range(const NvtxDomain* domain, Text text) {
  OpenRange range;
  range.domain = domain;
  range.name = name_of(text);
  const bool is_on = hook_events_on.load(std::memory_order_relaxed);
  range.is_step = is_step_mark(name_text(range.name));
  if (!is_on && !range.is_step) return range;
  range.stack = is_on ? python_stack_now() : 0;
  range.start_ns = now_ns();
  return range;
}

void close_range(const OpenRange& range, std::uint16_t flags) {
  if (range.start_ns == 0) return;
  HookEvent event;
  event.kind = HookEventKind::kSpan;
  event.flags = static_cast<std::uint16_t>(WireSpanSource::kNvtx) | flags;
  event.name = range.name;
  event.start_ns = range.start_ns;
  event.end_ns = now_ns();
  event.stack = range.stack;
  event.c = static_cast<std::uint64_t>(range.thread_id);
  emit_event(event);
  if (range.is_step) note_step_mark(name_text(range.name), range.start_ns, event.end_ns);
}

template <class Text>
void mark(const NvtxDomain* domain, Text text) noexcept try {
  OpenRange range = open_range(domain, text);
  close_range(range, 0);
} catch (...) {
}

// NVTX: the number of ranges around this one; < 0 on failure.
template <class Text>
int push(const NvtxDomain* domain, Text text) noexcept try {
  Pushed* const own = ThreadOwned<Pushed>::get();
  if (own == nullptr) return -1;
  int depth = 0;
  for (std::uint32_t i = 0; i < own->count; ++i) depth += own->ranges[i].domain == domain ? 1 : 0;
  if (own->count == kMostPushed) {
    ++own->beyond;
    return depth;
  }
  own->ranges[own->count] = open_range(domain, text);
  ++own->count;
  return depth;
} catch (...) {
  return -1;
}

int pop(const NvtxDomain* domain) noexcept {
  Pushed* const own = ThreadOwned<Pushed>::find();
  if (own == nullptr) return -1;
  if (own->beyond != 0) {
    --own->beyond;
    return static_cast<int>(own->count);
  }
  std::uint32_t at = own->count;
  while (at != 0 && own->ranges[at - 1].domain != domain) --at;
  if (at == 0) return -1;
  const OpenRange range = own->ranges[at - 1];
  for (std::uint32_t i = at; i < own->count; ++i) own->ranges[i - 1] = own->ranges[i];
  --own->count;
  close_range(range, 0);
  int depth = 0;
  for (std::uint32_t i = 0; i + 1 < at; ++i) depth += own->ranges[i].domain == domain ? 1 : 0;
  return depth;
}

template <class Text>
std::uint64_t start(const NvtxDomain* domain, Text text) noexcept try {
  OpenRange range = open_range(domain, text);
  range.thread_id = gettid();
  Started& all = started();
  const std::lock_guard lock(all.mutex);
  if (range.start_ns != 0 && all.ranges.size() < kMostStarted) all.ranges.emplace(all.next, range);
  return all.next++;
} catch (...) {
  return 0;
}

void end(std::uint64_t number) noexcept try {
  Started& all = started();
  std::unique_lock lock(all.mutex);
  const auto found = all.ranges.find(number);
  if (found == all.ranges.end()) return;
  const OpenRange range = found->second;
  all.ranges.erase(found);
  lock.unlock();
  close_range(range, kSpanIsAsync);
} catch (...) {
}

template <class Text>
const NvtxDomain* create_domain(Text name) noexcept try {
  return handle_of<NvtxDomain>(name_of(name));
} catch (...) {
  return nullptr;
}
template <class Text>
const NvtxString* register_string(const NvtxDomain*, Text text) noexcept try {
  return handle_of<NvtxString>(name_of(text));
} catch (...) {
  return nullptr;
}

class Table {
 public:
  Table(const NvtxCallbacksTable& callbacks, std::uint32_t module) {
    if (callbacks.module_functions(module, &places_, &count_) != 1) count_ = 0;
  }
  // The function's type is NVTX's own: a lambda without captures, or one of the functions above.
  template <class Id, class Result, class... Arguments>
  void put(Id id, Result (*function)(Arguments...)) {
    const auto number = static_cast<std::uint32_t>(id);
    if (number >= count_ || places_[number] == nullptr) return;
    *places_[number] = reinterpret_cast<NvtxFunction>(function);
  }
  [[nodiscard]] bool is_there() const { return count_ > 1; }

 private:
  NvtxFunctionTable places_ = nullptr;
  std::uint32_t count_ = 0;
};

void fill_core(Table& core) {
  core.put(
      NvtxCore::kMarkEx, +[](const NvtxEvent* event) { mark(nullptr, event); });
  core.put(
      NvtxCore::kMarkA, +[](const char* text) { mark(nullptr, text); });
  core.put(
      NvtxCore::kMarkW, +[](const wchar_t* text) { mark(nullptr, text); });
  core.put(
      NvtxCore::kRangeStartEx, +[](const NvtxEvent* event) { return start(nullptr, event); });
  core.put(
      NvtxCore::kRangeStartA, +[](const char* text) { return start(nullptr, text); });
  core.put(
      NvtxCore::kRangeStartW, +[](const wchar_t* text) { return start(nullptr, text); });
  core.put(
      NvtxCore::kRangeEnd, +[](std::uint64_t number) { end(number); });
  core.put(
      NvtxCore::kRangePushEx, +[](const NvtxEvent* event) { return push(nullptr, event); });
  core.put(
      NvtxCore::kRangePushA, +[](const char* text) { return push(nullptr, text); });
  core.put(
      NvtxCore::kRangePushW, +[](const wchar_t* text) { return push(nullptr, text); });
  core.put(
      NvtxCore::kRangePop, +[] { return pop(nullptr); });
}

void fill_core2(Table& core2) {
  using Domain = const NvtxDomain*;
  core2.put(
      NvtxCore2::kMarkEx, +[](Domain domain, const NvtxEvent* event) { mark(domain, event); });
  core2.put(
      NvtxCore2::kRangeStartEx, +[](Domain domain, const NvtxEvent* event) { return start(domain, event); });
  core2.put(
      NvtxCore2::kRangeEnd, +[](Domain, std::uint64_t number) { end(number); });
  core2.put(
      NvtxCore2::kRangePushEx, +[](Domain domain, const NvtxEvent* event) { return push(domain, event); });
  core2.put(
      NvtxCore2::kRangePop, +[](Domain domain) { return pop(domain); });
  core2.put(NvtxCore2::kRegisterStringA, register_string<const char*>);
  core2.put(NvtxCore2::kRegisterStringW, register_string<const wchar_t*>);
  core2.put(NvtxCore2::kDomainCreateA, create_domain<const char*>);
  core2.put(NvtxCore2::kDomainCreateW, create_domain<const wchar_t*>);
}

}  // namespace

bool attach_nvtx(NvtxGetTable get_table) noexcept try {
  if (get_table == nullptr) return false;
  const auto* const callbacks = static_cast<const NvtxCallbacksTable*>(get_table(kNvtxCallbacksTable));
  if (callbacks == nullptr || callbacks->struct_bytes < sizeof(NvtxCallbacksTable)) return false;
  ThreadOwned<Pushed>::prepare();
  (void)started();
  Table core(*callbacks, kNvtxCore);
  fill_core(core);
  Table core2(*callbacks, kNvtxCore2);
  fill_core2(core2);
  return core.is_there() || core2.is_there();
} catch (...) {
  return false;
}

}  // namespace stepscope::agent

// NVTX's entry, once for each shared object that has its headers compiled in. 1: taken.
extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx2(
    stepscope::agent::NvtxGetTable get_table) noexcept {
  if (!stepscope::agent::arm("nvtx")) return 0;
  return stepscope::agent::attach_nvtx(get_table) ? 1 : 0;
}

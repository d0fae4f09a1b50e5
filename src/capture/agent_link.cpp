// Looking costs a symbol lookup and a walk of the loaded objects, some us: while the agent is not there, a look is
// repeated only when objects were loaded since the last (the loader counts them), and that is asked every 10 ms.
// The agent is loaded with RTLD_LOCAL by CUDA, so that RTLD_DEFAULT does not show it; a preloaded one it shows.
#include "capture/agent_link.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <string>
#include <unordered_map>

#include "capture/agent_options.h"
#include "capture/names.h"
#include "capture/recorder.h"
#include "capture/state_bits.h"
#include "capture/tick_clock.h"

namespace stepscope {
namespace {

constexpr TimeNs kLookEveryNs = 10'000'000;
// Joining takes 10 ms once (the agent ties its clock); spans that begin meanwhile on other threads wait for it, or a
// program's first threads would go unheard. Not longer than five times that: the agent may be waiting for them.
constexpr TimeNs kMostWaitNs = 50'000'000;
constexpr std::string_view kAgentFile = "libstepscope_agent.so";
// Asynchronous spans that begin and never end must not fill the memory: later ones are not told.
constexpr std::size_t kMostOpenAsync = 100'000;

struct OpenAsync {
  std::uint64_t handle;
  std::uint64_t start_ticks;
  std::int64_t thread_id;
};
struct OpenAsyncs {
  std::mutex mutex;
  std::unordered_map<std::int64_t, OpenAsync> spans;
};
OpenAsyncs& open_asyncs() {
  static auto* const one = new OpenAsyncs;
  return *one;
}

constinit std::atomic<const bridge::Agent*> found_agent{nullptr};   // understood
constinit std::atomic<const bridge::Agent*> joined_agent{nullptr};  // and told of us
constinit std::atomic<bool> is_looking{false};
constinit thread_local bool is_looker __attribute__((tls_model("initial-exec"))) = false;
constinit std::atomic<TimeNs> next_look_ns{0};
constinit std::atomic<std::uint64_t> load_count{0};  // of objects, at the last look

void set_heard(int is_heard) {
  if (is_heard != 0) {
    detail::recorder_state.fetch_or(state_bits::kHeard, std::memory_order_release);
  } else {
    detail::recorder_state.fetch_and(~state_bits::kHeard, std::memory_order_release);
  }
}

bridge::Library& this_library() {
  static bridge::Library library{sizeof(bridge::Library), bridge::kVersion,
                                 static_cast<std::uint32_t>(detail::tick_source), 0, set_heard};
  return library;
}

void stop_seeking() { detail::recorder_state.fetch_and(~state_bits::kSeeks, std::memory_order_relaxed); }

void before_fork() { open_asyncs().mutex.lock(); }
void after_fork_in_parent() { open_asyncs().mutex.unlock(); }
void after_fork_in_child() {
  // The parent's: their ends are the parent's too.
  open_asyncs().spans.clear();
  open_asyncs().mutex.unlock();
  is_looking.store(false, std::memory_order_relaxed);
  is_looker = false;
}
void watch_forks() {
  static const bool is_watched = pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child) == 0;
  (void)is_watched;
}

// A plugin that has this library in it may be unloaded: the agent must not call into it after that.
__attribute__((destructor)) void leave_at_unload() {
  const bridge::Agent* const agent = joined_agent.exchange(nullptr, std::memory_order_acq_rel);
  if (agent == nullptr) return;
  agent->leave(&this_library());
  set_heard(0);
}

int take_load_count(dl_phdr_info* object, std::size_t, void* data) {
  *static_cast<std::uint64_t*>(data) = object->dlpi_adds;
  return 1;
}

int take_agent_path(dl_phdr_info* object, std::size_t, void* data) {
  const std::string_view path = object->dlpi_name == nullptr ? std::string_view{} : object->dlpi_name;
  if (path.substr(path.rfind('/') + 1) != kAgentFile) return 0;
  *static_cast<std::string*>(data) = path;
  return 1;
}

const bridge::Agent* find_symbol() {
  if (void* const shown = dlsym(RTLD_DEFAULT, bridge::kAgentBridgeSymbol)) return static_cast<bridge::Agent*>(shown);
  std::string path;
  dl_iterate_phdr(take_agent_path, &path);
  if (path.empty()) return nullptr;
  // Kept open: it is never unloaded anyway.
  void* const library = dlopen(path.c_str(), RTLD_NOLOAD | RTLD_LAZY);
  return library == nullptr ? nullptr : static_cast<bridge::Agent*>(dlsym(library, bridge::kAgentBridgeSymbol));
}

// Why the two cannot talk; empty: they can.
std::string_view refusal_of(const bridge::Agent& agent) {
  if (agent.version > bridge::kVersion)
    return "the program's Stepscope library is older than the agent and cannot talk to it: link the library of the "
           "agent's version, or run the agent of the library's";
  if (agent.version < bridge::kVersion || agent.size_bytes < sizeof(bridge::Agent))
    return "the agent is older than the program's Stepscope library and cannot talk to it: run the agent of the "
           "library's version";
  return {};
}

// False: nothing has been loaded since the last look.
bool has_loaded_more() {
  std::uint64_t count = 0;
  dl_iterate_phdr(take_load_count, &count);
  return load_count.exchange(count, std::memory_order_relaxed) != count;
}

void wait_for_look(TimeNs until_ns) {
  constexpr timespec kRest{0, 100'000};
  while (!is_looker && is_looking.load(std::memory_order_acquire) &&
         static_cast<TimeNs>(detail::read_monotonic_ns()) < until_ns) {
    nanosleep(&kRest, nullptr);
  }
}

void look_for_agent() {
  const auto now = static_cast<TimeNs>(detail::read_monotonic_ns());
  if (is_looking.load(std::memory_order_acquire)) return wait_for_look(now + kMostWaitNs);
  if (now < next_look_ns.load(std::memory_order_relaxed)) return;
  if (is_looking.exchange(true, std::memory_order_acquire)) return wait_for_look(now + kMostWaitNs);
  is_looker = true;
  next_look_ns.store(now + kLookEveryNs, std::memory_order_relaxed);
  if (has_loaded_more()) {
    std::string_view refusal;
    const bridge::Agent* const agent = find_agent(&refusal);
    if (agent != nullptr) join_agent(agent);
    // Refused, or joined, or not wanted by it: asked once.
    if (agent != nullptr || !refusal.empty()) stop_seeking();
  }
  is_looker = false;
  is_looking.store(false, std::memory_order_release);
}

const bridge::Agent* joined() { return joined_agent.load(std::memory_order_acquire); }

}  // namespace

const bridge::Agent* find_agent(std::string_view* refusal) {
  if (const bridge::Agent* const known = found_agent.load(std::memory_order_acquire)) return known;
  const bridge::Agent* const agent = find_symbol();
  if (agent == nullptr) return nullptr;
  if (const std::string_view why = refusal_of(*agent); !why.empty()) {
    agent->say(why.data());
    if (refusal != nullptr) *refusal = why;
    return nullptr;
  }
  found_agent.store(agent, std::memory_order_release);
  return agent;
}

bool join_agent(const bridge::Agent* agent) {
  if (agent == nullptr) {
    leave_at_unload();
    found_agent.store(nullptr, std::memory_order_release);
    return true;
  }
  if (const std::string_view why = refusal_of(*agent); !why.empty()) {
    agent->say(why.data());
    return false;
  }
  watch_forks();
  found_agent.store(agent, std::memory_order_release);
  // Before it says that it listens.
  joined_agent.store(agent, std::memory_order_release);
  if (agent->join(&this_library()) != 0) return true;
  joined_agent.store(nullptr, std::memory_order_release);
  return false;
}

void seek_agent_if_wanted() {
  if (std::getenv(kAgentOptionsVariable) == nullptr) return;
  watch_forks();
  detail::recorder_state.fetch_or(state_bits::kSeeks, std::memory_order_relaxed);
}

std::uint64_t hear_agent(std::uint64_t state) {
  if ((state & state_bits::kSeeks) == 0) return state;
  look_for_agent();
  return detail::load_recorder_state();
}

std::uint64_t open_agent_span(std::string_view name) {
  const bridge::Agent* const agent = joined();
  return agent == nullptr ? 0 : agent->open_span(name.data(), name.size());
}

void close_agent_span(const detail::OpenSpan& span, std::uint64_t end_ticks) {
  const bridge::Agent* const agent = joined();
  if (agent == nullptr) return;
  const bridge::Span ended{span.agent_handle, span.start_ticks, end_ticks, 0, 0, span.is_operator ? 1U : 0U};
  agent->close_span(&ended);
}

void open_agent_async(std::int64_t id, std::string_view name) {
  const std::uint64_t handle = open_agent_span(name);
  if (handle == 0) return;
  OpenAsyncs& open = open_asyncs();
  const std::lock_guard lock(open.mutex);
  if (open.spans.size() < kMostOpenAsync) open.spans.try_emplace(id, OpenAsync{handle, read_ticks(), gettid()});
}

void close_agent_async(std::int64_t id) {
  const std::uint64_t end_ticks = read_ticks();
  bridge::Span ended{};
  {
    OpenAsyncs& open = open_asyncs();
    const std::lock_guard lock(open.mutex);
    const auto found = open.spans.find(id);
    if (found == open.spans.end()) return;  // ended before, or not heard when it began
    ended = {found->second.handle, found->second.start_ticks, end_ticks, found->second.thread_id, 1, 0};
    open.spans.erase(found);
  }
  if (const bridge::Agent* const agent = joined(); agent != nullptr) agent->close_span(&ended);
}

void write_agent_instant(std::string_view name) {
  detail::OpenSpan point;
  point.agent_handle = open_agent_span(name);
  point.start_ticks = read_ticks();
  if (point.agent_handle != 0) close_agent_span(point, point.start_ticks);
}

void write_agent_counter(std::string_view name, double value) {
  if (const bridge::Agent* const agent = joined(); agent != nullptr)
    agent->write_counter(name.data(), name.size(), read_ticks(), value);
}

void write_agent_allocation(const Allocation& allocation) {
  const bridge::Agent* const agent = joined();
  if (agent == nullptr) return;
  const bridge::Allocation told{read_ticks(),
                                reinterpret_cast<std::uintptr_t>(allocation.address),
                                allocation.bytes,
                                allocation.total_allocated_bytes,
                                allocation.total_reserved_bytes,
                                allocation.is_cuda ? 1 : 0,
                                allocation.device_number};
  agent->write_allocation(&told);
}

void write_agent_step(std::int64_t number, std::uint64_t start_ticks) {
  detail::OpenSpan step;
  step.agent_handle = open_agent_span("ProfilerStep#" + std::to_string(number));
  step.start_ticks = start_ticks;
  if (step.agent_handle != 0) close_agent_span(step, read_ticks());
}

}  // namespace stepscope

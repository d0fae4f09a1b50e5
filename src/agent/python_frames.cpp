// Which interpreter, whether its layout is proven, and whose frames to walk.
//
// Hooks run with and without the GIL. The frames of one's own thread stand still meanwhile either way, so they are read
// without it: no reference is taken, nothing of Python is called but PyGILState_GetThisThreadState. The proof does call
// into Python; it runs the first time that a hook's thread is seen to hold the GIL, so that no hook ever waits for it
// (a wait for the GIL inside cuInit can deadlock with a thread that holds it and enters CUDA).
//
// Measured on 3.11, docs/performance.md.
#include "agent/python_frames.h"

#include <pthread.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <map>
#include <mutex>

#include "agent/fork_hooks.h"
#include "agent/parts.h"
#include "agent/python_look.h"
#include "agent/python_stacks.h"
#include "agent/python_walk.h"
#include "capture/event_ring.h"

namespace stepscope::agent {
namespace {

enum class State : std::uint8_t { kNone, kUnproven, kProven, kRefused };
std::atomic<State> state{State::kNone};
std::atomic<bool> is_proving{false};

struct Python {
  PythonApi api;
  PythonLayout layout;
  PythonVersion version;
};
// Written before `state` leaves kNone.
Python& python() {
  static auto* const one = new Python;
  return *one;
}
Python* found = nullptr;  // &python(), without the guard of a static

// The thread whose state is the current one holds the GIL.
bool holds_gil(const PythonApi& api) {
  void* const own = api.own_thread_state();
  return own != nullptr && own == api.current_thread_state() && api.is_finalizing() == 0;
}

void refuse(const std::string& problem) {
  state.store(State::kRefused);
  complain("no Python stacks: Python " + found->version.text + ": " + problem);
}

// The proof may run code that calls a hook again, and other threads meanwhile.
void prove_if_possible() noexcept try {
  if (!holds_gil(found->api) || is_proving.exchange(true)) return;
  std::string problem;
  switch (prove_layout(found->api, found->layout, problem)) {
    case ProofResult::kProven:
      state.store(State::kProven, std::memory_order_release);
      break;
    case ProofResult::kRefuted:
      refuse(problem);
      break;
    case ProofResult::kLater:
      break;
  }
  is_proving.store(false);
} catch (...) {
  state.store(State::kRefused);
}

// Threads that asked for a stack of their own: those that launch. For python_stack_of.
struct KnownThread {
  std::atomic<std::int64_t> id{0};  // 0: free
  std::atomic<std::uint64_t> python_state{0};
};
std::array<KnownThread, 256> known_threads;
constinit thread_local KnownThread* own_entry __attribute__((tls_model("initial-exec"))) = nullptr;
constinit thread_local bool is_entered __attribute__((tls_model("initial-exec"))) = false;

void forget_thread(void* entry) { static_cast<KnownThread*>(entry)->id.store(0, std::memory_order_release); }
void make_looks();
void forget_all_in_child() {
  make_looks();
  for (KnownThread& thread : known_threads) thread.id.store(0);
  is_entered = false;
  own_entry = nullptr;
}
pthread_key_t thread_key() {
  static const pthread_key_t key = [] {
    pthread_key_t made{};
    pthread_key_create(&made, forget_thread);
    join_forks({nullptr, nullptr, forget_all_in_child});
    return made;
  }();
  return key;
}

void enter_thread(std::uint64_t python_state) {
  is_entered = true;
  const std::int64_t id = gettid();
  for (KnownThread& thread : known_threads) {
    std::int64_t free = 0;
    if (!thread.id.compare_exchange_strong(free, -1)) continue;
    thread.python_state.store(python_state);
    thread.id.store(id, std::memory_order_release);
    own_entry = &thread;
    pthread_setspecific(thread_key(), &thread);
    return;
  }
}

// What the last look at each thread saw. One sampler looks; the lock is for whoever else asks.
struct Looks {
  std::mutex mutex;
  std::map<const KnownThread*, PythonLook> of;
};
std::atomic<Looks*> looks{nullptr};  // a child gets its own: its parent's lock may be held by a thread it does not have

void make_looks() { looks.store(new Looks); }

std::uint32_t own_stack(std::size_t left_out) noexcept {
  const Python& now = *found;
  const auto thread = reinterpret_cast<std::uint64_t>(now.api.own_thread_state());
  if (thread == 0 || now.api.is_finalizing() != 0) return 0;
  if (!is_entered) [[unlikely]]
    enter_thread(thread);
  std::array<RawFrame, kMostPythonFrames> frames;
  const std::size_t count = walk_frames<DirectReader>(now.layout, now.api.code_type, thread, frames);
  if (left_out >= count) return 0;
  return stack_number<DirectReader>(now.layout, {frames.data() + left_out, count - left_out});
}

// What the worker has written of stacks into the file at hand.
struct Written {
  const CaptureFile* file = nullptr;
  std::uint64_t record_count = 0;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> frames;  // (code, line) -> frame
  std::map<std::pair<WireStack, std::uint32_t>, WireStack> stacks;          // (caller, frame) -> stack
};
Written& written_to(const CaptureFile& file) {
  static auto* const one = new Written;
  if (one->file != &file || file.record_count() < one->record_count) *one = {&file, 0, {}, {}};
  one->record_count = file.record_count();
  return *one;
}

std::uint32_t write_frame(CaptureFile& file, Written& written, const StackFrame& frame) {
  const std::uint32_t line = line_of(found->layout.minor, *frame.code, frame.instruction);
  const auto next = static_cast<std::uint32_t>(written.frames.size() + 1);
  const auto [known, is_new] = written.frames.try_emplace({frame.code_number, line}, next);
  if (is_new) {
    file.on(WireFrameDefinition{next, file.intern(frame.code->file), file.intern(frame.code->function), line});
  }
  return known->second;
}

}  // namespace

bool attach_python() noexcept try {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  if (state.load() == State::kNone) {
    const PythonApi api = find_python();
    if (api.version == nullptr) return false;
    Python& now = python();
    now.api = api;
    now.version = parse_python_version(api.version());
    found = &now;
    LayoutGuess guess = guess_layout(now.version.minor, api.runtime);
    if (!api.is_complete()) guess = {{}, "it does not export what a proof needs"};
    now.layout = guess.layout;
    (void)thread_key();
    make_looks();
    if (guess.layout.minor == 0) {
      refuse(guess.problem);
    } else {
      state.store(State::kUnproven, std::memory_order_release);
    }
  }
  if (state.load() == State::kUnproven) prove_if_possible();
  return state.load() == State::kProven || state.load() == State::kUnproven;
} catch (...) {
  return false;
}

std::uint32_t python_stack_now(std::uint32_t left_out) noexcept {
  const State now = state.load(std::memory_order_acquire);
  if (now == State::kProven) [[likely]]
    return own_stack(left_out);
  if (now != State::kUnproven || !hook_events_on.load(std::memory_order_relaxed)) return 0;
  prove_if_possible();
  return state.load(std::memory_order_acquire) == State::kProven ? own_stack(left_out) : 0;
}

std::uint32_t python_stack_of(std::int64_t thread_id) noexcept try {
  if (state.load(std::memory_order_acquire) != State::kProven || thread_id <= 0) return 0;
  const Python& now = *found;
  for (KnownThread& thread : known_threads) {
    if (thread.id.load(std::memory_order_acquire) != thread_id) continue;
    Looks& all = *looks.load();
    const std::lock_guard lock(all.mutex);
    const auto look = all.of.try_emplace(&thread, now.layout, now.api.code_type).first;
    std::array<RawFrame, kMostPythonFrames> frames;
    const std::size_t count = look->second.look(thread.python_state.load(), frames);
    return stack_number<SafeReader>(now.layout, {frames.data(), count});
  }
  return 0;
} catch (...) {
  return 0;
}

WireStack write_python_stack(CaptureFile& file, std::uint32_t stack) {
  Written& written = written_to(file);
  const std::vector<StackFrame> frames = frames_of(stack);
  WireStack caller = 0;
  for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) {
    const std::uint32_t number = write_frame(file, written, *frame);
    const auto next = static_cast<WireStack>(written.stacks.size() + 1);
    const auto [known, is_new] = written.stacks.try_emplace({caller, number}, next);
    if (is_new) file.on(WireStackDefinition{next, caller, number});
    caller = known->second;
  }
  return caller;
}

std::string python_version() noexcept try {
  return state.load(std::memory_order_acquire) == State::kNone ? std::string{} : found->version.text;
} catch (...) {
  return {};
}

const PythonLayout& python_layout() noexcept {
  static const PythonLayout none;
  return state.load(std::memory_order_acquire) == State::kProven ? found->layout : none;
}

void leave_python() noexcept {
  if (state.load() != State::kNone) state.store(State::kRefused);
}

}  // namespace stepscope::agent

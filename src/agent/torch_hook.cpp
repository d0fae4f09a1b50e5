// Operators of PyTorch by its record-function callbacks: two calls of ours an operator, one event when it ends.
//
// One callback for each scope, since a callback is not told the scope but by an inline accessor. Names are interned
// inside the callback: those of backward and dynamic operators are gone after it. What is open lies in an array of the
// thread: operators of one thread end in the order of a stack, spans of the user need not (`with` blocks in
// generators), so spans have an array of their own and are found by the record's address. An operator that ends below
// others takes them with it; one that ends on another thread (asynchronous functions of RPC) leaves a row that goes so.
//
// Rejected: keeping the start in PyTorch's own context object (an allocation an operator); one callback for all scopes
// (needs the offset of the scope); callbacks that are always registered and look at a flag (PyTorch then makes a record
// for each operator, 100 ns, while nothing is recorded).
#include "agent/torch_hook.h"

#include <pthread.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <string_view>

#include "agent/fork_hooks.h"
#include "agent/forward_stacks.h"
#include "agent/keep.h"
#include "agent/loaded_library.h"
#include "agent/parts.h"
#include "agent/thread_owned.h"
#include "agent/torch_inputs.h"
#include "agent/torch_memory.h"
#include "capture/event_ring.h"

namespace stepscope::agent {
namespace {

constexpr std::size_t kMostOps = 128;   // nested on one thread; composite operators in checkpoints reach some 30
constexpr std::size_t kMostSpans = 64;  // open on one thread
constexpr std::string_view kEngine = "autograd::engine::evaluate_function: ";

struct Open {
  const TorchRecord* record;
  TimeNs start_ns;
  std::int64_t sequence;
  std::int64_t forward_thread;
  NameId name;
  std::uint32_t stack;
  std::uint32_t detail;
  bool is_step;
  bool is_heard;   // began inside a window
  bool is_told;    // a span that was written by write_span_for_torch
  bool is_engine;  // autograd's engine around a node; told where forward stacks are kept, of operators alone
};
struct ThreadOps {
  std::uint32_t op_count = 0;
  std::uint32_t span_count = 0;
  std::array<Open, kMostOps> ops;
  std::array<Open, kMostSpans> spans;
  std::string inputs;                 // kept for its memory
  std::uint64_t torch_number = 0;     // PyTorch's of the thread; 0: not asked yet
  std::uint32_t outermost_stack = 0;  // of the operator that is open outermost, where forward stacks are kept
  // The node that ended last inside an operator of autograd's engine, where forward stacks are kept: how deep it lay,
  // when the engine's operator began, which tells it from the next at that depth, and the stack of its forward.
  std::uint32_t ended_depth = 0;
  TimeNs ended_in_ns = 0;
  std::uint32_t ended_stack = 0;
};

struct Hook {
  TorchLibrary torch;
  TorchLayout layout;
  bool takes_stacks = false;
  bool takes_op_stacks = false;       // without a GPU no launch has one
  bool keeps_forward_stacks = false;  // for the backward nodes of graphs that are captured
};
std::atomic<Hook*> hook{nullptr};  // set once and kept: callbacks may be under way on any thread
std::atomic<bool> is_ending{false};
std::atomic<bool> is_warming{false};
std::atomic<std::uint64_t> lost_count{0};

// Guards what is registered.
struct Registration {
  std::mutex mutex;
  TorchDetail detail = TorchDetail::kOff;
  std::array<std::uint64_t, 3> handles{};  // 0: not registered
};
void lock_registration();
void unlock_registration();
Registration& registration() {
  static auto* const one = [] {
    auto* const made = new Registration;
    join_forks({lock_registration, unlock_registration, unlock_registration});
    return made;
  }();
  return *one;
}
void lock_registration() { registration().mutex.lock(); }
void unlock_registration() { registration().mutex.unlock(); }

std::int64_t load_number(const TorchRecord& record, std::uint32_t offset) {
  if (offset == 0) return -1;
  std::int64_t value = 0;
  std::memcpy(&value, reinterpret_cast<const char*>(&record) + offset, sizeof value);
  return value;
}

std::uint32_t inputs_of(const TorchRecord& record, ThreadOps& thread) noexcept try {
  describe_inputs(record, hook.load(std::memory_order_relaxed)->layout, thread.inputs);
  return thread.inputs.empty() ? 0 : intern_name(thread.inputs).value + 1;
} catch (...) {
  return 0;
}

// Those of one pass have the outermost one's stack; inside a backward (a checkpoint that runs its forward again) each
// is asked.
void keep_forward_stack(const Hook& now, ThreadOps& thread, const Open& open) {
  if (thread.op_count == 0) thread.outermost_stack = open.stack != 0 ? open.stack : python_stack_now();
  const std::uint32_t stack = thread.outermost_stack != 0 ? thread.outermost_stack : python_stack_now();
  if (stack == 0 || open.sequence < 0) return;
  if (thread.torch_number == 0) thread.torch_number = now.torch.thread_number();
  note_forward_stack(thread.torch_number, open.sequence, stack);
}

// Outside windows nothing is written; operators are followed there for graphs that are captured (the callbacks of
// launches ask for the innermost one), and in a warm-up step, which takes every stack that launches will ask for.
template <TorchScope kScope, bool kInputs>
std::unique_ptr<TorchContext> start_op(const TorchRecord& record) {
  ThreadOps* const thread = ThreadOwned<ThreadOps>::get();
  if (thread == nullptr) return nullptr;
  if (thread->op_count == kMostOps) [[unlikely]] {
    lost_count.fetch_add(1, std::memory_order_relaxed);
    return nullptr;
  }
  const Hook& now = *hook.load(std::memory_order_relaxed);
  const bool is_heard = hook_events_on.load(std::memory_order_relaxed);
  const bool warms = is_warming.load(std::memory_order_relaxed);
  const bool takes_stack = is_heard ? now.takes_op_stacks : warms && now.takes_stacks;
  const char* const name = now.torch.name(&record);
  Open& open = thread->ops[thread->op_count];
  open.record = &record;
  open.name = name == nullptr ? NameId(std::size_t{0}) : intern_name({name, std::strlen(name)});
  open.sequence = load_number(record, now.layout.sequence);
  open.forward_thread = kScope == TorchScope::kBackward ? load_number(record, now.layout.forward_thread) : -1;
  open.stack = takes_stack && thread->op_count == 0 ? python_stack_now() : 0;
  open.detail = kInputs && (is_heard || warms) ? inputs_of(record, *thread) : 0;
  open.is_heard = is_heard;
  if (now.keeps_forward_stacks) [[unlikely]] {
    open.is_engine = name != nullptr && std::string_view(name).starts_with(kEngine);
    if constexpr (kScope == TorchScope::kFunction) {
      keep_forward_stack(now, *thread, open);
    } else if (thread->op_count == 0) {
      thread->outermost_stack = 0;
    }
  }
  ++thread->op_count;
  open.start_ns = now_ns();  // last: what we did is not the operator's
  return nullptr;
}

void write_op(const Open& open, TimeNs end_ns, WireOpScope scope) {
  if (!open.is_heard) return;
  HookEvent event;
  event.kind = HookEventKind::kOp;
  event.flags = static_cast<std::uint16_t>(scope);
  event.name = open.name;
  event.start_ns = open.start_ns;
  event.end_ns = end_ns;
  event.a = static_cast<std::uint64_t>(open.sequence + 1);
  event.b = open.forward_thread > 0 ? static_cast<std::uint64_t>(open.forward_thread) + 1 : 0;
  event.stack = open.stack;
  event.detail = open.detail;
  emit_event(event);
}

template <TorchScope kScope>
void end_op(const TorchRecord& record, TorchContext*) {
  const TimeNs end_ns = now_ns();
  ThreadOps* const thread = ThreadOwned<ThreadOps>::find();
  if (thread == nullptr) return;
  for (std::uint32_t left = thread->op_count; left != 0; --left) {
    const Open& open = thread->ops[left - 1];
    if (open.record != &record) continue;
    write_op(open, end_ns, kScope == TorchScope::kBackward ? WireOpScope::kBackward : WireOpScope::kFunction);
    thread->op_count = left - 1;
    return;
  }
}

std::uint32_t forward_stack_of(const Open& node) {
  return forward_stack(static_cast<std::uint64_t>(node.forward_thread), node.sequence);
}

// In place of end_op for nodes, where forward stacks are kept: the engine goes on once the node has ended (it sums the
// gradient of a bias, adds up those of a shared input), and what it launches is of the same forward.
void end_node(const TorchRecord& record, TorchContext* context) {
  if (ThreadOps* const thread = ThreadOwned<ThreadOps>::find(); thread != nullptr && thread->op_count >= 2) {
    const Open& node = thread->ops[thread->op_count - 1];
    const Open& around = thread->ops[thread->op_count - 2];
    if (node.record == &record && node.forward_thread > 0 && around.is_engine) {
      thread->ended_depth = thread->op_count - 1;
      thread->ended_in_ns = around.start_ns;
      thread->ended_stack = forward_stack_of(node);
    }
  }
  end_op<TorchScope::kBackward>(record, context);
}

void forget_span(ThreadOps& thread, std::uint32_t at) {
  for (std::uint32_t i = at + 1; i < thread.span_count; ++i) thread.spans[i - 1] = thread.spans[i];
  --thread.span_count;
}

std::uint32_t find_span(const ThreadOps& thread, const TorchRecord& record) {
  std::uint32_t at = thread.span_count;
  while (at != 0 && thread.spans[at - 1].record != &record) --at;
  return at;  // its number from 1; 0: not there
}

std::unique_ptr<TorchContext> start_span(const TorchRecord& record) {
  ThreadOps* const thread = ThreadOwned<ThreadOps>::get();
  const Hook& now = *hook.load(std::memory_order_relaxed);
  if (thread == nullptr) return nullptr;
  const char* const name = now.torch.name(&record);
  if (name == nullptr) return nullptr;
  const std::string_view text(name);
  const bool is_on = hook_events_on.load(std::memory_order_relaxed);
  const bool warms = is_warming.load(std::memory_order_relaxed);
  const bool is_step = is_step_mark(text);
  if (!is_on && !is_step && !warms) return nullptr;
  // A record at this address that never ended here: it ended on another thread.
  if (const std::uint32_t stale = find_span(*thread, record); stale != 0) forget_span(*thread, stale - 1);
  if (thread->span_count == kMostSpans) {
    lost_count.fetch_add(1, std::memory_order_relaxed);
    forget_span(*thread, 0);
  }
  Open& open = thread->spans[thread->span_count++];
  open = {};
  open.record = &record;
  open.name = intern_name(text);
  open.sequence = open.forward_thread = -1;
  // Between windows too where it marks steps: optimizers of one class are told apart by the line that calls them.
  open.stack = now.takes_stacks && (is_on || warms || is_step) ? python_stack_now() : 0;
  open.is_step = is_step;
  open.is_heard = is_on || is_step;
  open.start_ns = now_ns();
  return nullptr;
}

void end_span(const TorchRecord& record, TorchContext*) {
  const TimeNs end_ns = now_ns();
  ThreadOps* const thread = ThreadOwned<ThreadOps>::find();
  if (thread == nullptr) return;
  const std::uint32_t number = find_span(*thread, record);
  if (number == 0) return;
  const Open open = thread->spans[number - 1];
  forget_span(*thread, number - 1);
  if (open.is_told) return;
  write_op(open, end_ns, WireOpScope::kUser);
  // Last: it may open or close a window, which changes what is registered here.
  if (open.is_step) note_step_mark(name_text(open.name), open.start_ns, end_ns, open.stack);
}

template <TorchScope kScope>
TorchCallback op_callback(bool with_inputs, bool keeps_forward_stacks = false) {
  TorchCallback callback;
  callback.start = with_inputs ? start_op<kScope, true> : start_op<kScope, false>;
  callback.end = keeps_forward_stacks && kScope == TorchScope::kBackward ? end_node : end_op<kScope>;
  callback.scopes[static_cast<std::size_t>(kScope)] = true;
  callback.needs_inputs = with_inputs;
  return callback;
}
TorchCallback span_callback() {
  TorchCallback callback;
  callback.start = start_span;
  callback.end = end_span;
  callback.scopes[static_cast<std::size_t>(TorchScope::kUser)] = true;
  return callback;
}

void set_registered(const TorchLibrary& torch, std::uint64_t& handle, bool is_wanted, const TorchCallback& callback) {
  if (is_wanted == (handle != 0)) return;
  if (is_wanted) {
    handle = torch.add(callback);
  } else {
    torch.remove(handle);
    handle = 0;
  }
}

// PyTorch's list of callbacks is destroyed at exit, after this: what is registered later would be used after its end.
void leave_torch() {
  set_torch_detail(TorchDetail::kOff);
  is_ending.store(true);
}

}  // namespace

bool attach_torch_library(const TorchLibrary& torch) noexcept try {
  const TorchProof proof = prove_torch(torch, options().shapes);
  if (!proof.is_proven) {
    complain("no operators of PyTorch " + torch.version + ": " + proof.problem);
    return false;
  }
  if (!proof.missing.empty()) remark("PyTorch " + torch.version + ": not available: " + proof.missing);
  ThreadOwned<ThreadOps>::prepare();
  (void)registration();
  auto* const made =
      new Hook{torch, proof.layout, options().stacks, options().stacks && !is_library_loaded("libcuda.so.1"),
               options().graphs && options().stacks && torch.thread_number != nullptr};
  hook.store(made);
  return true;
} catch (...) {
  return false;
}

bool attach_torch() noexcept try {
  static std::mutex mutex;
  static bool is_refused = false;
  const std::lock_guard lock(mutex);
  if (hook.load() != nullptr) return true;
  if (is_refused) return false;
  const TorchLibrary torch = find_torch();
  if (torch.path.empty()) return false;
  is_refused = !attach_torch_library(torch);
  if (is_refused) return false;
  static const int at_exit = std::atexit(leave_torch);
  (void)at_exit;
  return true;
} catch (...) {
  return false;
}

void set_torch_detail(TorchDetail detail) noexcept try {
  const Hook* const now = hook.load();
  if (now == nullptr || is_ending.load()) return;
  Registration& registered = registration();
  const std::lock_guard lock(registered.mutex);
  if (registered.detail == detail) return;
  registered.detail = detail;
  is_warming.store(detail == TorchDetail::kWarmUp, std::memory_order_relaxed);
  const bool is_full = detail == TorchDetail::kFull || detail == TorchDetail::kWarmUp;
  const bool with_inputs = options().shapes && now->layout.has_shapes();
  auto& handles = registered.handles;
  set_registered(now->torch, handles[0], is_full, op_callback<TorchScope::kFunction>(with_inputs));
  set_registered(now->torch, handles[1], is_full,
                 op_callback<TorchScope::kBackward>(with_inputs, now->keeps_forward_stacks));
  set_registered(now->torch, handles[2], detail != TorchDetail::kOff, span_callback());
  if (detail != TorchDetail::kFull) leave_torch_memory();
  if (!options().allocations || detail == TorchDetail::kOff) return;
  if (detail == TorchDetail::kFull) {
    hear_torch_memory();
  } else {
    (void)prepare_torch_memory();
  }
} catch (...) {
  complain("PyTorch refused a change of its callbacks");
}

void write_span_for_torch(NameId name, TimeNs start_ns, TimeNs end_ns, std::uint32_t stack) noexcept {
  Open told{};
  told.name = name;
  told.start_ns = start_ns;
  told.sequence = told.forward_thread = -1;
  told.stack = stack;
  told.is_heard = true;
  write_op(told, end_ns, WireOpScope::kUser);
  ThreadOps* const thread = ThreadOwned<ThreadOps>::find();
  for (std::uint32_t left = thread == nullptr ? 0 : thread->span_count; left != 0; --left) {
    Open& open = thread->spans[left - 1];
    if (open.name != name || open.is_told) continue;
    open.is_told = true;
    return;
  }
}

NameId innermost_op() noexcept {
  const ThreadOps* const thread = ThreadOwned<ThreadOps>::find();
  return thread == nullptr || thread->op_count == 0 ? NameId(std::size_t{0}) : thread->ops[thread->op_count - 1].name;
}

std::uint32_t forward_stack_now() noexcept {
  const ThreadOps* const thread = ThreadOwned<ThreadOps>::find();
  if (thread == nullptr) return 0;
  for (std::uint32_t left = thread->op_count; left != 0; --left) {
    const Open& open = thread->ops[left - 1];
    if (open.forward_thread > 0) return forward_stack_of(open);
    if (left == thread->ended_depth && open.start_ns == thread->ended_in_ns) return thread->ended_stack;
  }
  return 0;
}

std::string torch_version() noexcept {
  const Hook* const now = hook.load();
  return now == nullptr ? std::string{} : now->torch.version;
}

const TorchLayout& torch_layout() noexcept {
  static const TorchLayout none;
  const Hook* const now = hook.load();
  return now == nullptr ? none : now->layout;
}

std::uint64_t lost_op_count() noexcept { return lost_count.load(std::memory_order_relaxed); }

void detach_torch() noexcept {
  set_torch_detail(TorchDetail::kOff);
  keep_forever(hook.exchange(nullptr));
}

}  // namespace stepscope::agent

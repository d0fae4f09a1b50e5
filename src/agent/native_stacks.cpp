// A stack seen before costs the walk and a look-up under a lock; a new one also the list of modules (0.1 ms with a
// hundred of them). Addresses are turned into (module, address in it) at once: later the module may be gone and another
// in its place. For the same reason the number of objects loaded so far is part of what a stack is known by.
#include "agent/native_stacks.h"

#include <pthread.h>
#include <unwind.h>

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <mutex>
#include <span>
#include <unordered_map>

#include "agent/fork_hooks.h"
#include "agent/imported_function.h"
#include "agent/native_modules.h"
#include "agent/parts.h"
#include "base/hash.h"

namespace stepscope::agent {
namespace {

// As many different ones as calls of cudaMalloc in a large program, many times over; 17 MB.
constexpr std::size_t kMostStacks = 16'384;
// Numbers in the file, so that they never meet those of Python's frames and stacks, which count up from 1.
constexpr std::uint32_t kFirstNumber = 1U << 30;
// Of CUDA's and our own frames, which are dropped.
constexpr std::size_t kMostInnerFrames = 64;

struct Walk {
  std::array<std::uintptr_t, kMostNativeFrames + kMostInnerFrames> addresses;
  std::size_t count = 0;
};

_Unwind_Reason_Code note_frame(_Unwind_Context* context, void* into) {
  auto& walk = *static_cast<Walk*>(into);
  int is_before_call = 0;
  const std::uintptr_t address = _Unwind_GetIPInfo(context, &is_before_call);
  if (address == 0 || walk.count == walk.addresses.size()) return _URC_END_OF_STACK;
  // A return address stands behind its call, perhaps in the next function already.
  walk.addresses[walk.count++] = is_before_call != 0 ? address : address - 1;
  return _URC_NO_REASON;
}

struct Kept {
  std::uint32_t module = 0;
  std::uint64_t address = 0;  // as the module's own headers count
  auto operator<=>(const Kept&) const = default;
};
struct Stacks {
  std::mutex mutex;
  std::unordered_map<std::uint64_t, std::uint32_t> number_of;  // by hash; 0: there is nothing in it but CUDA
  std::deque<std::vector<Kept>> stacks;                        // number - 1, innermost first
  std::deque<NativeModule> modules;
  std::map<std::pair<std::string, std::string>, std::uint32_t> module_of;  // (path, build id)
};

void lock_stacks();
void unlock_stacks();
Stacks& stacks() {
  static auto* const one = [] {
    auto* const made = new Stacks;
    join_forks({lock_stacks, unlock_stacks, unlock_stacks});
    return made;
  }();
  return *one;
}
void lock_stacks() { stacks().mutex.lock(); }
void unlock_stacks() { stacks().mutex.unlock(); }

std::uint64_t hash_of(std::span<const std::uintptr_t> addresses) {
  std::uint64_t hash = loaded_object_count();
  for (const std::uintptr_t address : addresses) hash = MixedHash{}(hash * 31 + address);
  return hash;
}

const NativeModule* find_module(const std::vector<NativeModule>& modules, std::uintptr_t address) {
  const auto found = std::find_if(modules.begin(), modules.end(), [&](const NativeModule& each) {
    return address >= each.begin && address < each.end;
  });
  return found == modules.end() ? nullptr : &*found;
}

std::uint32_t module_number(Stacks& all, const NativeModule& module) {
  const auto [known, is_new] =
      all.module_of.try_emplace({module.path, module.build_id}, static_cast<std::uint32_t>(all.modules.size()));
  if (is_new) all.modules.push_back(module);
  return known->second;
}

std::uint32_t add_stack(std::span<const std::uintptr_t> addresses, std::uint64_t hash) {
  const std::vector<NativeModule> modules = list_native_modules();  // before our lock, since it takes the loader's
  std::vector<const NativeModule*> of(addresses.size());
  std::transform(addresses.begin(), addresses.end(), of.begin(),
                 [&](std::uintptr_t address) { return find_module(modules, address); });
  // The callback runs in CUPTI, which CUDA called: all of it lies inside the program's own call.
  std::size_t first = 0;
  while (first < of.size() && of[first] != nullptr && is_between(*of[first])) ++first;
  Stacks& all = stacks();
  const std::lock_guard lock(all.mutex);
  if (const auto known = all.number_of.find(hash); known != all.number_of.end()) return known->second;
  if (all.number_of.size() >= kMostStacks) {
    remark("native stacks: no room for more different ones; further ones are missing");
    return 0;
  }
  std::vector<Kept> kept;
  for (std::size_t i = first; i < of.size() && kept.size() < kMostNativeFrames; ++i) {
    // Code that a program wrote for itself has no module, and no tables to walk on by.
    if (of[i] != nullptr) kept.push_back({module_number(all, *of[i]), addresses[i] - of[i]->base});
  }
  std::uint32_t number = 0;
  if (!kept.empty()) {
    all.stacks.push_back(std::move(kept));
    number = static_cast<std::uint32_t>(all.stacks.size()) | kNativeStackBit;
  }
  all.number_of.emplace(hash, number);
  return number;
}

// What the worker has written into the file at hand.
struct Written {
  const CaptureFile* file = nullptr;
  std::uint64_t record_count = 0;
  std::map<Kept, std::uint32_t> frames;
  std::map<std::pair<WireStack, std::uint32_t>, WireStack> stacks;  // (caller, frame)
};
Written& written_to(const CaptureFile& file) {
  static auto* const one = new Written;
  if (one->file != &file || file.record_count() < one->record_count) *one = {&file, 0, {}, {}};
  one->record_count = file.record_count();
  return *one;
}

// "plain+0x1a2b 8c0f...": what a reader shows who does not find the module, and knows it by (docs/formats/capture.md).
std::string function_text(const NativeModule& module, std::uint64_t address) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string digits;
  for (std::uint64_t rest = address; rest != 0 || digits.empty(); rest >>= 4) digits += kDigits[rest & 15];
  std::reverse(digits.begin(), digits.end());
  std::string text = module.path.substr(module.path.rfind('/') + 1) + "+0x" + digits;
  return module.build_id.empty() ? text : text + " " + module.build_id;
}

std::uint32_t write_frame(CaptureFile& file, Written& written, const Kept& frame, const NativeModule& module) {
  const auto next = kFirstNumber + static_cast<std::uint32_t>(written.frames.size());
  const auto [known, is_new] = written.frames.try_emplace(frame, next);
  if (is_new) {
    WireFrameDefinition made;
    made.id = next;
    made.file = file.intern(module.path);
    made.function = file.intern(function_text(module, frame.address));
    file.on(made);
  }
  return known->second;
}

}  // namespace

std::uint32_t native_stack_now() noexcept try {
  Walk walk;
  _Unwind_Backtrace(note_frame, &walk);
  if (walk.count == 0) return 0;
  const std::span<const std::uintptr_t> addresses(walk.addresses.data(), walk.count);
  const std::uint64_t hash = hash_of(addresses);
  {
    Stacks& all = stacks();
    const std::lock_guard lock(all.mutex);
    if (const auto known = all.number_of.find(hash); known != all.number_of.end()) return known->second;
  }
  return add_stack(addresses, hash);
} catch (...) {
  return 0;
}

WireStack write_native_stack(CaptureFile& file, std::uint32_t stack) {
  Written& written = written_to(file);
  std::vector<Kept> frames;
  std::vector<NativeModule> modules;  // copied: the program goes on adding to them
  {
    Stacks& all = stacks();
    const std::lock_guard lock(all.mutex);
    const std::uint32_t number = stack & ~kNativeStackBit;
    if (number == 0 || number > all.stacks.size()) return 0;
    frames = all.stacks[number - 1];
    for (const Kept& frame : frames) modules.push_back(all.modules[frame.module]);
  }
  WireStack caller = 0;
  for (std::size_t i = frames.size(); i-- > 0;) {
    const std::uint32_t number = write_frame(file, written, frames[i], modules[i]);
    const auto next = kFirstNumber + static_cast<WireStack>(written.stacks.size());
    const auto [known, is_new] = written.stacks.try_emplace({caller, number}, next);
    if (is_new) file.on(WireStackDefinition{next, caller, number});
    caller = known->second;
  }
  return caller;
}

}  // namespace stepscope::agent

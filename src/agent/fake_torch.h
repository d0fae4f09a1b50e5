// A PyTorch for tests: callbacks and records as ATen/record_function.h lays them out, with faults to choose from.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "agent/torch_library.h"

namespace stepscope::agent {

class FakeTorch {
 public:
  enum class Fault : std::uint8_t { kNone, kWrongName, kNoEnd, kAllScopes, kTwoSequences, kNoIds, kCalledTwice };

  // The 336 bytes of 2.13.
  struct Record {
    const void* virtual_table = nullptr;
    std::array<std::uint64_t, 11> callbacks{};
    std::uint64_t scope = 0;
    std::array<std::uint64_t, 7> started{};
    std::array<std::uint64_t, 5> function{};
    std::int64_t sequence = -1;
    const void* inputs = nullptr;
    std::uint64_t inputs_count = 0;
    std::array<std::uint64_t, 7> keyword_inputs{};
    std::array<std::uint64_t, 3> outputs{};
    std::int64_t forward_thread = 0;
    std::uint64_t handle = 0;
    std::int64_t second_sequence = 0;  // a field that a release might add
    std::array<std::uint64_t, 1> rest{};
  };
  static_assert(sizeof(Record) == 336);

  explicit FakeTorch(Fault fault = Fault::kNone) {
    state() = {};
    state().fault = fault;
  }
  FakeTorch(const FakeTorch&) = delete;
  FakeTorch& operator=(const FakeTorch&) = delete;
  ~FakeTorch() { state() = {}; }

  static TorchLibrary library() {
    TorchLibrary torch;
    torch.add = add;
    torch.remove = remove;
    torch.name = name;
    torch.construct = construct;
    torch.before = before;
    torch.destroy = destroy;
    torch.is_enabled = [] { return state().is_enabled; };
    torch.enable = [](bool on) { state().is_enabled = on; };
    torch.guarded_list = &torch;
    torch.thread_number = [] { return std::uint64_t{1}; };
    torch.version = "9.9.9";
    return torch;
  }
  static std::size_t callback_count() { return state().callbacks.size(); }
  static bool& is_enabled() { return state().is_enabled; }

  // A range as PyTorch runs one: begin, inside(), end.
  static void run(TorchScope scope, std::string_view name, const std::function<void()>& inside = {},
                  std::int64_t sequence = -1, std::int64_t forward_thread = 0) {
    Record record;
    begin(record, scope, name, sequence, forward_thread);
    if (inside) inside();
    end(record);
  }
  static void begin(Record& record, TorchScope scope, std::string_view name, std::int64_t sequence = -1,
                    std::int64_t forward_thread = 0) {
    construct(&record, static_cast<std::uint8_t>(scope));
    record.forward_thread = forward_thread;
    before(&record, name, sequence);
  }
  static void end(Record& record) { destroy(&record); }

 private:
  struct State {
    Fault fault = Fault::kNone;
    bool is_enabled = true;
    std::uint64_t next_handle = 1;
    std::uint64_t next_record = 70;
    std::map<std::uint64_t, TorchCallback> callbacks;
    std::map<const void*, std::string> names;
  };
  static State& state() {
    static State one;
    return one;
  }
  static std::uint64_t add(TorchCallback callback) {
    state().callbacks.emplace(state().next_handle, callback);
    return state().next_handle++;
  }
  static void remove(std::uint64_t handle) { state().callbacks.erase(handle); }
  static const char* name(const TorchRecord* record) {
    if (state().fault == Fault::kWrongName) return "aten::other";
    const auto found = state().names.find(record);
    return found == state().names.end() ? nullptr : found->second.c_str();
  }
  static void construct(void* at, std::uint8_t scope) {
    auto* const record = new (at) Record;
    record->scope = scope;
    if (state().fault != Fault::kNoIds) record->handle = state().next_record++;
  }
  static bool is_for(const TorchCallback& callback, const Record& record) {
    return callback.scopes[record.scope] || state().fault == Fault::kAllScopes;
  }
  static void before(void* at, TorchDescriptor function, std::int64_t sequence) {
    auto& record = *static_cast<Record*>(at);
    record.sequence = sequence;
    if (state().fault == Fault::kTwoSequences) record.second_sequence = sequence;
    state().names[at] = std::get<std::string_view>(function);
    if (!state().is_enabled) return;
    const auto callbacks = state().callbacks;
    for (const auto& [handle, callback] : callbacks) {
      const int times = state().fault == Fault::kCalledTwice ? 2 : 1;
      for (int i = 0; i < times && is_for(callback, record); ++i) callback.start(*static_cast<TorchRecord*>(at));
    }
  }
  static void destroy(void* at) {
    const auto& record = *static_cast<Record*>(at);
    const auto callbacks = state().callbacks;
    for (const auto& [handle, callback] : callbacks) {
      if (!state().is_enabled || state().fault == Fault::kNoEnd || !is_for(callback, record)) continue;
      callback.end(*static_cast<TorchRecord*>(at), nullptr);
    }
    state().names.erase(at);
  }
};

}  // namespace stepscope::agent

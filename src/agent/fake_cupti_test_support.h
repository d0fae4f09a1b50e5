// A CUPTI that does what a test tells it: calls made by "the program", records for them as a test wants them (lost,
// late, doubled, without times), a rival, a refusal.
//
// Table functions have no pointer of their own, so the fake is a global that a test makes and unmakes. Records are
// written into the buffers that the agent gives, as CUPTI does, and handed back by a flush or when a buffer is full.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "agent/cupti_table.h"

namespace stepscope::agent {

class FakeCupti {
 public:
  // What it answers.
  std::uint32_t version = 130001;
  CuptiResult subscribe_result = kCuptiSuccess;
  std::string rival;
  std::map<CuptiKind, CuptiResult> enable_results;
  std::function<void()> on_flush;  // called by each flush, before it acts

  // What it saw.
  int load_count = 0, clock_count = 0;  // of load(), and of clocks registered
  std::atomic<int> subscriber_count{0};
  std::atomic<int> null_buffer_count{0};
  std::atomic<int> flush_count{0}, forced_flush_count{0};
  std::atomic<std::size_t> buffer_request_count{0};
  std::set<CuptiKind> enabled;
  std::set<std::pair<int, std::uint32_t>> callbacks;

  FakeCupti() { current() = this; }
  ~FakeCupti() { current() = nullptr; }
  FakeCupti(const FakeCupti&) = delete;
  FakeCupti& operator=(const FakeCupti&) = delete;

  // For replace_cupti_loader().
  [[nodiscard]] static Result<CuptiTable> load() {
    ++current()->load_count;
    return table();
  }
  [[nodiscard]] static CuptiTable table() {
    CuptiTable table;
    table.path = "fake";
    table.get_version = [](std::uint32_t* number) {
      *number = current()->version;
      return kCuptiSuccess;
    };
    table.get_result_string = [](CuptiResult, const char** text) {
      *text = "FAKE_ERROR";
      return kCuptiSuccess;
    };
    table.activity_enable = [](CuptiKind kind) {
      FakeCupti& self = *current();
      const std::lock_guard lock(self.mutex_);
      const auto refused = self.enable_results.find(kind);
      if (refused != self.enable_results.end()) return refused->second;
      self.enabled.insert(kind);
      return kCuptiSuccess;
    };
    table.activity_disable = [](CuptiKind kind) {
      const std::lock_guard lock(current()->mutex_);
      current()->enabled.erase(kind);
      return kCuptiSuccess;
    };
    table.register_buffers = [](CuptiBufferRequested requested, CuptiBufferCompleted completed) {
      current()->requested_ = requested;
      current()->completed_ = completed;
      return kCuptiSuccess;
    };
    table.register_timestamp = [](CuptiTimestamp now) {
      current()->now_ = now;
      ++current()->clock_count;
      return kCuptiSuccess;
    };
    table.get_timestamp = [](std::uint64_t* now) {
      *now = current()->clock();
      return kCuptiSuccess;
    };
    table.get_next_record = next_record;
    table.get_dropped = [](CuptiContext, std::uint32_t, std::size_t* count) {
      *count = current()->dropped_.exchange(0);
      return kCuptiSuccess;
    };
    table.flush_all = flush_all;
    table.subscribe = [](CuptiSubscriber* subscriber, CuptiCallback callback, void*) {
      return current()->take_subscriber(subscriber, callback);
    };
    table.subscribe_named = [](CuptiSubscriber* subscriber, CuptiCallback callback, void*,
                               CuptiSubscriberParams* params) {
      const CuptiResult result = current()->take_subscriber(subscriber, callback);
      if (result != kCuptiSuccess)
        std::strncpy(params->rival_name, current()->rival.c_str(), params->rival_name_bytes - 1);
      return result;
    };
    table.unsubscribe = [](CuptiSubscriber) {
      FakeCupti& self = *current();
      const std::lock_guard lock(self.mutex_);
      --self.subscriber_count;
      self.callbacks.clear();
      return kCuptiSuccess;
    };
    table.enable_callback = [](std::uint32_t enable, CuptiSubscriber, CuptiDomain domain, std::uint32_t id) {
      const std::lock_guard lock(current()->mutex_);
      const std::pair<int, std::uint32_t> key{static_cast<int>(domain), id};
      if (enable != 0) {
        current()->callbacks.insert(key);
      } else {
        current()->callbacks.erase(key);
      }
      return kCuptiSuccess;
    };
    table.get_callback_name = [](CuptiDomain domain, std::uint32_t id, const char** name) {
      const auto& names = domain == CuptiDomain::kRuntime ? kRuntimeNames : kDriverNames;
      if (id == 0 || id >= names.size()) return 1;
      *name = names[id];
      return kCuptiSuccess;
    };
    table.get_graph_node = [](CuptiGraphNode node, std::uint64_t* number) {
      *number = reinterpret_cast<std::uintptr_t>(node);
      return kCuptiSuccess;
    };
    return table;
  }

  // ---- The program.
  static constexpr std::uint32_t kLaunch = 1, kGraphLaunch = 2, kMemcpy = 3, kSync = 4, kEventRecord = 5, kMalloc = 6,
                                 kFree = 7;
  static constexpr std::uint32_t kDriverLaunch = 1, kMemCreate = 3, kMemMap = 4, kMemUnmap = 5;

  // A runtime call with the driver call inside it, as the CUDA runtime makes them; its correlation number.
  std::uint32_t call(std::uint32_t id, int returned = 0, const std::function<void()>& inside = {}) {
    const std::uint32_t correlation = ++correlation_;
    callback(CuptiDomain::kRuntime, id, 0, correlation, nullptr);
    if (id == kLaunch) callback(CuptiDomain::kDriver, kDriverLaunch, 0, correlation, nullptr);
    if (inside) inside();
    if (id == kLaunch) callback(CuptiDomain::kDriver, kDriverLaunch, 1, correlation, &returned);
    callback(CuptiDomain::kRuntime, id, 1, correlation, &returned);
    return correlation;
  }
  // The same while its stream is being captured: a node comes to be during the call, and nothing runs.
  std::uint32_t captured_call(std::uint32_t id, std::uintptr_t node) {
    return call(id, 0, [&] { graph_node(kGraphNodeCreated, node, 0); });
  }
  void graph_node(std::uint32_t what, std::uintptr_t node, std::uintptr_t original) {
    CuptiGraphData graph{nullptr, nullptr, reinterpret_cast<void*>(node), reinterpret_cast<void*>(original)};
    const CuptiResourceData data{nullptr, nullptr, &graph};
    deliver(CuptiDomain::kResource, what, &data);
  }

  // ---- The device. Records are kept only if their kind was enabled.
  void kernel(std::uint32_t correlation, std::uint64_t start_ns, std::uint64_t end_ns, std::uint64_t graph_node = 0,
              std::uint32_t device = 0) {
    CuptiKernelRecord record{};
    record.kind = CuptiKind::kConcurrentKernel;
    record.start_ns = start_ns;
    record.end_ns = end_ns;
    record.device = device;
    record.stream = 7;
    record.correlation = correlation;
    record.name = "_Z6kernelIfEvPT_";
    record.graph_node = graph_node;
    record.graph = graph_node != 0 ? 1 : 0;
    put(record);
  }
  void launch(std::uint64_t start_ns = 1'000, std::uint64_t end_ns = 2'000) { kernel(call(kLaunch), start_ns, end_ns); }
  void copy(std::uint32_t correlation, std::uint64_t bytes) {
    CuptiMemcpyRecord record{};
    record.kind = CuptiKind::kMemcpy;
    record.copy_kind = 1;
    record.source_kind = 2;
    record.destination_kind = 3;
    record.bytes = bytes;
    record.start_ns = 1'000;
    record.end_ns = 2'000;
    record.correlation = correlation;
    put(record);
  }
  void memory(std::uint32_t correlation, bool is_release, std::uint64_t address, std::uint64_t bytes,
              std::uint64_t time_ns, int memory_kind = 3) {
    CuptiMemoryRecord record{};
    record.kind = CuptiKind::kMemory;
    record.operation = is_release ? 2 : 1;
    record.memory_kind = memory_kind;
    record.correlation = correlation;
    record.address = address;
    record.bytes = bytes;
    record.time_ns = time_ns;
    record.device = 1;
    record.is_async = 1;
    put(record);
  }
  // A call of the driver's that maps memory.
  std::uint32_t driver_call(std::uint32_t id, const void* parameters, int returned = 0) {
    const std::uint32_t correlation = ++correlation_;
    callback(CuptiDomain::kDriver, id, 0, correlation, nullptr, parameters);
    callback(CuptiDomain::kDriver, id, 1, correlation, &returned, parameters);
    return correlation;
  }
  void drop(std::size_t count) { dropped_ += count; }
  // Gives the buffer in use back, as CUPTI does when it is full.
  void hand_over() {
    std::unique_lock lock(mutex_);
    give_back(lock);
  }
  // As another profiler does that has its turn and finalizes CUPTI.
  void replace_clock(CuptiTimestamp now) {
    now_ = now;
    correlation_ = 0;
  }
  [[nodiscard]] std::uint64_t clock() const { return now_ != nullptr ? now_() : 0; }

 private:
  static inline const std::vector<const char*> kRuntimeNames = {nullptr,
                                                                "cudaLaunchKernel_v7000",
                                                                "cudaGraphLaunch_ptsz_v10000",
                                                                "cudaMemcpyAsync_v3020",
                                                                "cudaStreamSynchronize_v3020",
                                                                "cudaEventRecord_v3020",
                                                                "cudaMallocAsync_ptsz_v11020",
                                                                "cudaFreeAsync_ptsz_v11020"};
  static inline const std::vector<const char*> kDriverNames = {nullptr,       "cuLaunchKernel", "cuStreamGetCtx",
                                                               "cuMemCreate", "cuMemMap",       "cuMemUnmap"};
  // A record in a buffer: its bytes, then how many they are.
  static constexpr std::size_t kSlotBytes = 256;

  static FakeCupti*& current() {
    static FakeCupti* one = nullptr;
    return one;
  }

  CuptiResult take_subscriber(CuptiSubscriber* subscriber, CuptiCallback called) {
    const std::lock_guard lock(mutex_);
    if (subscribe_result != kCuptiSuccess) return subscribe_result;
    if (subscriber_count > 0) return kCuptiMultipleSubscribers;
    ++subscriber_count;
    callback_ = called;
    *subscriber = reinterpret_cast<CuptiSubscriber>(this);
    return kCuptiSuccess;
  }

  void callback(CuptiDomain domain, std::uint32_t id, int site, std::uint32_t correlation, const int* returned,
                const void* parameters = nullptr) {
    CuptiCallbackData data{};
    data.parameters = parameters;
    data.site = site;
    data.correlation = correlation;
    data.return_value = returned;
    deliver(domain, id, &data);
  }
  void deliver(CuptiDomain domain, std::uint32_t id, const void* data) {
    CuptiCallback to = nullptr;
    {
      const std::lock_guard lock(mutex_);
      if (callbacks.contains({static_cast<int>(domain), id})) to = callback_;
    }
    if (to != nullptr) to(nullptr, domain, id, data);
  }

  template <class Record>
  void put(const Record& record) {
    static_assert(sizeof(Record) <= kSlotBytes);
    std::unique_lock lock(mutex_);
    if (!enabled.contains(record.kind)) return;
    if (buffer_ != nullptr && used_ + kSlotBytes > bytes_) give_back(lock);
    if (buffer_ == nullptr && !take_buffer(lock)) return;
    std::memcpy(buffer_ + used_, &record, sizeof record);
    used_ += kSlotBytes;
  }
  bool take_buffer(std::unique_lock<std::mutex>& lock) {
    lock.unlock();
    std::uint8_t* given = nullptr;
    std::size_t bytes = 0, most = 0;
    requested_(&given, &bytes, &most);
    lock.lock();
    ++buffer_request_count;
    if (given == nullptr) ++null_buffer_count;
    buffer_ = given;
    bytes_ = bytes;
    used_ = 0;
    return given != nullptr;
  }
  void give_back(std::unique_lock<std::mutex>& lock) {
    std::uint8_t* const full = std::exchange(buffer_, nullptr);
    const std::size_t used = used_;
    const std::size_t bytes = bytes_;
    if (full == nullptr) return;
    lock.unlock();
    completed_(nullptr, 0, full, bytes, used);
    lock.lock();
  }

  static CuptiResult flush_all(std::uint32_t flag) {
    FakeCupti& self = *current();
    ++self.flush_count;
    if (flag != 0) ++self.forced_flush_count;
    if (self.on_flush) self.on_flush();
    self.hand_over();
    return kCuptiSuccess;
  }
  static CuptiResult next_record(std::uint8_t* buffer, std::size_t valid, CuptiRecord** record) {
    auto* next = *record == nullptr ? buffer : reinterpret_cast<std::uint8_t*>(*record) + kSlotBytes;
    if (next + kSlotBytes > buffer + valid) return kCuptiMaxLimitReached;
    *record = reinterpret_cast<CuptiRecord*>(next);
    return kCuptiSuccess;
  }

  std::mutex mutex_;
  CuptiBufferRequested requested_ = nullptr;
  CuptiBufferCompleted completed_ = nullptr;
  CuptiTimestamp now_ = nullptr;
  CuptiCallback callback_ = nullptr;
  std::atomic<std::uint32_t> correlation_{0};
  std::atomic<std::size_t> dropped_{0};
  std::uint8_t* buffer_ = nullptr;
  std::size_t bytes_ = 0, used_ = 0;
};

}  // namespace stepscope::agent

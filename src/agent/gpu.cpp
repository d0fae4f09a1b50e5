// CUPTI's callbacks carry no pointer of ours, so there is one Gpu a process and they find it by a global. It is never
// destroyed: CUPTI may return a buffer while the process exits.
#include "agent/gpu.h"

#include <cstring>
#include <mutex>
#include <new>

#include "agent/keep.h"
#include "agent/parts.h"

namespace stepscope::agent {
namespace {

constinit std::atomic<Gpu*> the_gpu{nullptr};
constinit std::atomic<CuptiLoader> cupti_loader{load_cupti};

// Of this process; a forked child has its own, since the parent's may be locked.
struct Attaching {
  std::mutex mutex;
  std::atomic<bool> was_tried{false};
};
std::atomic<Attaching*>& attaching() {
  static auto* const one = new std::atomic<Attaching*>(new Attaching);
  return *one;
}
[[maybe_unused]] const std::atomic<Attaching*>& at_load = attaching();

// Half of what the agent may take; rings have a quarter, names and tables the rest.
std::size_t buffer_cap(const AgentOptions& options) { return static_cast<std::size_t>(options.max_memory_bytes / 2); }

constinit thread_local bool was_asked_for_time = false;
std::uint64_t timestamp() {
  was_asked_for_time = true;
  return static_cast<std::uint64_t>(now_ns());
}

}  // namespace

Gpu::Gpu(const CuptiTable& table, const AgentOptions& options)
    : table_(table),
      keeps_graphs_(options.graphs),
      keeps_memory_(options.memory),
      keeps_stacks_(options.stacks),
      buffers_(buffer_cap(options)) {}

std::string Gpu::explain(CuptiResult result) const {
  const char* text = nullptr;
  if (table_.get_result_string(result, &text) != kCuptiSuccess || text == nullptr) text = "unknown";
  std::string sentence = std::string(text) + " (CUPTI error " + std::to_string(result) + ")";
  if (result == kCuptiInsufficientPrivileges || result == kCuptiVirtualPrivileges) {
    sentence +=
        ": profiling is restricted to administrators on this machine; run as root or with CAP_SYS_ADMIN, or have the "
        "nvidia module loaded with NVreg_RestrictProfilingToAdminUsers=0 (virtual GPUs: have the host allow it)";
  }
  return sentence;
}

void Gpu::request_buffer(std::uint8_t** buffer, std::size_t* bytes, std::size_t* most_records) {
  Gpu* const gpu = the_gpu.load(std::memory_order_acquire);
  // Without a Gpu (it was detached with CUPTI still at work) one that is lost: anything but nothing.
  const CuptiBuffer given =
      gpu != nullptr ? gpu->buffers_.request()
                     : CuptiBuffer{.bytes = new (std::nothrow) std::uint8_t[kSpareBytes], .size = kSpareBytes};
  *buffer = given.bytes;
  *bytes = given.size;
  *most_records = 0;  // as many as fit
}

void Gpu::complete_buffer(CuptiContext context, std::uint32_t stream, std::uint8_t* buffer, std::size_t,
                          std::size_t valid) {
  Gpu* const gpu = the_gpu.load(std::memory_order_acquire);
  if (gpu == nullptr || buffer == nullptr) return;
  std::size_t dropped = 0;
  if (gpu->table_.get_dropped(context, stream, &dropped) == kCuptiSuccess) {
    gpu->cupti_dropped_count_.fetch_add(dropped, std::memory_order_relaxed);
  }
  if (gpu->buffers_.complete(buffer, valid)) return;
  gpu->each_record(buffer, valid,
                   [&](const CuptiRecord&) { gpu->spare_dropped_count_.fetch_add(1, std::memory_order_relaxed); });
  gpu->buffers_.recycle(buffer);
}

template <class Visit>
void Gpu::each_record(std::uint8_t* buffer, std::size_t valid, Visit&& visit) const {
  if (valid == 0) return;
  CuptiRecord* record = nullptr;
  while (table_.get_next_record(buffer, valid, &record) == kCuptiSuccess && record != nullptr) visit(*record);
}

bool Gpu::attach() noexcept try {
  if (table_.get_version(&version_) != kCuptiSuccess || version_ < kOldestCupti) {
    complain("CUPTI " + std::to_string(version_) + " is older than CUDA 12's: no GPU records");
    return false;
  }
  register_clock();
  calls_ = choose_calls(table_);
  reset_callbacks(&table_, keeps_graphs_, keeps_memory_);
  takes_native_stacks.store(keeps_memory_ && keeps_stacks_, std::memory_order_relaxed);
  // Graphs are captured at any time, windows or not: what they say has to be heard from the start.
  return !keeps_graphs_ || (subscribe() && enable_callbacks());
} catch (...) {
  return false;
}

// CUPTI asked for the time calls the clock that is registered. Only that tells whether ours still is: torch.profiler
// registers one that counts the processor's ticks, and a CUPTI that was finalized has its own again, which is as near
// to ours as CLOCK_REALTIME is steady.
bool Gpu::has_clock() const {
  if (!was_clock_offered_ || table_.get_timestamp == nullptr || table_.register_timestamp == nullptr) {
    return was_clock_offered_;
  }
  was_asked_for_time = false;
  std::uint64_t now = 0;
  return table_.get_timestamp(&now) == kCuptiSuccess && was_asked_for_time;
}

// Before anything is enabled, and again only where another profiler has had its turn meanwhile and left its own: a
// second time shifts the records that are under way. For the same reason not while another profiler records, whose
// times would be on our clock: that one holds the only subscription, and start() tries again. By the plain call, since
// torch.profiler offers its own clock under one.
void Gpu::register_clock() {
  CuptiSubscriber alone = nullptr;
  if (has_clock() || table_.subscribe(&alone, callback, nullptr) != kCuptiSuccess) return;
  const bool is_refused = table_.register_timestamp == nullptr || table_.register_timestamp(timestamp) != kCuptiSuccess;
  if (is_refused && !was_clock_offered_) {
    remark("CUPTI takes no clock of ours: device times are on CLOCK_REALTIME and may drift from the host's");
  }
  if (was_clock_offered_) begin_new_numbers();
  was_clock_offered_ = true;
  (void)table_.unsubscribe(alone);
}

bool Gpu::subscribe() {
  if (subscriber_ != nullptr) return true;
  char rival[128] = {};
  CuptiSubscriberParams params{.name = "stepscope", .rival_name = rival, .rival_name_bytes = sizeof rival};
  const CuptiResult result = table_.subscribe_named != nullptr
                                 ? table_.subscribe_named(&subscriber_, callback, nullptr, &params)
                                 : table_.subscribe(&subscriber_, callback, nullptr);
  if (result == kCuptiSuccess) return true;
  subscriber_ = nullptr;
  if (result == kCuptiMultipleSubscribers) {
    // Who gave no name is "CUPTI for <not provided>".
    const bool is_named = rival[0] != '\0' && std::strchr(rival, '<') == nullptr;
    const std::string name = is_named ? std::string(" (") + rival + ")" : "";
    complain(
        "another profiler" + name +
        " holds CUPTI: the capture goes on without the GPU while it does (torch.profiler, once used, holds it until "
        "the process ends, unless TEARDOWN_CUPTI=1 is set)");
  } else {
    complain("no GPU records: " + explain(result));
  }
  return false;
}

void Gpu::unsubscribe() {
  (void)table_.unsubscribe(subscriber_);
  subscriber_ = nullptr;
}

bool Gpu::enable_callbacks() {
  std::size_t refused_count = 0;
  // Resource callbacks tell which launches go into a graph instead of to the device.
  for (const std::uint32_t id : {kGraphNodeCreated, kGraphNodeCloned}) {
    if (table_.enable_callback(1, subscriber_, CuptiDomain::kResource, id) != kCuptiSuccess) ++refused_count;
  }
  if (is_started()) {
    for (const WatchedCall& call : calls_) {
      if (table_.enable_callback(1, subscriber_, call.domain, call.id) != kCuptiSuccess) ++refused_count;
    }
  }
  if (refused_count > 0)
    remark("CUPTI refused " + std::to_string(refused_count) + " callbacks: some calls are missing");
  return true;
}

bool Gpu::enable_records() {
  std::vector<CuptiKind> kinds = {CuptiKind::kConcurrentKernel, CuptiKind::kMemcpy,          CuptiKind::kMemcpyPeer,
                                  CuptiKind::kMemset,           CuptiKind::kSynchronization, CuptiKind::kOverhead};
  if (keeps_memory_) kinds.push_back(CuptiKind::kMemory);
  for (const CuptiKind kind : kinds) {
    const CuptiResult result = table_.activity_enable(kind);
    if (result == kCuptiSuccess) {
      enabled_.push_back(kind);
    } else if (kind == CuptiKind::kConcurrentKernel) {
      complain("no GPU records: " + explain(result));
      return false;
    } else {
      remark("CUPTI records of kind " + std::to_string(static_cast<int>(kind)) + " are missing: " + explain(result));
    }
  }
  return true;
}

void Gpu::disable_records() {
  for (const CuptiKind kind : enabled_) (void)table_.activity_disable(kind);
  enabled_.clear();
}

bool Gpu::start() noexcept try {
  if (is_started()) return true;
  register_clock();
  if (!subscribe()) return false;
  // Each time: another profiler that had its turn meanwhile has registered its own.
  if (const CuptiResult result = table_.register_buffers(request_buffer, complete_buffer); result != kCuptiSuccess) {
    complain("no GPU records: " + explain(result));
    if (!keeps_graphs_) unsubscribe();
    return false;
  }
  begin_callback_round();
  is_started_.store(true, std::memory_order_relaxed);
  enable_callbacks();
  if (!enable_records()) {
    stop();
    return false;
  }
  set_records_on(true);
  return true;
} catch (...) {
  return false;
}

void Gpu::stop() noexcept {
  if (!is_started()) return;
  set_records_on(false);
  disable_records();
  is_started_.store(false, std::memory_order_relaxed);
  if (!keeps_graphs_) return unsubscribe();
  for (const WatchedCall& call : calls_) (void)table_.enable_callback(0, subscriber_, call.domain, call.id);
}

void Gpu::flush(bool is_forced) noexcept { (void)table_.flush_all(is_forced ? kFlushForced : 0); }

void Gpu::drain(CaptureFile& file, Ledger& ledger) {
  for (const CuptiBuffer& buffer : buffers_.take_full()) {
    each_record(buffer.bytes, buffer.valid, [&](const CuptiRecord& record) { writer_.write(record, file, ledger); });
    buffers_.recycle(buffer.bytes);
  }
  ledger.set_dropped_by_cupti(cupti_dropped_count_.load(std::memory_order_relaxed));
  ledger.set_dropped_by_cap(spare_dropped_count_.load(std::memory_order_relaxed));
}

Gpu* attached_gpu() noexcept { return the_gpu.load(std::memory_order_acquire); }
void replace_gpu(Gpu* gpu) noexcept { the_gpu.store(gpu, std::memory_order_release); }

void replace_cupti_loader(CuptiLoader loader) {
  cupti_loader.store(loader == nullptr ? load_cupti : loader);
  keep_forever(attaching().exchange(new Attaching));
}

void forget_gpu_in_child(bool had_cuda) {
  replace_gpu(nullptr);
  auto* const fresh = new Attaching;
  fresh->was_tried = had_cuda || attaching().load()->was_tried;
  keep_forever(attaching().exchange(fresh));
}

bool attach_gpu(const AgentOptions& options) noexcept try {
  Attaching& mine = *attaching().load();
  const std::lock_guard lock(mine.mutex);
  if (attached_gpu() != nullptr) return true;
  if (mine.was_tried.exchange(true)) return false;
  const Result<CuptiTable> table = cupti_loader.load()();
  if (!table) {
    complain(table.error().message);
    return false;
  }
  Gpu* const gpu = new Gpu(table.value(), options);
  keep_forever(gpu);  // callbacks may have its table, also where it could not attach
  if (!gpu->attach()) return false;
  // Not before: the worker reads what attaching has found. Buffers, which find it by the global, are asked for later.
  replace_gpu(gpu);
  return true;
} catch (...) {
  return false;
}

}  // namespace stepscope::agent

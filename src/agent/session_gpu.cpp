// A Worker wants a CaptureFile, so the session's records go through one that keeps what a session can use and drops the
// rest (operators and ranges of others, which come through the same rings).
#include "agent/session_gpu.h"

#include <unistd.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "agent/agent_state.h"
#include "agent/cupti_callbacks.h"
#include "agent/cupti_table.h"
#include "agent/gpu.h"
#include "agent/gpu_devices.h"
#include "agent/keep.h"
#include "agent/remarks.h"
#include "capture/event_ring.h"

namespace stepscope::agent {
namespace {

using bridge::GpuAnswer;

// Of waiting for the device: the worker's own limit, and some.
constexpr DurationNs kFinishLimitNs = 12'000'000'000;
// Of waiting until the capture's worker has collected its last window: as long as that may take.
constexpr int kMostSettleWaits = 10'000;  // of 1 ms

// What a session gets, in the order in which it came.
struct Collected {
  std::unordered_map<std::string, WireString> ids;
  std::vector<const std::string*> texts;  // by WireString, from 1
  std::vector<WireDevice> devices;
  std::vector<WireCall> calls;
  std::vector<WireGpuEvent> work;
  WireLedger host;
  std::uint64_t record_count = 0;

  [[nodiscard]] const char* text(WireString id) const {
    return id == 0 || id > texts.size() ? "" : texts[id - 1]->c_str();
  }
};

class Collector : public CaptureFile {
 public:
  explicit Collector(Collected& into) : into_(into) {}

  using CaptureFile::on;
  void on(const WireDevice& device) override { keep(into_.devices, device); }
  void on(const WireCall& call) override { keep(into_.calls, call); }
  void on(const WireGpuEvent& event) override { keep(into_.work, event); }
  void on(const WireLedger& ledger) override {
    if (ledger.device == -1) into_.host = ledger;
  }
  WireString intern(std::string_view text) override {
    if (text.empty()) return 0;
    const auto [known, is_new] = into_.ids.try_emplace(std::string(text), 0);
    if (is_new) {
      into_.texts.push_back(&known->first);
      known->second = static_cast<WireString>(into_.texts.size());
    }
    return known->second;
  }
  Status flush() override { return Done{}; }
  Status close(TimeNs) override { return Done{}; }
  [[nodiscard]] Status status() const override { return Done{}; }
  [[nodiscard]] std::uint64_t file_bytes() const override { return 0; }
  [[nodiscard]] std::uint64_t record_count() const override { return into_.record_count; }
  [[nodiscard]] std::uint64_t dropped_record_count() const override { return 0; }

 private:
  template <class Record>
  void keep(std::vector<Record>& records, const Record& record) {
    records.push_back(record);
    ++into_.record_count;
  }
  Collected& into_;
};

struct SessionGpu {
  std::mutex mutex;
  Worker* worker = nullptr;  // while it records
  std::unique_ptr<Collected> collected;
  std::uint64_t dropped_before = 0;  // counters of the process, when it started
};

std::atomic<SessionGpu*>& place() {
  static auto* const one = new std::atomic<SessionGpu*>(new SessionGpu);
  return *one;
}
[[maybe_unused]] const std::atomic<SessionGpu*>& at_load = place();  // for forked children
SessionGpu& session() { return *place().load(std::memory_order_acquire); }

SessionGpuAnswer failed() {
  // Whoever refused has said why; another part may have complained since, which is as true.
  const std::vector<Remark> remarks = remarks_from(0);
  return {GpuAnswer::kFailed, remarks.empty() ? "CUPTI cannot be used in this process" : remarks.back().text};
}

SessionGpuAnswer busy() {
  return {
      GpuAnswer::kBusy,
      "the agent's own capture has the GPU: its file has the GPU's records (`stepscope run --paused` leaves the GPU "
      "to sessions)"};
}

// Under session.mutex and not under the window's.
SessionGpuAnswer attach(const AgentState& agent, bool needs_cuda) {
  if (attached_gpu() == nullptr) {
    if (needs_cuda && !has_cuda()) return {GpuAnswer::kNoCuda};
    if (!attach_gpu(agent.options)) return failed();
    end_before_newcomers();
  }
  end_at_exit();
  return {};
}

// Under the window's mutex. False: its reader may come by.
bool is_capture_at_rest(const AgentState& agent) {
  const Worker* const worker = agent.worker.load();
  return worker == nullptr || worker->is_asleep();
}

// The window's mutex, once the capture does not use the GPU; empty: it does.
std::unique_lock<std::mutex> wait_for_rest(AgentState& agent) {
  for (int i = 0; i < kMostSettleWaits; ++i) {
    std::unique_lock lock(agent.window);
    if (agent.window_is_open) return {};
    if (is_capture_at_rest(agent)) return lock;
    lock.unlock();
    usleep(1'000);
  }
  return {};
}

std::uint64_t count_dropped(const Gpu& gpu) {
  return gpu.dropped_count() + dropped_event_count() + dropped_graph_node_count();
}

bool start_worker(SessionGpu& session) {
  session.collected = std::make_unique<Collected>();
  Collected& into = *session.collected;
  auto worker =
      std::make_unique<Worker>(WorkerSetup{.create_file = [&into]() -> Result<std::unique_ptr<CaptureFile>> {
                                             return std::unique_ptr<CaptureFile>(std::make_unique<Collector>(into));
                                           },
                                           .describe = {},
                                           .describe_devices = write_devices,
                                           .disarm = [] {}});
  if (!worker->start()) return false;
  session.worker = worker.release();
  session.worker->window_opened();
  return true;
}

// Under session.mutex. Nothing of ours is in the program's way after it.
void end(SessionGpu& session) {
  AgentState& agent = state();
  {
    const std::lock_guard lock(agent.window);
    if (Gpu* const gpu = attached_gpu(); gpu != nullptr) gpu->stop();
    hook_events_on.store(false, std::memory_order_relaxed);
  }
  Worker* const worker = std::exchange(session.worker, nullptr);
  worker->window_closed({});
  if (worker->finish(kFinishLimitNs)) {
    delete worker;
    const std::lock_guard lock(agent.window);
    if (Gpu* const gpu = attached_gpu(); gpu != nullptr) gpu->leave_file();
    agent.session_has_gpu = false;
    return;
  }
  // Its thread hangs in CUPTI and may still write: what it has is left to it, and so is the GPU.
  complain("the GPU's records of a session could not be collected: the device did not answer in time");
  keep_forever(worker);
  keep_forever(session.collected.release());
}

std::int64_t or_missing(const MaybeInt& value) { return value.value_or(-1); }

void tell_devices(const Collected& all, const bridge::GpuSink& sink) {
  for (const WireDevice& device : all.devices) {
    const bridge::GpuDevice told{device.number,
                                 or_missing(device.memory_bytes),
                                 or_missing(device.sm_count),
                                 or_missing(device.compute_major),
                                 or_missing(device.compute_minor),
                                 all.text(device.name)};
    sink.on_device(sink.context, &told);
  }
}

void tell_work(const Collected& all, const bridge::GpuSink& sink) {
  for (const WireCall& call : all.calls) {
    const bridge::GpuCall told{call.start_ns, call.end_ns, call.thread_id, std::int64_t{call.correlation},
                               all.text(call.name)};
    sink.on_call(sink.context, &told);
  }
  for (const WireGpuEvent& event : all.work) {
    bridge::GpuWork told{};
    told.start_ns = event.start_ns;
    told.end_ns = event.end_ns;
    told.stream = event.stream;
    told.correlation = std::int64_t{event.correlation};
    told.bytes = or_missing(event.bytes);
    told.name = all.text(event.name);
    told.kind = event.kind == WireGpuKind::kKernel ? bridge::GpuWorkKind::kKernel
                : event.kind == WireGpuKind::kCopy ? bridge::GpuWorkKind::kCopy
                                                   : bridge::GpuWorkKind::kSet;
    told.device = event.device;
    told.grid[0] = event.grid_x, told.grid[1] = event.grid_y, told.grid[2] = event.grid_z;
    told.block[0] = event.block_x, told.block[1] = event.block_y, told.block[2] = event.block_z;
    told.registers_count = event.registers_count;
    told.shared_bytes = event.shared_bytes;
    sink.on_work(sink.context, &told);
  }
}

}  // namespace

SessionGpuAnswer prepare_session_gpu(bool needs_cuda) {
  SessionGpu& mine = session();
  const std::lock_guard lock(mine.mutex);
  if (mine.worker != nullptr) return {};
  AgentState& agent = state();
  if (agent.window_is_open) return busy();
  SessionGpuAnswer attached = attach(agent, needs_cuda);
  if (attached.answer == GpuAnswer::kStarted) prepare_window();
  return attached;
}

SessionGpuAnswer start_session_gpu(bool needs_cuda) {
  SessionGpu& mine = session();
  const std::lock_guard lock(mine.mutex);
  if (mine.worker != nullptr) return {GpuAnswer::kBusy, "another session of this process has the GPU"};
  AgentState& agent = state();
  if (agent.window_is_open) return busy();
  if (SessionGpuAnswer attached = attach(agent, needs_cuda); attached.answer != GpuAnswer::kStarted) return attached;
  const std::unique_lock window = wait_for_rest(agent);
  // The last: an earlier session's worker hangs.
  if (!window.owns_lock() || agent.session_has_gpu) return busy();
  Gpu* const gpu = attached_gpu();
  gpu->leave_file();
  mine.dropped_before = count_dropped(*gpu);
  hook_events_on.store(true, std::memory_order_relaxed);
  if (gpu->start()) {
    if (start_worker(mine)) {
      agent.session_has_gpu = true;
      return {};
    }
    gpu->stop();
    complain("no GPU records for a session: no thread could be started");
  }
  hook_events_on.store(false, std::memory_order_relaxed);
  return failed();
}

void stop_session_gpu(const bridge::GpuSink& sink) {
  SessionGpu& mine = session();
  const std::lock_guard lock(mine.mutex);
  if (mine.worker != nullptr) end(mine);
  std::uint64_t dropped_count = 0;
  if (const std::unique_ptr<Collected> all = std::move(mine.collected); all != nullptr) {
    tell_devices(*all, sink);
    tell_work(*all, sink);
    const WireLedger& ledger = all->host;
    // Launches without a record are lost as well; counters of the process start where it began.
    if (const Gpu* const gpu = attached_gpu(); gpu != nullptr)
      dropped_count = count_dropped(*gpu) - mine.dropped_before;
    dropped_count += ledger.unmatched_count;
  }
  sink.on_end(sink.context, dropped_count);
}

void end_session_gpu() noexcept try {
  SessionGpu& mine = session();
  const std::lock_guard lock(mine.mutex);
  if (mine.worker != nullptr) end(mine);
} catch (...) {
  // The process ends anyway.
}

void forget_session_gpu() noexcept {
  auto* const fresh = new (std::nothrow) SessionGpu;
  if (fresh != nullptr) keep_forever(place().exchange(fresh, std::memory_order_acq_rel));
}

}  // namespace stepscope::agent

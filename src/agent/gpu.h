// The GPU side of the agent: CUPTI attached once, records and callbacks switched on for a window and off again.
//
//   attach   loads CUPTI: version, clock, which calls; enables nothing. In the first warm-up, or when a window opens
//   start    subscribes, gives buffers, callbacks on, then records on  (0.2 ms; 20 ms the first time, in the driver)
//   stop     records off, then callbacks off, unsubscribes       nothing of ours stays in the program's way
//   drain    worker: full buffers to the file and the ledger
//   flush    worker: asks CUPTI for buffers; what is unfinished stays with it unless forced
//
// Records of launches from before the stop still come after it, so nobody waits for the device: the worker asks until
// the ledger has a record for each launch. A device synchronize at the stop was rejected: from another thread it breaks
// a graph capture of the user's, and there is no way to ask whether any stream of the process captures.
// The subscription is held for a window only, since torch.profiler runs without its GPU data while we hold it.
// An agent at rest has neither loaded nor called CUPTI (PyTorch may have loaded it): with our clock registered and
// nothing enabled it cost 73 ns a launch and 176 us of a step of 7.7 ms on an H200 (medians of 20 pairs of processes).
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "agent/cupti_activity.h"
#include "agent/cupti_buffers.h"
#include "agent/cupti_callbacks.h"
#include "agent/cupti_table.h"
#include "agent/ledger.h"
#include "capture/agent_options.h"

namespace stepscope::agent {

class Gpu {
 public:
  Gpu(const CuptiTable& table, const AgentOptions& options);
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  // Each gives false after a remark or complaint that says why; the program goes on without GPU records then.
  bool attach() noexcept;
  bool start() noexcept;
  void stop() noexcept;
  void flush(bool is_forced) noexcept;
  void drain(CaptureFile& file, Ledger& ledger);
  // The next drain is into another file. While nobody drains.
  void leave_file() { writer_.leave_file(); }

  [[nodiscard]] bool is_started() const { return is_started_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::uint32_t version() const { return version_; }
  [[nodiscard]] bool has_full_buffers() const { return buffers_.full_count() > 0; }
  // Records that CUPTI or our memory limit lost, ever.
  [[nodiscard]] std::uint64_t dropped_count() const {
    return cupti_dropped_count_.load(std::memory_order_relaxed) + spare_dropped_count_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] const CuptiBuffers& buffers() const { return buffers_; }

 private:
  static void request_buffer(std::uint8_t** buffer, std::size_t* bytes, std::size_t* most_records);
  static void complete_buffer(CuptiContext context, std::uint32_t stream, std::uint8_t* buffer, std::size_t bytes,
                              std::size_t valid);
  template <class Visit>
  void each_record(std::uint8_t* buffer, std::size_t valid, Visit&& visit) const;
  [[nodiscard]] bool has_clock() const;
  void register_clock();
  bool subscribe();
  void unsubscribe();
  bool enable_callbacks();
  bool enable_records();
  void disable_records();
  [[nodiscard]] std::string explain(CuptiResult result) const;

  const CuptiTable table_;
  const bool keeps_graphs_, keeps_memory_, keeps_stacks_;
  CuptiBuffers buffers_;
  ActivityWriter writer_;
  std::vector<WatchedCall> calls_;
  std::vector<CuptiKind> enabled_;
  CuptiSubscriber subscriber_ = nullptr;
  std::uint32_t version_ = 0;
  bool was_clock_offered_ = false;
  std::atomic<bool> is_started_{false};
  std::atomic<std::uint64_t> cupti_dropped_count_{0}, spare_dropped_count_{0};
};

// The one of this process; nullptr: none is attached.
[[nodiscard]] Gpu* attached_gpu() noexcept;
// Loads CUPTI and attaches; true at once if that was done. A process tries once: what failed will fail again.
bool attach_gpu(const AgentOptions& options) noexcept;
// Tests give theirs.
void replace_gpu(Gpu* gpu) noexcept;
// A forked child has no GPU; another thread of its parent may have been attaching one. Where CUDA was in use before
// the fork (`had_cuda`) or CUPTI was tried, the child does not try.
void forget_gpu_in_child(bool had_cuda);
// Where attach_gpu() has CUPTI from, and that it was not tried yet. For tests; nullptr: load_cupti().
using CuptiLoader = Result<CuptiTable> (*)();
void replace_cupti_loader(CuptiLoader loader);

}  // namespace stepscope::agent

// A CUDA driver and NVML for tests: one in-order stream whose times a test decides, and errors on demand.
//
// Everything of this room that speaks to CUDA goes through a table of functions; this fills it with a small machine.
// The host's time passes only by calls (`call_cost_ns` each) and sleeps; the device works beside it through what was
// queued, as a stream does, and counts ticks at `sm_clock_hz`. A stream that is held stands until its word in (real)
// memory was written, so that a watchdog thread is tested for real. Code that waits for a stream nobody lets go fails
// the test after some seconds (`is_deadlocked`) instead of standing for ever.
//
// Functions of the driver take no pointer of ours, so there is one FakeCuda at a time. Its parts that no header shows
// are in fake_cuda_test.cpp, which only the test program contains.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "timing/cuda_driver.h"
#include "timing/nvml.h"

namespace stepscope {

class FakeCuda {
 public:
  FakeCuda();  // becomes the process's driver, NVML and host time
  ~FakeCuda();
  FakeCuda(const FakeCuda&) = delete;
  FakeCuda& operator=(const FakeCuda&) = delete;

  // --- the script ---
  int device_count = 1;
  int sm_count = 4;
  int l2_bytes = 1 << 20;
  int clock_khz = 1'000'000;  // 0: not known
  double sm_clock_hz = 1e9;
  std::int64_t call_cost_ns = 1000;
  std::int64_t memset_ns = 20'000;
  int capture_status = 0;                      // what cuStreamIsCapturing says of any stream
  CuResult capture_result = kCuSuccess;        // or fails with
  std::set<int> active_primary_contexts;       // device numbers
  CuContext current = nullptr;                 // of the (one) thread
  std::array<std::uint64_t, 9> pool_values{};  // by kCuPool...
  std::vector<NvmlProcess> processes;
  std::size_t free_bytes = 60, total_bytes = 100;

  // The nth call of this function from now on fails.
  void fail(const std::string& symbol, CuResult result, std::int64_t nth = 1);
  // A table without this function (of the optional ones).
  void remove_wait_value() { driver_.stream_wait_value = nullptr; }
  void remove_pools() { driver_.default_pool = nullptr; }

  // --- what a program does ---
  void launch_work(std::int64_t ns);  // a kernel of so long
  CuResult wait_for_stream();         // cuStreamSynchronize
  void spend_host_time(std::int64_t ns) { host_ns_ += ns; }

  // --- what a test asks ---
  [[nodiscard]] std::int64_t calls(const std::string& symbol) const;
  [[nodiscard]] std::int64_t host_ns() const { return host_ns_; }
  [[nodiscard]] const std::vector<std::string>& log() const { return log_; }  // what reached the stream, in order
  [[nodiscard]] bool is_deadlocked() const { return is_deadlocked_; }
  // Events, device and host memory, modules, retained contexts that were not given back.
  [[nodiscard]] std::int64_t live_objects() const { return live_objects_; }

 private:
  enum class OpKind : std::uint8_t { kWork, kEvent, kWait, kStamp };
  struct Op {
    OpKind kind = OpKind::kWork;
    std::int64_t queued_ns = 0;
    std::int64_t ns = 0;
    CuEvent event = nullptr;
    const std::uint32_t* word = nullptr;
    std::uint32_t value = 0;
    std::uint64_t* stamps = nullptr;
  };
  struct Failure {
    std::int64_t at = 0;
    CuResult result = kCuSuccess;
  };
  struct Functions;  // the table's functions
  friend struct Functions;

  CuResult enter(const std::string& symbol);
  void queue(const std::string& name, Op op);
  void run();
  bool run_one(const Op& op);
  void advance_device(std::int64_t to_ns);

  CudaDriver driver_;
  Nvml nvml_;
  std::int64_t host_ns_ = 1'000'000;
  std::int64_t device_ns_ = 0;
  double ticks_ = 1;
  std::deque<Op> queue_;
  std::map<CuEvent, std::optional<std::int64_t>> events_;  // when reached
  std::uint64_t last_handle_ = 0x10000;
  std::map<std::string, std::int64_t> calls_;
  std::map<std::string, Failure> failures_;
  std::vector<std::string> log_;
  std::vector<CuContext> pushed_;
  std::int64_t live_objects_ = 0;
  bool is_deadlocked_ = false;
};

}  // namespace stepscope

// What the choices of cold timing rest on: ways to hold a stream, ways to flush L2, and how finely things are told.
//
// Prints three tables for docs/performance.md. All times are those between the two events, in us.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <vector>

#include "gpu/gpu_machine.h"
#include "stats/quantiles.h"
#include "timing/kernel_bench.h"
#include "timing/noise_rule.h"

namespace {

using namespace stepscope;

constexpr std::int64_t kHoldLimitNs = 1'000'000'000;

struct Named {
  const char* name;
  std::function<Status()> launch;
};

template <class T>
T checked(Result<T> result) {
  if (!result) {
    std::fprintf(stderr, "%s\n", result.error().to_string().c_str());
    std::exit(1);
  }
  return std::move(result).value();
}

void print_row(const char* first, const char* second, const std::vector<double>& samples_ns) {
  NoiseRule rule(0);
  for (double sample : samples_ns) rule.add(sample);
  std::printf("| %-22s | %-20s | %9.3f | %9.3f | %8.2f | %9.3f |\n", first, second,
              quantile(samples_ns, 0.5).value_or(0) / 1e3, rule.mean() / 1e3, rule.noise_ratio().value_or(0) * 100,
              *std::min_element(samples_ns.begin(), samples_ns.end()) / 1e3);
}

void print_head(const char* first, const char* second) {
  std::printf("| %-22s | %-20s | %9s | %9s | %8s | %9s |\n|---|---|---|---|---|---|\n", first, second, "median us",
              "mean us", "noise %", "min us");
}

void compare_holds(const std::vector<Named>& kernels) {
  struct Way {
    const char* name;
    bool hold;
    StreamGate::Method method;
  };
  const Way ways[] = {{"not held", false, StreamGate::Method::kWaitValue},
                      {"cuStreamWaitValue32", true, StreamGate::Method::kWaitValue},
                      {"spinning kernel", true, StreamGate::Method::kKernel}};
  std::printf("\nHolding a stream, 400 samples each, L2 flushed\n");
  print_head("kernel", "hold");
  for (const Named& kernel : kernels) {
    for (const Way& way : ways) {
      const auto bench = checked(KernelBench::open({}, true, way.method));
      (void)checked(bench->load());
      std::vector<double> samples_ns;
      for (int i = 0; i < 420; ++i) {
        const KernelSample sample = checked(bench->take_sample(
            kernel.launch, {.flush = L2Flush::kClean, .hold_stream = way.hold, .hold_limit_ns = kHoldLimitNs}));
        if (i >= 20) samples_ns.push_back(sample.elapsed_ns);
      }
      print_row(kernel.name, way.name, samples_ns);
    }
  }
}

// Flushes in front of a kernel that reads `bytes`, the stream held by the way that the library takes.
void compare_flushes(const GpuMachine& gpu, std::size_t l2_bytes) {
  const CudaDriver& driver = gpu.driver();
  CuPointer data = 0, trash = 0, other = 0;
  (void)checked(cuda_status(driver, driver.memory_alloc(&data, std::size_t{256} << 20), "cuMemAlloc"));
  (void)checked(cuda_status(driver, driver.memory_alloc(&trash, 4 * l2_bytes), "cuMemAlloc"));
  (void)checked(cuda_status(driver, driver.memory_alloc(&other, 4 * l2_bytes), "cuMemAlloc"));
  (void)driver.memory_set_async(data, 1, std::size_t{256} << 20, nullptr);
  const auto set = [&](std::size_t times) {
    return cuda_status(driver, driver.memory_set_async(trash, 0, times * l2_bytes, nullptr), "cuMemsetD8Async");
  };
  const Named flushes[] = {
      {"none", [] { return Status(Done{}); }},
      {"memset of L2's size", [&] { return set(1); }},
      {"memset of 2 x L2", [&] { return set(2); }},
      {"memset of 4 x L2", [&] { return set(4); }},
      {"read of 2 x L2", [&] { return gpu.launch_read(other, 2 * l2_bytes); }},
      {"memset, read of 2 x L2",
       [&] {
         Status done = set(1);
         return done ? gpu.launch_read(other, 2 * l2_bytes) : done;
       }},
  };
  const auto kernels = checked(TimingKernels::load(gpu.context));
  const auto gate = checked(StreamGate::open(gpu.context, kernels, nullptr, StreamGate::Method::kWaitValue));
  CuEvent begin = nullptr, end = nullptr;
  (void)driver.event_create(&begin, 0);
  (void)driver.event_create(&end, 0);
  std::printf("\nFlushing L2 (%zu MiB) in front of a kernel that reads, 200 samples each\n", l2_bytes >> 20);
  print_head("reads", "flush");
  for (const std::size_t mebibytes : {1, 16, 64, 256}) {
    char name[32];
    std::snprintf(name, sizeof name, "%zu MiB", mebibytes);
    for (const Named& flush : flushes) {
      std::vector<double> samples_ns;
      for (int i = 0; i < 210; ++i) {
        (void)checked(flush.launch());
        (void)checked(gate->hold(kHoldLimitNs));
        (void)driver.event_record(begin, nullptr);
        (void)checked(gpu.launch_read(data, mebibytes << 20));
        (void)driver.event_record(end, nullptr);
        (void)gate->release();
        (void)checked(cuda_status(driver, driver.stream_synchronize(nullptr), "cuStreamSynchronize"));
        float milliseconds = 0;
        (void)driver.event_elapsed(&milliseconds, begin, end);
        if (i >= 10) samples_ns.push_back(static_cast<double>(milliseconds) * 1e6);
      }
      print_row(name, flush.name, samples_ns);
    }
  }
}

void show_resolutions(const GpuMachine& gpu) {
  const auto bench = checked(KernelBench::open({}, true, StreamGate::Method::kWaitValue));
  std::vector<double> elapsed_ns, clocks_hz;
  for (std::uint64_t ns = 5000; ns < 15'000; ns += 37) {
    const KernelSample sample =
        checked(bench->take_sample([&] { return gpu.launch_spin(ns); },
                                   {.flush = L2Flush::kClean, .hold_stream = true, .hold_limit_ns = kHoldLimitNs}));
    elapsed_ns.push_back(sample.elapsed_ns);
    if (sample.clock_hz) clocks_hz.push_back(*sample.clock_hz);
  }
  std::sort(elapsed_ns.begin(), elapsed_ns.end());
  double step_ns = 1e9;
  for (std::size_t i = 1; i < elapsed_ns.size(); ++i) {
    const double difference = elapsed_ns[i] - elapsed_ns[i - 1];
    if (difference > 0.5) step_ns = std::min(step_ns, difference);
  }
  std::printf(
      "\nresolution: events differ by %.1f ns at least; SM clock of a sample %.1f to %.1f MHz, median %.1f, default "
      "%.1f\n",
      step_ns, *std::min_element(clocks_hz.begin(), clocks_hz.end()) / 1e6,
      *std::max_element(clocks_hz.begin(), clocks_hz.end()) / 1e6, quantile(clocks_hz, 0.5).value_or(0) / 1e6,
      bench->clock().default_hz().value_or(0) / 1e6);
}

}  // namespace

int main() {
  const auto gpu = checked(GpuMachine::open());
  const auto l2_bytes = static_cast<std::size_t>(checked(gpu->context->attribute(kCuAttributeL2CacheBytes)));
  std::printf("%s\n", gpu->context->device_name().c_str());
  CuPointer data = 0;
  (void)checked(cuda_status(gpu->driver(), gpu->driver().memory_alloc(&data, 16 << 20), "cuMemAlloc"));
  compare_holds({{"empty", [&] { return gpu->launch_empty(); }},
                 {"spins 10 us", [&] { return gpu->launch_spin(10'000); }},
                 {"spins 100 us", [&] { return gpu->launch_spin(100'000); }},
                 {"reads 16 MiB", [&] { return gpu->launch_read(data, 16 << 20); }}});
  compare_flushes(*gpu, l2_bytes);
  show_resolutions(*gpu);
  return 0;
}

// A program of C++ that allocates on a GPU that is not there: the agent with a CUPTI that is made up. CUDA's runtime is
// linked statically into most programs, so its calls are functions of the program itself, as here.
//
// Two builds of it, with and without debug information, are run by test_plain_program.py, which knows the lines that
// are marked below.
#include <cstdio>

#include "agent/agent_state.h"
#include "agent/fake_cupti_test_support.h"
#include "agent/gpu.h"
#include "agent/made_up/cuda_runtime.h"

namespace {

using stepscope::agent::FakeCupti;

FakeCupti& cupti() {
  static FakeCupti one;
  return one;
}
std::uint64_t next_address = 0x10000;

}  // namespace

extern "C" __attribute__((noinline)) int cudaMallocAsync(void** pointer, std::size_t size) {
  std::uint64_t time_ns = 0;
  const std::uint32_t correlation = cupti().call(FakeCupti::kMalloc, 0, [&] { time_ns = cupti().clock(); });
  next_address += size;
  *pointer = reinterpret_cast<void*>(next_address);  // NOLINT: an address of no memory
  cupti().memory(correlation, false, next_address, size, time_ns);
  return 0;
}

struct Buffers {
  float* weights = nullptr;
  void* rest = nullptr;
};

__attribute__((noinline)) int make_buffers(Buffers& into) {
  int failed = cudaMallocAsync(&into.rest, 3 << 20);  // line: buffers
  return failed + static_cast<int>(next_address == 0);
}

int main(int count, char** words) {
  using namespace stepscope::agent;
  if (count < 2) return 2;
  stepscope::AgentOptions options;
  options.directory = words[1];
  options.memory = true;
  options.start_paused = true;
  (void)cupti();
  static Gpu gpu(FakeCupti::table(), options);
  replace_gpu(&gpu);
  if (!gpu.attach() || !arm_with(options) || !open_window(-1)) return 3;
  Buffers buffers;
  int failed = make_buffers(buffers);
  failed += cudaMallocAsync(&buffers.weights, 4 << 20);  // line: main
  close_window(-1);
  finish();
  std::printf("%p %p\n", static_cast<void*>(buffers.weights), buffers.rest);
  return failed;
}

// A plain CUDA program for the agent: launches, copies, sets, a graph, work that is still under way when a window ends.
// It knows the counts that a capture must have and prints them as JSON; check.py compares.
#include <cuda_runtime.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

__global__ void spin(float* out, long cycles) {
  const long start = clock64();
  while (clock64() - start < cycles) {
  }
  if (threadIdx.x == 0) out[blockIdx.x] += 1;
}

static void (*agent_entry(const char* name))() {
  return reinterpret_cast<void (*)()>(dlsym(dlopen(getenv("CUDA_INJECTION64_PATH"), RTLD_LAZY | RTLD_NOLOAD), name));
}

// A crash says where: there is no debugger on the machines that run this.
static void show_crash(int) {
  void* frames[64];
  backtrace_symbols_fd(frames, backtrace(frames, 64), STDERR_FILENO);
  _exit(139);
}

static double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

int main(int argc, char** argv) {
  std::signal(SIGSEGV, show_crash);
  const bool windows = argc > 1 && std::strcmp(argv[1], "windows") == 0;
  float* device = nullptr;
  cudaMalloc(&device, 1 << 20);
  float* host = nullptr;
  cudaMallocHost(&host, 1 << 20);
  void (*start)() = nullptr;
  void (*stop)() = nullptr;
  if (windows) {
    start = agent_entry("stepscope_agent_start");
    stop = agent_entry("stepscope_agent_stop");
    if (start == nullptr || stop == nullptr) return 2;
  }
  long kernels = 0, copies = 0, sets = 0;
  if (!windows) {
    for (int i = 0; i < 1000; ++i, ++kernels) spin<<<4, 32>>>(device, 1000);
    for (int i = 0; i < 100; ++i, ++copies) cudaMemcpyAsync(device, host, 4096, cudaMemcpyHostToDevice);
    for (int i = 0; i < 50; ++i, ++sets) cudaMemsetAsync(device, 0, 4096);
    cudaStream_t stream;
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
    for (int i = 0; i < 20; ++i) spin<<<1, 32, 0, stream>>>(device, 1000);
    cudaStreamEndCapture(stream, &graph);
    cudaGraphInstantiate(&exec, graph, 0);
    for (int i = 0; i < 500; ++i, kernels += 20) cudaGraphLaunch(exec, stream);
    // "busy": the process ends while the device still works.
    if (argc < 2) cudaDeviceSynchronize();
    std::printf("{\"kernels\": %ld, \"copies\": %ld, \"sets\": %ld}\n", kernels, copies, sets);
    return 0;
  }
  // Windows that end while their kernels still run (10 ms of work queued each), and never a synchronize.
  double start_s = 0, stop_s = 0;
  int count = 0;
  for (int w = 0; w < 20; ++w, ++count) {
    for (int i = 0; i < 50; ++i) spin<<<1, 32>>>(device, 200000);
    const double t0 = seconds();
    start();
    const double t1 = seconds();
    for (int i = 0; i < 100; ++i, ++kernels) spin<<<1, 32>>>(device, 200000);
    const double t2 = seconds();
    stop();
    const double t3 = seconds();
    for (int i = 0; i < 50; ++i) spin<<<1, 32>>>(device, 200000);
    if (w > 0) start_s += t1 - t0, stop_s += t3 - t2;
  }
  const double t4 = seconds();
  for (int i = 0; i < 20000; ++i) spin<<<1, 32>>>(device, 10);
  const double idle_ns = (seconds() - t4) / 20000 * 1e9;
  cudaDeviceSynchronize();
  std::printf(
      "{\"kernels\": %ld, \"copies\": 0, \"sets\": 0, \"start_us\": %.1f, \"stop_us\": %.1f, \"idle_launch_ns\": "
      "%.0f}\n",
      kernels, start_s / (count - 1) * 1e6, stop_s / (count - 1) * 1e6, idle_ns);
  return 0;
}

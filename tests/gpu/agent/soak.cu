// Many kernels from CUDA graphs, for a capture that lasts: soak COUNT launches graphs of 1,000 kernels until COUNT
// kernels ran. Prints, ten times on the way, how much memory the process holds, and at the end the count that a capture
// must have.
#include <cuda_runtime.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>

__global__ void touch(float* out) { out[threadIdx.x] += 1; }

static long resident_mib() {
  long pages = 0, resident = 0;
  if (std::FILE* file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%ld %ld", &pages, &resident) != 2) resident = 0;
    std::fclose(file);
  }
  return resident * sysconf(_SC_PAGESIZE) / (1 << 20);
}

#define CHECK(call)                                                       \
  do {                                                                    \
    const cudaError_t error = (call);                                     \
    if (error != cudaSuccess) {                                           \
      std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(error)); \
      return 1;                                                           \
    }                                                                     \
  } while (0)

int main(int argc, char** argv) {
  const long wanted = argc > 1 ? std::atol(argv[1]) : 1000000;
  constexpr long kInGraph = 1000;
  float* device = nullptr;
  CHECK(cudaMalloc(&device, 4096));
  cudaStream_t stream;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  for (long i = 0; i < kInGraph; ++i) touch<<<1, 32, 0, stream>>>(device);
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  const auto begin = std::chrono::steady_clock::now();
  const long launches = (wanted + kInGraph - 1) / kInGraph;
  for (long i = 0; i < launches; ++i) {
    CHECK(cudaGraphLaunch(exec, stream));
    // As a training step does: the host does not run ahead without end.
    if (i % 20 == 19) CHECK(cudaStreamSynchronize(stream));
    if (i % (launches / 10 + 1) == launches / 10) {
      const double s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
      std::printf("%ld kernels %.1f s %ld MiB\n", (i + 1) * kInGraph, s, resident_mib());
      std::fflush(stdout);
    }
  }
  CHECK(cudaStreamSynchronize(stream));
  const double s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  std::printf("{\"kernels\": %ld, \"seconds\": %.2f, \"resident_mib\": %ld}\n", launches * kInGraph, s, resident_mib());
  return 0;
}

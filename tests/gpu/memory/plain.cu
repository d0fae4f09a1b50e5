// A CUDA program without PyTorch that knows which of its lines holds how much: what `stepscope run --memory` must say
// of it.
//
// Prints JSON: by line the bytes and the count held at the peak and at the end. Built with -g for lines; the calls are
// in functions that are not inlined, since an inlined one has its caller's name.
#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <map>

struct Held {
  std::size_t bytes = 0;
  int count = 0;
};
using Lines = std::map<int, Held>;

static constexpr std::size_t kMib = 1 << 20;
static Lines held;
static Lines at_peak;
static std::size_t level = 0;
static std::size_t peak = 0;

static void must(bool done, int line) {
  if (done) return;
  std::fprintf(stderr, "line %d failed\n", line);
  std::exit(1);
}

static void note(int line, long long bytes, int count = 1) {
  held[line].bytes += bytes;
  held[line].count += count;
  level += bytes;
  if (level > peak) {
    peak = level;
    at_peak = held;
  }
}

// One line each, so that the call's line is the one that is noted.
#define CUDA(call) must((call) == cudaSuccess, __LINE__)
#define MAKE(call, bytes) CUDA(call), note(__LINE__, bytes)

__attribute__((noinline)) static void make_weights() {
  void* made = nullptr;
  for (int i = 0; i < 3; ++i) MAKE(cudaMalloc(&made, 64 * kMib), 64 * kMib);
}

__attribute__((noinline)) static void make_table() {
  CUdeviceptr made = 0;
  must(cuMemAlloc(&made, 7 * kMib) == CUDA_SUCCESS, __LINE__), note(__LINE__, 7 * kMib);
}

// Of the stream's pool, as the activations are, which come when it is gone.
__attribute__((noinline)) static void use_scratch(cudaStream_t stream) {
  void* made = nullptr;
  const int line = __LINE__ + 1;
  MAKE(cudaMallocAsync(&made, 200 * kMib, stream), 200 * kMib);
  CUDA(cudaFreeAsync(made, stream));
  note(line, -200LL * static_cast<long long>(kMib), -1);
}

__attribute__((noinline)) static void make_activations(cudaStream_t stream, int count) {
  void* made = nullptr;
  for (int i = 0; i < count; ++i) MAKE(cudaMallocAsync(&made, 16 * kMib, stream), 16 * kMib);
}

static void print(const char* name, const Lines& lines) {
  std::printf("\"%s\": {", name);
  const char* comma = "";
  for (const auto& [line, each] : lines) {
    if (each.count == 0) continue;
    std::printf("%s\"plain.cu:%d\": [%zu, %d]", comma, line, each.bytes, each.count);
    comma = ", ";
  }
  std::printf("}");
}

int main() {
  CUDA(cudaFree(nullptr));
  cudaStream_t stream;
  CUDA(cudaStreamCreate(&stream));
  make_weights();
  make_table();
  use_scratch(stream);
  make_activations(stream, 8);
  CUDA(cudaStreamSynchronize(stream));
  std::printf("{\"peak_bytes\": %zu, ", peak);
  print("peak", at_peak);
  std::printf(", ");
  print("end", held);
  std::printf("}\n");
  return 0;
}

// Trains a small network on a GPU with cuBLAS and shows where the time of its steps goes: how long steps take on the
// device, what the loop waits for, what memory it holds, and how long its largest product takes alone.
//
// The network (512 inputs, 2048 hidden, 64 outputs) learns a linear map that it is not told. Batches are made on the
// host and copied from pinned memory. Stepscope needs no CUDA to build: only this program does. The traces hold the
// spans; for the GPU's rows Stepscope's agent has to be in the process (stepscope/session.h, load_agent):
//
//     CUDA_INJECTION64_PATH=PREFIX/lib/stepscope/libstepscope_agent.so train_cuda
//
// Usage: train_cuda [DIRECTORY]
#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <stepscope/cold_timer.h>
#include <stepscope/memory_stats.h>
#include <stepscope/session.h>
#include <stepscope/span.h>
#include <stepscope/step_timer.h>

#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <utility>

namespace {

constexpr int kBatch = 4096, kInputs = 512, kHidden = 2048, kOutputs = 64, kSteps = 60;
constexpr float kLearningRate = 0.3F;

void check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
  std::exit(1);
}
void check(cublasStatus_t status, const char* what) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  std::fprintf(stderr, "%s: %s\n", what, cublasGetStatusString(status));
  std::exit(1);
}

template <class Value>
Value checked(stepscope::Result<Value> result) {
  if (result) return std::move(result).value();
  std::fprintf(stderr, "%s\n", result.error().to_string().c_str());
  std::exit(1);
}

__global__ void fill_random(float* values, int count, float scale, unsigned seed) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  unsigned hash = (i + seed * 0x9e3779b9U) * 0x85ebca6bU;
  hash = (hash ^ (hash >> 13)) * 0xc2b2ae35U;
  values[i] = (static_cast<float>(hash >> 8) / 8388608.0F - 1.0F) * scale;
}
__global__ void relu(float* values, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) values[i] = fmaxf(values[i], 0.0F);
}
__global__ void relu_gradient(const float* activated, float* gradient, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count && activated[i] <= 0.0F) gradient[i] = 0.0F;
}
// Mean squared error, whose gradient replaces the output.
__global__ void loss_and_gradient(float* output, const float* wanted, float* loss, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  float error = i < count ? output[i] - wanted[i] : 0.0F;
  if (i < count) output[i] = 2.0F * error / static_cast<float>(count);
  error *= error / static_cast<float>(count);
  for (int lane = 16; lane > 0; lane /= 2) error += __shfl_down_sync(0xffffffffU, error, lane);
  if (threadIdx.x % 32 == 0) atomicAdd(loss, error);
}
__global__ void descend(float* weights, const float* gradient, float rate, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) weights[i] -= rate * gradient[i];
}
constexpr int blocks_for(int count) { return (count + 255) / 256; }

struct Gpu {
  cudaStream_t stream = nullptr;
  cublasHandle_t cublas = nullptr;
  Gpu() {
    check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
    check(cublasCreate(&cublas), "cublasCreate");
    check(cublasSetStream(cublas, stream), "cublasSetStream");
    check(cublasSetMathMode(cublas, CUBLAS_TF32_TENSOR_OP_MATH), "cublasSetMathMode");
  }
};

struct Matrix {
  int rows, columns;
  float* data = nullptr;
  Matrix(const Gpu& gpu, int r, int c, float scale = 0, unsigned seed = 0) : rows(r), columns(c) {
    check(cudaMallocAsync(&data, size() * sizeof(float), gpu.stream), "cudaMallocAsync");
    fill_random<<<blocks_for(size()), 256, 0, gpu.stream>>>(data, size(), scale, seed);
  }
  [[nodiscard]] int size() const { return rows * columns; }
};

// out = a * b, each transposed or not; all stored row by row, which to cuBLAS is out' = b' * a'.
void multiply(const Gpu& gpu, const Matrix& a, bool a_transposed, const Matrix& b, bool b_transposed, Matrix& out) {
  const int inner = a_transposed ? a.rows : a.columns;
  const stepscope::OpSpan op("cublas::sgemm", {{a.rows, a.columns}, {b.rows, b.columns}}, 2.0 * out.size() * inner);
  const float one = 1.0F, zero = 0.0F;
  check(cublasSgemm(gpu.cublas, b_transposed ? CUBLAS_OP_T : CUBLAS_OP_N, a_transposed ? CUBLAS_OP_T : CUBLAS_OP_N,
                    out.columns, out.rows, inner, &one, b.data, b.columns, a.data, a.columns, &zero, out.data,
                    out.columns),
        "cublasSgemm");
}

struct Network {
  Matrix first, second, hidden, output, first_gradient, second_gradient, hidden_gradient, loss;
  explicit Network(const Gpu& gpu)
      : first(gpu, kInputs, kHidden, 0.08F, 1), second(gpu, kHidden, kOutputs, 0.04F, 2),
        hidden(gpu, kBatch, kHidden), output(gpu, kBatch, kOutputs), first_gradient(gpu, kInputs, kHidden),
        second_gradient(gpu, kHidden, kOutputs), hidden_gradient(gpu, kBatch, kHidden), loss(gpu, 1, 1) {}
};

void train_step(const Gpu& gpu, Network& net, const Matrix& inputs, const Matrix& wanted) {
  {
    STEPSCOPE_SPAN("forward");
    multiply(gpu, inputs, false, net.first, false, net.hidden);
    relu<<<blocks_for(net.hidden.size()), 256, 0, gpu.stream>>>(net.hidden.data, net.hidden.size());
    multiply(gpu, net.hidden, false, net.second, false, net.output);
  }
  {
    STEPSCOPE_SPAN("backward");
    check(cudaMemsetAsync(net.loss.data, 0, sizeof(float), gpu.stream), "cudaMemsetAsync");
    loss_and_gradient<<<blocks_for(net.output.size()), 256, 0, gpu.stream>>>(net.output.data, wanted.data,
                                                                           net.loss.data, net.output.size());
    multiply(gpu, net.hidden, true, net.output, false, net.second_gradient);
    multiply(gpu, net.output, false, net.second, true, net.hidden_gradient);
    relu_gradient<<<blocks_for(net.hidden.size()), 256, 0, gpu.stream>>>(net.hidden.data, net.hidden_gradient.data,
                                                                       net.hidden.size());
    multiply(gpu, inputs, true, net.hidden_gradient, false, net.first_gradient);
  }
  STEPSCOPE_SPAN("Optimizer.step#SGD.step");
  for (auto [weights, gradient] : {std::pair{&net.first, &net.first_gradient}, {&net.second, &net.second_gradient}})
    descend<<<blocks_for(weights->size()), 256, 0, gpu.stream>>>(weights->data, gradient->data, kLearningRate,
                                                               weights->size());
  check(cudaGetLastError(), "launch");
}

}  // namespace

int main(int argc, char** argv) {
  const Gpu gpu;
  Network net(gpu);
  Matrix inputs(gpu, kBatch, kInputs), wanted(gpu, kBatch, kOutputs), teacher(gpu, kInputs, kOutputs, 0.1F, 3);
  float* batch = nullptr;  // pinned
  check(cudaMallocHost(&batch, inputs.size() * sizeof(float)), "cudaMallocHost");
  std::mt19937 random(1);

  stepscope::SessionOptions options;
  options.schedule = checked(stepscope::make_schedule({.skip_first = 10, .wait = 1, .warmup = 1, .active = 3, .repeat = 2}));
  options.record_shapes = true;
  options.with_flops = true;
  options.on_trace_ready = stepscope::directory_handler(argc > 1 ? argv[1] : "traces");
  stepscope::ProfilingSession session(options);
  checked(session.start());
  const auto clock = checked(stepscope::open_cuda_clock(-1, gpu.stream));
  stepscope::StepTimer timer({.clock = clock.get()});

  float first_loss = 0, loss = 0;
  for (int step = 0; step < kSteps; ++step) {
    timer.time_data([&] {
      STEPSCOPE_SPAN("make batch");
      for (int i = 0; i < inputs.size(); ++i) batch[i] = static_cast<float>(random() >> 8) / 8388608.0F - 1.0F;
    });
    {
      const auto timed = timer.step();
      check(cudaMemcpyAsync(inputs.data, batch, inputs.size() * sizeof(float), cudaMemcpyDefault, gpu.stream), "copy");
      multiply(gpu, inputs, false, teacher, false, wanted);
      train_step(gpu, net, inputs, wanted);
    }
    session.step();
    if (step % 10 != 0 && step != kSteps - 1) continue;
    check(cudaMemcpy(&loss, net.loss.data, sizeof loss, cudaMemcpyDefault), "loss");
    stepscope::record_counter("loss", loss);
    if (step == 0) first_loss = loss;
    std::printf("step %2d  loss %.4f\n", step, loss);
  }
  checked(session.stop());

  std::printf("\n%s\n%s\n", checked(timer.times()).to_string().c_str(), stepscope::memory_summary().c_str());
  const auto product = stepscope::time_cold([&] { multiply(gpu, inputs, false, net.first, false, net.hidden); },
                                            {.label = "inputs x first weights", .stream = gpu.stream,
                                             .flops = 2.0 * kBatch * kInputs * kHidden});
  std::printf("%s", checked(product).to_string().c_str());
  for (const std::string& file : session.trace_files()) std::printf("\nstepscope report %s\n", file.c_str());
  return loss < first_loss ? 0 : 1;
}

// Trains a small network on the CPU and records where the time of its steps goes. Nothing but the C++ library and
// Stepscope: copy it and put your own loop in.
//
// The network (32 inputs, 512 hidden, 4 classes) learns which corner of the plane two of its inputs lie in. A second
// thread makes the batches, as a data loader does. Usage: train_mlp [DIRECTORY]
#include <stepscope/session.h>
#include <stepscope/span.h>

#include <algorithm>
#include <cmath>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

constexpr int kBatch = 256, kInputs = 32, kHidden = 512, kClasses = 4;
constexpr int kSteps = 60;
constexpr float kLearningRate = 0.5F;

struct Matrix {
  int rows = 0, columns = 0;
  std::vector<float> values;
  Matrix(int r, int c) : rows(r), columns(c), values(static_cast<std::size_t>(r) * c) {}
  float& at(int r, int c) { return values[static_cast<std::size_t>(r) * columns + c]; }
  float at(int r, int c) const { return values[static_cast<std::size_t>(r) * columns + c]; }
};

Matrix transposed(const Matrix& a) {
  const stepscope::OpSpan op("mlp::transpose", {{a.rows, a.columns}});
  Matrix out(a.columns, a.rows);
  for (int r = 0; r < a.rows; ++r)
    for (int c = 0; c < a.columns; ++c) out.at(c, r) = a.at(r, c);
  return out;
}

Matrix multiply(const Matrix& a, const Matrix& b) {
  const double flops = 2.0 * a.rows * a.columns * b.columns;
  const stepscope::OpSpan op("mlp::mm", {{a.rows, a.columns}, {b.rows, b.columns}}, flops);
  Matrix out(a.rows, b.columns);
  for (int r = 0; r < a.rows; ++r)
    for (int k = 0; k < a.columns; ++k)
      for (int c = 0; c < b.columns; ++c) out.at(r, c) += a.at(r, k) * b.at(k, c);
  return out;
}

struct Batch {
  Matrix inputs{kBatch, kInputs};
  std::vector<int> labels = std::vector<int>(kBatch);
};

// Makes batches on a thread of its own, at most four ahead.
class Loader {
 public:
  Loader() : thread_([this] { run(); }) {}
  ~Loader() {
    {
      const std::lock_guard lock(mutex_);
      is_done_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  Batch next() {
    STEPSCOPE_FUNCTION_SPAN();  // the time that the step waits for data
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !ready_.empty(); });
    Batch batch = std::move(ready_.front());
    ready_.pop_front();
    stepscope::record_counter("batches ready", static_cast<double>(ready_.size()));
    changed_.notify_all();
    return batch;
  }

 private:
  Batch make() {
    STEPSCOPE_FUNCTION_SPAN();
    Batch batch;
    for (float& value : batch.inputs.values) value = uniform_(random_);
    for (int r = 0; r < kBatch; ++r)
      batch.labels[r] = (batch.inputs.at(r, 0) > 0 ? 1 : 0) + (batch.inputs.at(r, 1) > 0 ? 2 : 0);
    return batch;
  }
  void run() {
    stepscope::set_thread_name("loader");
    std::unique_lock lock(mutex_);
    while (!is_done_) {
      lock.unlock();
      Batch batch = make();
      lock.lock();
      changed_.wait(lock, [this] { return ready_.size() < 4 || is_done_; });
      ready_.push_back(std::move(batch));
      changed_.notify_all();
    }
  }

  std::mt19937 random_{1};
  std::uniform_real_distribution<float> uniform_{-1, 1};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Batch> ready_;
  bool is_done_ = false;
  std::thread thread_;
};

struct Network {
  Matrix first{kInputs, kHidden}, second{kHidden, kClasses};
  Network() {
    std::mt19937 random(2);
    std::normal_distribution<float> normal(0, 0.2F);
    for (Matrix* weights : {&first, &second})
      for (float& value : weights->values) value = normal(random);
  }
};

// Cross entropy of softmax(logits), whose gradient replaces them.
float loss_and_gradient(Matrix& logits, const std::vector<int>& labels) {
  const stepscope::OpSpan op("mlp::cross_entropy", {{logits.rows, logits.columns}, {logits.rows}});
  float loss = 0;
  for (int r = 0; r < logits.rows; ++r) {
    float sum = 0;
    for (int c = 0; c < logits.columns; ++c) sum += logits.at(r, c) = std::exp(logits.at(r, c));
    loss -= std::log(logits.at(r, labels[r]) / sum) / static_cast<float>(logits.rows);
    for (int c = 0; c < logits.columns; ++c)
      logits.at(r, c) = (logits.at(r, c) / sum - (c == labels[r] ? 1.F : 0.F)) / static_cast<float>(logits.rows);
  }
  return loss;
}

float train_step(Network& network, const Batch& batch) {
  Matrix hidden(0, 0), output(0, 0), first_gradient(0, 0), second_gradient(0, 0);
  {
    STEPSCOPE_SPAN("forward");
    hidden = multiply(batch.inputs, network.first);
    for (float& value : hidden.values) value = std::max(value, 0.F);
    output = multiply(hidden, network.second);
  }
  float loss = 0;
  {
    STEPSCOPE_SPAN("backward");
    loss = loss_and_gradient(output, batch.labels);
    second_gradient = multiply(transposed(hidden), output);
    Matrix hidden_gradient = multiply(output, transposed(network.second));
    for (std::size_t i = 0; i < hidden.values.size(); ++i)
      if (hidden.values[i] <= 0) hidden_gradient.values[i] = 0;
    first_gradient = multiply(transposed(batch.inputs), hidden_gradient);
  }
  STEPSCOPE_SPAN("Optimizer.step#SGD.step");
  for (std::size_t i = 0; i < network.first.values.size(); ++i)
    network.first.values[i] -= kLearningRate * first_gradient.values[i];
  for (std::size_t i = 0; i < network.second.values.size(); ++i)
    network.second.values[i] -= kLearningRate * second_gradient.values[i];
  return loss;
}

}  // namespace

int main(int argc, char** argv) {
  // Ten steps go by, one warms up, three are recorded; then once more.
  const auto schedule = stepscope::make_schedule({.skip_first = 10, .wait = 1, .warmup = 1, .active = 3, .repeat = 2});
  stepscope::SessionOptions options;
  options.schedule = schedule.value();
  options.record_shapes = true;
  options.on_trace_ready = stepscope::directory_handler(argc > 1 ? argv[1] : "traces");
  stepscope::ProfilingSession session(options);
  if (const auto started = session.start(); !started) {
    std::fprintf(stderr, "%s\n", started.error().to_string().c_str());
    return 1;
  }

  Loader loader;
  Network network;
  float first_loss = 0, loss = 0;
  for (int step = 0; step < kSteps; ++step) {
    loss = train_step(network, loader.next());
    if (step == 0) first_loss = loss;
    stepscope::record_counter("loss", loss);
    session.step();
    if (step % 10 == 9) std::printf("step %2d  loss %.3f\n", step, loss);
  }

  const auto stopped = session.stop();
  for (const std::string& file : session.trace_files()) std::printf("\nstepscope report %s\n", file.c_str());
  if (!stopped) std::fprintf(stderr, "%s\n", stopped.error().to_string().c_str());
  return stopped && loss < first_loss ? 0 : 1;
}

// What a span costs: off, recording, by each way to name it, nested, from two threads; beside it the obvious way, two
// clock_gettime, a mutex and a vector. docs/performance.md, "Spans", has the table.
//
// The number of spans is fixed, so that a recording stays below its cap and every span is one that was kept (a loop
// that runs longer would measure dropping); each recording is checked for that at its end.
#include <benchmark/benchmark.h>
#include <time.h>

#include <mutex>
#include <string>
#include <vector>

#include "capture/recorder.h"
#include "capture/tick_clock.h"
#include "stepscope/span.h"

namespace stepscope {
namespace {

constexpr std::int64_t kSpans = 2'000'000;

// A recording around the loop of thread 0; `each` records an iteration, and nothing dropped, or the benchmark fails.
class Around {
 public:
  Around(benchmark::State& state, std::uint64_t each, const RecorderOptions& options = {})
      : state_(state), each_(each) {
    if (state_.thread_index() == 0 && !start_recorder(options)) state_.SkipWithError("cannot record");
  }
  ~Around() {
    if (state_.thread_index() != 0) return;
    const auto recording = stop_recorder();
    std::uint64_t records = 0, dropped = 0;
    if (recording) {
      for (const ThreadRecords& thread : recording->threads) {
        records += thread.records.size();
        dropped += thread.dropped_count;
      }
    }
    const auto expected = each_ * static_cast<std::uint64_t>(state_.iterations() * state_.threads());
    if (records != expected || dropped > 0) state_.SkipWithError("not all were recorded");
  }
  Around(const Around&) = delete;
  Around& operator=(const Around&) = delete;

 private:
  benchmark::State& state_;
  std::uint64_t each_;
};

void clock_counter(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(read_ticks());
}

std::int64_t monotonic_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}
void clock_monotonic(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(monotonic_ns());
}

void off_name(benchmark::State& state) {
  for (auto _ : state) const Span span("forward");
}
void off_macro(benchmark::State& state) {
  for (auto _ : state) {
    STEPSCOPE_SPAN("forward");
  }
}
void off_operator(benchmark::State& state) {
  std::int64_t rows = 64;
  benchmark::DoNotOptimize(rows);
  for (auto _ : state) const OpSpan op("aten::mm", {{rows, 128}, {128, 32}});
}

void on_name(benchmark::State& state) {
  const Around around(state, 1);
  for (auto _ : state) const Span span("forward");
}
void on_macro(benchmark::State& state) {
  const Around around(state, 1);
  for (auto _ : state) {
    STEPSCOPE_SPAN("forward");
  }
}
// One of 64 names a time, made by the program: the name is hashed and compared.
void on_names_in_turn(benchmark::State& state) {
  std::vector<std::string> names;
  for (int i = 0; i < 64; ++i) names.push_back("transformer.layer." + std::to_string(i));
  const Around around(state, 1);
  std::size_t i = 0;
  for (auto _ : state) const Span span(names[i++ % 64]);
}
void on_nested_three_deep(benchmark::State& state) {
  const Around around(state, 3);
  for (auto _ : state) {
    STEPSCOPE_SPAN("step");
    { STEPSCOPE_SPAN("forward"); }
    { STEPSCOPE_SPAN("backward"); }
  }
}
void on_operator(benchmark::State& state) {
  const Around around(state, 1);
  for (auto _ : state) const OpSpan op("aten::mm", {{64, 128}, {128, 32}});
}
void on_operator_with_shapes(benchmark::State& state) {
  const Around around(state, 1, {.max_bytes = std::size_t{1} << 30, .record_shapes = true});
  for (auto _ : state) const OpSpan op("aten::mm", {{64, 128}, {128, 32}});
}
void on_with_stack(benchmark::State& state) {
  const Around around(state, 1, {.max_bytes = std::size_t{1} << 30, .record_stacks = true});
  for (auto _ : state) const Span span("forward");
}
void on_counter(benchmark::State& state) {
  const Around around(state, 1);
  for (auto _ : state) record_counter("queue length", 3);
}

// What one would write in ten minutes.
struct Obvious {
  struct Row {
    const char* name;
    std::int64_t start_ns, end_ns;
  };
  static std::mutex mutex;
  static std::vector<Row> rows;

  explicit Obvious(const char* of) : name(of), start_ns(monotonic_ns()) {}
  ~Obvious() {
    const std::int64_t end_ns = monotonic_ns();
    const std::lock_guard lock(mutex);
    rows.push_back({name, start_ns, end_ns});
  }
  Obvious(const Obvious&) = delete;
  Obvious& operator=(const Obvious&) = delete;
  const char* name;
  std::int64_t start_ns;
};
std::mutex Obvious::mutex;
std::vector<Obvious::Row> Obvious::rows;
void obvious(benchmark::State& state) {
  if (state.thread_index() == 0) Obvious::rows = {};
  for (auto _ : state) const Obvious span("forward");
}

BENCHMARK(clock_counter);
BENCHMARK(clock_monotonic);
BENCHMARK(off_name);
BENCHMARK(off_macro);
BENCHMARK(off_operator);
BENCHMARK(on_name)->Iterations(kSpans);
BENCHMARK(on_macro)->Iterations(kSpans);
BENCHMARK(on_names_in_turn)->Iterations(kSpans);
BENCHMARK(on_nested_three_deep)->Iterations(kSpans);
BENCHMARK(on_operator)->Iterations(kSpans);
BENCHMARK(on_operator_with_shapes)->Iterations(kSpans);
BENCHMARK(on_counter)->Iterations(kSpans);
BENCHMARK(on_with_stack)->Iterations(kSpans / 20);
BENCHMARK(obvious)->Iterations(kSpans);
BENCHMARK(on_macro)->Iterations(kSpans)->Threads(2);
BENCHMARK(obvious)->Iterations(kSpans)->Threads(2);

}  // namespace
}  // namespace stepscope

// The capture file on recorded runs, taken as the agent would have captured them: bytes an event in the file, ns an
// event to write (encode, compress, write(2)), to decode, and to import. Labels say how many events.
//
//   cmake --preset bench && cmake --build build/bench --target capture_bench && build/bench/bench/capture_bench
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <filesystem>
#include <map>

#include "capture/capture_file.h"
#include "import/capture/made_capture.h"
#include "import/importers.h"
#include "recorded/capture_of_trace.h"
#include "wire/record_decoder.h"

namespace stepscope {
namespace {

constexpr const char* kRecordings[] = {"h200/tiny", "h200/solid", "h200/graph", "h200/mask_sync"};

const CaptureOfTrace& capture_of(std::int64_t recording) {
  static std::map<std::int64_t, CaptureOfTrace> known;
  const auto at = known.find(recording);
  if (at != known.end()) return at->second;
  const auto traces =
      read_traces(STEPSCOPE_TESTS_DIR "/data/" + std::string(kRecordings[recording]) + ".pt.trace.json.gz");
  return known.emplace(recording, capture_of_trace(traces->front())).first->second;
}

// Payloads of all chunks, so that decoding alone is measured.
std::vector<std::string> payloads_of(const std::string& file) {
  std::vector<std::string> payloads;
  std::size_t at = 0;
  wire::ChunkReader reader(
      [&](char* into, std::size_t size) -> Result<std::size_t> {
        const std::size_t got = std::min(size, file.size() - at);
        file.copy(into, got, at);
        at += got;
        return got;
      },
      [](wire::ChunkDamage, std::uint64_t, std::uint64_t, std::optional<std::uint32_t>) {});
  if (!reader.open()) return payloads;
  for (auto chunk = reader.next(); chunk && *chunk; chunk = reader.next()) payloads.emplace_back((*chunk)->payload);
  return payloads;
}

void finish(benchmark::State& state, const CaptureOfTrace& capture) {
  const auto events = static_cast<double>(capture.event_count);
  state.SetLabel(std::string(kRecordings[state.range(0)]) + ", " + std::to_string(capture.event_count) + " events");
  state.counters["bytes_per_event"] = static_cast<double>(capture.bytes.size()) / events;
  // Inverted: a counter of seconds an event.
  state.counters["per_event"] =
      benchmark::Counter(events, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

void decode_all(const std::vector<std::string>& payloads, WireVisitor& visitor) {
  wire::RecordDecoder decoder;
  for (const std::string& payload : payloads) benchmark::DoNotOptimize(decoder.decode(payload, visitor).record_count);
}

void decode(benchmark::State& state) {
  const CaptureOfTrace& capture = capture_of(state.range(0));
  const std::vector<std::string> payloads = payloads_of(capture.bytes);
  WireVisitor nobody;
  for (auto _ : state) decode_all(payloads, nobody);
  finish(state, capture);
}

// The agent's worker: records to the file. With decode()'s time in it.
void decode_and_write(benchmark::State& state) {
  const CaptureOfTrace& capture = capture_of(state.range(0));
  const std::vector<std::string> payloads = payloads_of(capture.bytes);
  const std::string path =
      (std::filesystem::temp_directory_path() / ("stepscope_bench_" + std::to_string(::getpid()))).string();
  for (auto _ : state) {
    auto file = CaptureFile::create(path, {}, {});
    if (!file) return state.SkipWithError(file.error().to_string().c_str());
    decode_all(payloads, **file);
    benchmark::DoNotOptimize((*file)->close(0).has_value());
    state.PauseTiming();
    std::filesystem::remove(path);
    state.ResumeTiming();
  }
  finish(state, capture);
}

void import(benchmark::State& state) {
  const CaptureOfTrace& capture = capture_of(state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(capture_format::read_bytes(capture.bytes)->size());
  finish(state, capture);
}

BENCHMARK(decode)->DenseRange(0, std::size(kRecordings) - 1)->Unit(benchmark::kMillisecond);
BENCHMARK(decode_and_write)->DenseRange(0, std::size(kRecordings) - 1)->Unit(benchmark::kMillisecond);
BENCHMARK(import)->DenseRange(0, std::size(kRecordings) - 1)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace stepscope

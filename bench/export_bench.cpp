// How fast a trace is written as Chrome trace JSON: text alone, and through zlib into a file.
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <string>

#include "export/chrome_trace.h"
#include "import/importers.h"

namespace stepscope {
namespace {

// Operators with shapes and memory events; Python frames; kernels.
const Trace& recording(const std::string& name) {
  static std::map<std::string, Trace> known;
  auto at = known.find(name);
  if (at == known.end()) {
    auto read = read_traces(STEPSCOPE_TESTS_DIR "/data/h200/" + name + ".pt.trace.json.gz");
    at = known.emplace(name, read ? std::move(read->front()) : Trace()).first;
  }
  return at->second;
}

void write_text(benchmark::State& state, const std::string& name) {
  const Trace& trace = recording(name);
  std::size_t bytes = 0;
  for (auto _ : state) {
    const Status written = write_chrome_trace(trace, [&](std::string_view piece) -> Status {
      benchmark::DoNotOptimize(piece.data());
      bytes += piece.size();
      return Done{};
    });
    if (!written) state.SkipWithError(written.error().message.c_str());
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(bytes));
}

void write_gzip(benchmark::State& state, const std::string& name) {
  const Trace& trace = recording(name);
  std::size_t bytes = 0;
  const Status counted = write_chrome_trace(trace, [&](std::string_view piece) -> Status {
    bytes += piece.size();
    return Done{};
  });
  const std::string path =
      std::filesystem::temp_directory_path() / ("export_bench_" + std::to_string(::getpid()) + ".json.gz");
  for (auto _ : state) {
    const Status written = write_chrome_trace_file(trace, path);
    if (!written || !counted) state.SkipWithError("cannot write");
  }
  std::filesystem::remove(path);
  state.SetBytesProcessed(static_cast<std::int64_t>(bytes) * static_cast<std::int64_t>(state.iterations()));
}

BENCHMARK_CAPTURE(write_text, optimizer, std::string("optimizer"));
BENCHMARK_CAPTURE(write_text, solid4_stack, std::string("solid4_stack"));
BENCHMARK_CAPTURE(write_gzip, optimizer, std::string("optimizer"));

}  // namespace
}  // namespace stepscope

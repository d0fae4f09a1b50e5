// The parts of the JSON importer on one core, each on the text of tests/data/h200/solid.pt.trace.json.gz (12 MB):
// decompression, text to tokens, text to rows, the whole import. import_simdjson_bench.cpp is the comparison.
//
//   cmake --preset bench && cmake --build build/bench --target import_bench && build/bench/import_bench
#include <benchmark/benchmark.h>

#include <algorithm>
#include <string>

#include "import/bytes/byte_source.h"
#include "import/chrome_json/chrome_json.h"
#include "import/chrome_json/event_list.h"
#include "import/chrome_json/event_reader.h"
#include "import/chrome_json/exact_tables.h"
#include "import/chrome_json/learned_reader.h"
#include "import/chrome_json/scan.h"
#include "import/importers.h"

namespace stepscope {
namespace {

const std::string kPath = STEPSCOPE_TESTS_DIR "/data/h200/solid.pt.trace.json.gz";

std::string read_all(ByteSource& source) {
  std::string text;
  std::string window(1 << 20, '\0');
  for (;;) {
    const Result<std::size_t> got = source.read(window.data(), window.size());
    if (!got || *got == 0) return text;
    text.append(window, 0, *got);
  }
}

// The list of events, from its first `{` to its `]`.
const std::string& event_text() {
  static const std::string text = [] {
    auto source = open_bytes(kPath, false);
    std::string all = read_all(**source);
    const std::size_t begin = all.find('{', all.find("\"traceEvents\""));
    const std::size_t end = all.rfind(']') + 1;
    return all.substr(begin, end - begin) + std::string(chrome_json::kTextPadding, '\0');
  }();
  return text;
}

std::size_t event_bytes() { return event_text().size() - chrome_json::kTextPadding; }

void set_rate(benchmark::State& state) {
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * event_bytes()));
}

void decompress(benchmark::State& state) {
  std::size_t bytes = 0;
  std::string window(1 << 20, '\0');
  for (auto _ : state) {
    auto source = open_bytes(kPath, false);
    for (;;) {
      const Result<std::size_t> got = (*source)->read(window.data(), window.size());
      if (!got || *got == 0) break;
      bytes += *got;
    }
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(bytes));
}
BENCHMARK(decompress)->Unit(benchmark::kMillisecond);

// Tokens only: what reading costs without any table. `read` is one of the two fast readers.
template <class Read>
void read_tokens(benchmark::State& state, Read&& read) {
  const char* const end = event_text().data() + event_bytes();
  chrome_json::Event event;
  chrome_json::Remarks remarks;
  for (auto _ : state) {
    const char* at = event_text().data();
    std::size_t events = 0;
    while (*at != ']') {
      at = read(at, end, event, remarks);
      if (at == nullptr) return state.SkipWithError("damaged");
      ++events;
      while (chrome_json::is_space(*at) || *at == ',') ++at;
    }
    benchmark::DoNotOptimize(events);
  }
  set_rate(state);
}

void tokens(benchmark::State& state) { read_tokens(state, chrome_json::read_event); }
BENCHMARK(tokens)->Unit(benchmark::kMillisecond);

void tokens_learned(benchmark::State& state) {
  chrome_json::LearnedReader reader;
  read_tokens(state, [&](const char* at, const char* end, chrome_json::Event& event, chrome_json::Remarks& remarks) {
    return reader.read(at, end, event, remarks);
  });
}
BENCHMARK(tokens_learned)->Unit(benchmark::kMillisecond);

// Text to rows of a fragment, in blocks of a megabyte, as a worker does it.
void rows(benchmark::State& state) {
  constexpr std::size_t kBlock = 1 << 20;
  const std::string& text = event_text();
  Fragment spare;
  for (auto _ : state) {
    for (std::size_t at = 0; at < event_bytes();) {
      const std::size_t until = std::min(event_bytes(), at + kBlock);
      chrome_json::BlockRows block;
      chrome_json::lend_columns(block.fragment, spare);
      const auto text_end = until == event_bytes() ? chrome_json::TextEnd::kFile : chrome_json::TextEnd::kAnywhere;
      const auto result = chrome_json::read_event_list(text.data() + at, text.data() + until, at, text_end, block);
      chrome_json::take_columns_back(block.fragment, spare);
      benchmark::DoNotOptimize(block.fragment.ops.size());
      at = static_cast<std::size_t>(result.stop - text.data());
    }
  }
  set_rate(state);
}
BENCHMARK(rows)->Unit(benchmark::kMillisecond);

void whole_file(benchmark::State& state) {
  for (auto _ : state) {
    const Result<std::vector<Trace>> traces = read_traces(kPath, {.threads = 1, .progress = {}});
    benchmark::DoNotOptimize(traces.has_value());
  }
  set_rate(state);
}
BENCHMARK(whole_file)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace stepscope

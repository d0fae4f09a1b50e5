// For comparison with import_bench: simdjson On-Demand walking every field of the same text.
//
// On-Demand is compiled for one processor (here -march=native, see CMakeLists.txt); it cannot choose at run time, and
// a generic build gets its fallback, which is five times slower.
#include <benchmark/benchmark.h>
#include <simdjson.h>

#include <string>

#include "import/bytes/byte_source.h"

namespace stepscope {
namespace {

std::string event_list() {
  auto source = open_bytes(STEPSCOPE_TESTS_DIR "/data/h200/solid.pt.trace.json.gz", false);
  std::string text(64 << 20, '\0');
  text.resize(read_fully(**source, text.data(), text.size()).value());
  const std::size_t begin = text.find('[', text.find("\"traceEvents\""));
  return text.substr(begin, text.rfind(']') + 1 - begin);
}

// Values are taken as raw text, as our reader takes them; the arguments of all events are walked.
void walk(benchmark::State& state) {
  simdjson::ondemand::parser parser;
  const simdjson::padded_string padded(event_list());
  for (auto _ : state) {
    std::size_t bytes = 0;
    simdjson::ondemand::document document = parser.iterate(padded);
    for (simdjson::ondemand::object event : document.get_array()) {
      for (auto field : event) {
        const std::string_view key = field.unescaped_key();
        simdjson::ondemand::value value = field.value();
        if (key != "args") {
          bytes += value.raw_json_token().size();
          continue;
        }
        for (auto argument : value.get_object()) {
          bytes += argument.unescaped_key().value().size();
          bytes += argument.value().raw_json_token().value().size();
        }
      }
    }
    benchmark::DoNotOptimize(bytes);
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * padded.size()));
  state.SetLabel(std::string(simdjson::builtin_implementation()->name()));
}
BENCHMARK(walk)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace stepscope

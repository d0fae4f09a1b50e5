// For comparison with import_bench: simdjson On-Demand walking every field of the same text.
//
// Its search for structural characters is chosen at run time, the rest when it is compiled: -march=native here, see
// CMakeLists.txt, which makes no difference on Zen 5.
#include <benchmark/benchmark.h>
#include <simdjson.h>

#include <string>

#include "import/bytes/byte_source.h"
#include "import/chrome_json/tokens.h"

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

// The same and what our reader does besides: keys recognised, values kept as tokens, lists as their whole text.
chrome_json::Token token_of(simdjson::ondemand::value value) {
  using chrome_json::TokenKind;
  using simdjson::ondemand::json_type;
  const json_type type = value.type();
  if (type == json_type::array) {
    const std::string_view text = value.get_array().value().raw_json();
    return {text.data(), static_cast<std::uint32_t>(text.size()), TokenKind::kContainer};
  }
  const std::string_view text = value.raw_json_token();
  return {text.data(), static_cast<std::uint32_t>(text.size()),
          type == json_type::number ? TokenKind::kNumber : TokenKind::kString};
}

void walk_to_tokens(benchmark::State& state) {
  simdjson::ondemand::parser parser;
  const simdjson::padded_string padded(event_list());
  chrome_json::Event event;
  for (auto _ : state) {
    std::size_t events = 0;
    simdjson::ondemand::document document = parser.iterate(padded);
    for (simdjson::ondemand::object object : document.get_array()) {
      event.clear();
      for (auto field : object) {
        const std::string_view key = field.unescaped_key();
        simdjson::ondemand::value value = field.value();
        if (key != "args") {
          event.fields.slot(chrome_json::field_of(key)) = token_of(value);
          continue;
        }
        for (auto argument : value.get_object()) {
          const chrome_json::Arg arg = chrome_json::arg_of(argument.unescaped_key());
          event.args.slot(arg) = token_of(argument.value());
        }
      }
      ++events;
    }
    benchmark::DoNotOptimize(events);
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * padded.size()));
}
BENCHMARK(walk_to_tokens)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace stepscope

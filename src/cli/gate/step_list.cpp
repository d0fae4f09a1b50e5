// Lines are read by hand, documents by nlohmann; every time passes through one check.
#include "cli/gate/step_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "import/importers.h"
#include "memory/snapshot_reader.h"

namespace stepscope {
namespace {

using Json = nlohmann::json;

struct Unit {
  std::string_view name;
  double ns;
};
constexpr std::array<Unit, 5> kUnits = {{{"s", 1e9}, {"ms", 1e6}, {"us", 1e3}, {"µs", 1e3}, {"ns", 1}}};

std::optional<double> unit_ns(std::string_view name) {
  for (const Unit& unit : kUnits) {
    if (unit.name == name) return unit.ns;
  }
  return std::nullopt;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

// What of a file is quoted in a message.
std::string in_quotes(std::string_view text) {
  constexpr std::size_t kMost = 40;
  return fmt::format("`{}{}`", text.substr(0, kMost), text.size() > kMost ? "..." : "");
}

// A value of a document in a message. Lists are only named: printing them would recurse as deep as they do.
std::string described(const Json& value) {
  if (value.is_array()) return "a list";
  if (value.is_object()) return "an object";
  return in_quotes(value.dump(-1, ' ', false, Json::error_handler_t::replace));
}

Error wrong(const std::string& file, std::string message) { return {ErrorCode::kDamaged, std::move(message), file}; }

Error needs_unit(const std::string& file) {
  return {ErrorCode::kInvalidArgument, "the numbers have no unit; say --unit ms (or s, us, ns)", file};
}

// Why `value` is no time; empty if it is one. 52 days are longer than any step, and what a summary can hold.
std::string why_no_time(double value_ns) {
  constexpr double kMostNs = 0x1p52;
  if (std::isnan(value_ns)) return "is no number";
  if (value_ns < 0) return "is negative";
  if (value_ns == 0) return "is 0";
  if (std::isinf(value_ns)) return "is infinite";
  if (value_ns < 0.5) return "rounds to 0 ns: is the unit right?";  // which a summary could not hold
  return value_ns > kMostNs ? "is longer than 52 days: is the unit right?" : "";
}

struct ReadLine {
  std::optional<double> value;
  std::string_view unit;
};

ReadLine read_line(std::string_view line) {
  double value = 0;
  const auto [at, error] = std::from_chars(line.data(), line.data() + line.size(), value);
  if (error != std::errc()) return {};
  return {value, trimmed(line.substr(static_cast<std::size_t>(at - line.data())))};
}

Result<GateSide> read_lines(std::string_view text, const std::string& file, std::optional<double> ns_per_unit) {
  GateRun run;
  run.source = file;
  run.kind = GateTimeKind::kListedSteps;
  std::size_t number = 0;
  while (!text.empty()) {
    ++number;
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty() || line.starts_with('#')) continue;
    const ReadLine read = read_line(line);
    if (!read.value) {
      return wrong(file, fmt::format("line {}: {} is no time; one number a line is expected", number, in_quotes(line)));
    }
    const std::optional<double> factor = read.unit.empty() ? ns_per_unit : unit_ns(read.unit);
    if (!factor && read.unit.empty()) return needs_unit(file);
    if (!factor) {
      return wrong(file,
                   fmt::format("line {}: {} is no unit of time; s, ms, us and ns are", number, in_quotes(read.unit)));
    }
    const double value_ns = *read.value * *factor;
    if (const std::string why = why_no_time(value_ns); !why.empty()) {
      return wrong(file, fmt::format("line {}: the time {} {}", number, in_quotes(line), why));
    }
    run.steps_ns.push_back(value_ns);
  }
  if (run.steps_ns.empty()) return wrong(file, "no step times in it");
  GateSide side;
  side.runs.push_back(std::move(run));
  return side;
}

// Reads a list of numbers. `where` begins the message: "run 2, ".
Result<std::vector<double>> read_times(const Json& list, double factor, const std::string& file,
                                       const std::string& where) {
  if (!list.is_array()) return wrong(file, where + "a list of times is expected, not " + described(list));
  if (list.empty()) return wrong(file, where + "no step times in it");
  std::vector<double> times;
  times.reserve(list.size());
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (!list[i].is_number()) {
      return wrong(file, fmt::format("{}step {}: {} is no time", where, i + 1, described(list[i])));
    }
    const double value_ns = list[i].get<double>() * factor;
    if (const std::string why = why_no_time(value_ns); !why.empty()) {
      return wrong(file, fmt::format("{}step {}: the time {} {}", where, i + 1, described(list[i]), why));
    }
    times.push_back(value_ns);
  }
  return times;
}

std::optional<std::int64_t> bytes_at(const Json& document, const char* key) {
  const auto at = document.find(key);
  if (at == document.end() || !at->is_number_integer() || *at < 0) return std::nullopt;
  return at->get<std::int64_t>();
}

// Of a document that someone made: what is there has to be a number of bytes. Not there, or null: not recorded.
Result<std::optional<std::int64_t>> peak_at(const Json& document, const char* key, const std::string& file) {
  const auto at = document.find(key);
  if (at == document.end() || at->is_null()) return std::optional<std::int64_t>();
  const auto refuse = [&](const char* why) { return wrong(file, fmt::format("{}: {} {}", key, described(*at), why)); };
  if (!at->is_number()) return refuse("is no number of bytes");
  if (at->get<double>() < 0) return refuse("is negative");
  constexpr double kMostBytes = 0x1p62;
  const double value = at->get<double>();
  if (!(value <= kMostBytes)) return refuse("is more than any memory has");
  // Python's division makes 1.5e9 of a whole number.
  if (!at->is_number_integer() && value != std::floor(value)) return refuse("is no whole number of bytes");
  return std::optional(at->is_number_integer() ? at->get<std::int64_t>() : static_cast<std::int64_t>(value));
}

std::string text_at(const Json& document, const char* key) {
  const auto at = document.find(key);
  return at != document.end() && at->is_string() ? at->get<std::string>() : std::string();
}

// One list, or a list of lists.
Result<GateSide> read_runs(const Json& lists, double factor, const std::string& file) {
  GateSide side;
  const bool is_several = lists.is_array() && !lists.empty() && lists.front().is_array();
  const std::size_t count = is_several ? lists.size() : 1;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string where = is_several ? fmt::format("run {}, ", i + 1) : "";
    auto times = read_times(is_several ? lists[i] : lists, factor, file, where);
    if (!times) return times.error();
    GateRun run;
    run.source = is_several ? fmt::format("{}, run {}", file, i + 1) : file;
    run.kind = GateTimeKind::kListedSteps;
    run.steps_ns = std::move(*times);
    side.runs.push_back(std::move(run));
  }
  return side;
}

Result<GateSide> read_own_document(const Json& document, const std::string& file, std::optional<double> ns_per_unit) {
  std::optional<double> factor = ns_per_unit;
  if (document.contains("unit")) {
    factor = unit_ns(text_at(document, "unit"));
    if (!factor) {
      return wrong(file, "the unit " + described(document["unit"]) + " is none of s, ms, us, ns");
    }
  }
  const bool is_ns = document.contains("steps_ns");
  if (is_ns) factor = 1;
  if (!factor) return needs_unit(file);
  if (document.contains("steps") + document.contains("runs") + document.contains("steps_ns") > 1) {
    return wrong(file, "more than one of `steps`, `runs` and `steps_ns` is in it; which is meant?");
  }
  const auto allocated = peak_at(document, "allocated_peak_bytes", file);
  if (!allocated) return allocated.error();
  const auto reserved = peak_at(document, "reserved_peak_bytes", file);
  if (!reserved) return reserved.error();
  const char* key = is_ns ? "steps_ns" : document.contains("runs") ? "runs" : "steps";
  auto side = read_runs(document[key], *factor, file);
  if (!side) return side;
  for (GateRun& run : side->runs) {
    run.device_name = text_at(document, "device_name");
    run.allocated_peak_bytes = *allocated;
    run.reserved_peak_bytes = *reserved;
  }
  return side;
}

// `stepscope steps --json`.
Result<GateSide> read_steps_document(const Json& document, const std::string& file) {
  GateRun run;
  run.source = file;
  run.kind = GateTimeKind::kHostSteps;
  const Json& rows = document["rows"];
  if (!rows.is_array()) return wrong(file, "`rows` is no list");
  for (const Json& row : rows) {
    const auto duration_ns = bytes_at(row, "duration_ns");
    if (!duration_ns || *duration_ns == 0) return wrong(file, "a row without duration_ns");
    run.steps_ns.push_back(static_cast<double>(*duration_ns));
    if (bytes_at(row, "gpu_busy_ns")) run.kind = GateTimeKind::kGpuSteps;
    for (auto [peak, key] : {std::pair{&run.allocated_peak_bytes, "allocated_peak_bytes"},
                             std::pair{&run.reserved_peak_bytes, "reserved_peak_bytes"}}) {
      if (const auto bytes = bytes_at(row, key)) *peak = std::max(peak->value_or(0), *bytes);
    }
  }
  if (run.steps_ns.empty()) return wrong(file, "no step times in it");
  GateSide side;
  if (const std::string why = text_at(document, "headline_withheld"); !why.empty())
    side.steps_withheld = file + ": " + why;
  side.runs.push_back(std::move(run));
  return side;
}

// `stepscope bench --json`: every run of the command is a run.
Result<GateSide> read_bench_document(const Json& document, const std::string& file) {
  const Json& commands = document["commands"];
  if (!commands.is_array() || commands.empty()) return wrong(file, "no command was measured in it");
  if (commands.size() > 1) {
    return wrong(file, "two commands were measured in it; measure each alone, or let bench compare them");
  }
  const Json& command = commands.front();
  const auto runs = command.find("runs");
  if (runs == command.end() || !runs->is_array() || runs->empty()) return wrong(file, "no run was measured in it");
  GateSide side;
  for (const Json& each : *runs) {
    const auto wall_ns = bytes_at(each, "wall_ns");
    if (!wall_ns || *wall_ns == 0) return wrong(file, "a run without wall_ns");
    GateRun run;
    run.source = file;
    run.kind = GateTimeKind::kCommandRuns;
    run.steps_ns.push_back(static_cast<double>(*wall_ns));
    side.runs.push_back(std::move(run));
  }
  if (text_at(document, "status") != "complete") side.losses.push_back(file + ": the measurement did not end");
  if (const auto failed = bytes_at(command, "failed_count"); failed && *failed > 0) {
    side.losses.push_back(fmt::format("{}: {} of its runs failed", file, *failed));
  }
  return side;
}

Result<GateSide> read_document(const Json& document, const std::string& file, std::optional<double> ns_per_unit) {
  if (document.is_array()) {
    if (!ns_per_unit) return needs_unit(file);
    return read_runs(document, *ns_per_unit, file);
  }
  if (document.contains("commands")) return read_bench_document(document, file);
  if (document.contains("rows")) return read_steps_document(document, file);
  if (document.contains("steps_ns") || document.contains("steps") || document.contains("runs")) {
    return read_own_document(document, file, ns_per_unit);
  }
  return wrong(
      file,
      "a JSON document without `steps`, `runs` or `steps_ns`, and none of `stepscope steps --json` or `bench --json`");
}

// The first key of an object, as it stands.
std::string_view first_key(std::string_view text) {
  text = trimmed(text.substr(1));
  if (!text.starts_with('"')) return {};
  return text.substr(1, text.find('"', 1) - 1);
}

}  // namespace

bool looks_like_step_list(std::string_view prefix) {
  const std::string_view text = trimmed(prefix);
  if (text.empty() || looks_like_snapshot(prefix)) return false;
  if (text.front() == '{') {
    if (looks_like_trace(prefix)) return false;
    constexpr std::array<std::string_view, 9> kKeys = {
        "schema_version",     "unit", "steps", "steps_ns", "runs", "device_name", "clock", "allocated_peak_bytes",
        "reserved_peak_bytes"};
    return std::find(kKeys.begin(), kKeys.end(), first_key(text)) != kKeys.end();
  }
  if (text.front() == '[') {
    const std::string_view rest = trimmed(text.substr(1));
    return rest.empty() || std::string_view("0123456789-[]nNI").find(rest.front()) != std::string_view::npos;
  }
  return std::string_view("0123456789-.#").find(text.front()) != std::string_view::npos || text.starts_with("nan") ||
         text.starts_with("NaN") || text.starts_with("inf");
}

Result<GateSide> read_step_list(std::string_view text, const std::string& file, std::optional<double> ns_per_unit) {
  const std::string_view begin = trimmed(text);
  if (begin.empty()) return Error{ErrorCode::kEmpty, "no step times in it", file};
  if (begin.front() != '[' && begin.front() != '{') return read_lines(text, file, ns_per_unit);
  // The library keeps the last of two values of one name; which was meant nobody knows.
  std::vector<std::string> keys;
  std::string repeated;
  const auto watch = [&](int depth, Json::parse_event_t event, Json& value) {
    if (event != Json::parse_event_t::key || depth != 1) return true;
    const auto& key = value.get_ref<const std::string&>();
    if (std::find(keys.begin(), keys.end(), key) != keys.end() && repeated.empty()) repeated = key;
    // Documents have a few dozen names; of more only those are watched.
    if (keys.size() < 1000) keys.push_back(key);
    return true;
  };
  const Json document = Json::parse(begin, watch, false);
  if (document.is_discarded()) {
    for (const char* word : {"NaN", "Infinity"}) {
      if (begin.find(word) != std::string_view::npos)
        return wrong(file, fmt::format("no JSON, and {} is no time", word));
    }
    return wrong(file, "damaged JSON");
  }
  if (!repeated.empty()) return wrong(file, fmt::format("{} is in it twice; which is meant?", in_quotes(repeated)));
  return read_document(document, file, ns_per_unit);
}

}  // namespace stepscope

// A slip in a name gives another report and no error, unless somebody looks first.
#include "report/asked.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "analyze/steps.h"
#include "report/text.h"

namespace stepscope {
namespace {

std::vector<std::string> span_names(const Trace& trace) {
  std::map<std::string_view, std::int64_t> counts;
  for (const StringId name : trace.spans.name.raw()) ++counts[trace.text(name)];
  std::vector<std::pair<std::int64_t, std::string_view>> by_count;
  for (const auto& [name, count] : counts) {
    if (!name.empty()) by_count.emplace_back(-count, name);
  }
  std::sort(by_count.begin(), by_count.end());
  std::vector<std::string> names;
  names.reserve(by_count.size());
  for (const auto& [count, name] : by_count) names.push_back(shorten_end(clean_text(name), 40));
  return names;
}

std::string check_steps_name(const Trace& trace, const std::string& name) {
  const StringId id = trace.strings.find(name);
  const auto& names = trace.spans.name.raw();
  if (!id.empty() && std::find(names.begin(), names.end(), id) != names.end()) return "";
  // ProfilerStep stands for ProfilerStep#N, as name#N in general.
  const bool numbered = std::any_of(names.begin(), names.end(), [&](StringId span) {
    return trace.text(span).starts_with(name + "#") || trace.text(span).starts_with(name + " ");
  });
  if (numbered) return "";
  std::string message = fmt::format("no span is named `{}`", name);
  const std::vector<std::string> present = span_names(trace);
  constexpr std::size_t kMostNamed = 8;
  for (std::size_t i = 0; i < std::min(kMostNamed, present.size()); ++i) {
    message += (i == 0 ? "; the file has: " : ", ") + present[i];
  }
  if (present.empty()) message += "; the file has no spans at all";
  return message;
}

}  // namespace

std::string list_numbers(std::vector<std::int64_t> numbers) {
  constexpr std::size_t kMost = 16;
  std::sort(numbers.begin(), numbers.end());
  std::string text;
  for (std::size_t i = 0; i < std::min(kMost, numbers.size()); ++i) {
    text += (i > 0 ? ", " : "") + std::to_string(numbers[i]);
  }
  return numbers.size() > kMost ? text + ", …" : text;
}

std::string check_asked(const Trace& trace, const std::string& steps_name, std::optional<std::int64_t> device_number) {
  if (device_number) {
    const auto& present = trace.devices.number.raw();
    if (std::find(present.begin(), present.end(), *device_number) == present.end()) {
      return fmt::format("no device {} in the file; {}", *device_number,
                         present.empty() ? "it has no device at all" : "it has: " + list_numbers(present));
    }
  }
  return steps_name.empty() ? "" : check_steps_name(trace, steps_name);
}

std::string check_asked_of_summary(const std::string& name, const RunSummary& run, const AskedOfSummary& asked) {
  const auto refuse = [&name](const char* option, const char* what) {
    return fmt::format("{} cannot change {}: {} when it was made; give its traces", option, name, what);
  };
  if (asked.asks_window) return refuse("--window", "the window of a summary was chosen");
  for (const RankSummary& rank : run.ranks) {
    const bool is_of_span = rank.step_source == step_source_name(StepSource::kNamedSpan) &&
                            rank.step_detail == "span `" + asked.steps_name + "`";
    if (!asked.steps_name.empty() && !is_of_span) return refuse("--steps", "the steps of a summary were chosen");
    if (asked.device_number && asked.device_number != rank.device_number) {
      return refuse("--device", "the device of a summary was chosen");
    }
    if (asked.peak_flops_per_s && asked.peak_flops_per_s != rank.peak_flops_per_s) {
      return refuse("--peak", "the MFU of a summary was reckoned");
    }
  }
  return "";
}

}  // namespace stepscope

// From runs to a summary, a comparison and warnings in words.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "cli/bench/bench.h"
#include "report/numbers.h"
#include "report/text.h"
#include "stats/quantiles.h"

namespace stepscope {
namespace {

std::string quoted_word(const std::string& word) {
  const bool plain = !word.empty() && word.find_first_not_of(
                                          "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                          "0123456789_@%+=:,./-") == std::string::npos;
  if (plain) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string joined_words(const std::vector<std::string>& words, bool quote) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + (quote ? quoted_word(word) : word);
  return text;
}

std::vector<double> walls_of(const std::vector<CommandRun>& runs) {
  std::vector<double> walls;
  walls.reserve(runs.size());
  for (const CommandRun& each : runs) walls.push_back(static_cast<double>(each.run.wall_ns));
  return walls;
}

void summarize_use(CommandSummary& summary) {
  std::vector<std::int64_t> user, system;
  std::int64_t cpu_ns = 0, wall_ns = 0;
  for (const CommandRun& each : summary.runs) {
    user.push_back(each.run.user_ns);
    system.push_back(each.run.system_ns);
    cpu_ns += each.run.user_ns + each.run.system_ns;
    wall_ns += each.run.wall_ns;
    if (each.run.max_rss_bytes) {
      summary.max_rss_bytes = std::max(summary.max_rss_bytes.value_or(0), *each.run.max_rss_bytes);
    }
    if (!each.run.succeeded()) ++summary.failed_count;
  }
  summary.user_ns = median_ns(user);
  summary.system_ns = median_ns(system);
  if (wall_ns > 0) summary.cores_used = static_cast<double>(cpu_ns) / static_cast<double>(wall_ns);
}

CommandSummary summarize(std::string label, std::string line, std::vector<CommandRun> runs, std::uint64_t seed) {
  CommandSummary summary;
  summary.label = std::move(label);
  summary.line = std::move(line);
  summary.runs = std::move(runs);
  const std::vector<double> walls = walls_of(summary.runs);
  const auto at = [&](double q) -> std::optional<DurationNs> {
    const auto found = quantile(walls, q);
    return found ? std::optional<DurationNs>(std::llround(*found)) : std::nullopt;
  };
  summary.median_ns = at(0.5);
  summary.min_ns = at(0);
  summary.p25_ns = at(0.25);
  summary.p75_ns = at(0.75);
  summary.max_ns = at(1);
  BootstrapOptions options;
  options.confidence_ratio = kBenchConfidence;
  options.seed = seed;
  summary.median_interval_ns = bootstrap_median(walls, options);
  summary.checks = check_sample(walls);
  summarize_use(summary);
  return summary;
}

std::string show_ns(double ns) { return show_duration(std::llround(ns)); }

void warn_of_sample(const CommandSummary& summary, std::vector<std::string>& warnings) {
  const std::string& name = summary.label;
  if (const auto& start = summary.checks.slow_start) {
    warnings.push_back(
        fmt::format("{}: the first run took {}, the others about {}: something was still cold. More "
                    "runs of --warmup keep that out.",
                    name, show_ns(start->first), show_ns(start->rest_median)));
  }
  if (const auto& drift = summary.checks.drift) {
    const bool slower = drift->last_median > drift->first_median;
    warnings.push_back(
        fmt::format("{}: runs became {} in the course: {} in the first third, {} in the last. The "
                    "machine or the command was changing (heat, caches, other programs).",
                    name, slower ? "slower" : "faster", show_ns(drift->first_median), show_ns(drift->last_median)));
  }
  if (const auto& modes = summary.checks.two_modes) {
    warnings.push_back(
        fmt::format("{}: the runs fall into two groups, {} of them about {}, the others about {}. The "
                    "median says little about either.",
                    name, show_percent(modes->low_ratio), show_ns(modes->low_median), show_ns(modes->high_median)));
  }
  if (summary.failed_count > 0) {
    const auto failed = std::find_if(summary.runs.begin(), summary.runs.end(),
                                     [](const CommandRun& each) { return !each.run.succeeded(); });
    warnings.push_back(fmt::format("{}: {} of {} runs failed ({}); their times count all the same.", name,
                                   show_count(summary.failed_count),
                                   show_count(static_cast<std::int64_t>(summary.runs.size())), end_words(failed->run)));
  }
}

// Where starting a process is a tenth of a time, it is said; it takes 0.5 to 1 ms, so that is below 5 to 10 ms.
void warn_of_empty_command(const BenchResult& result, std::vector<std::string>& warnings) {
  if (!result.empty_command_ns) return;
  std::string shares;
  for (const CommandSummary& summary : result.commands) {
    if (!summary.median_ns || *summary.median_ns > *result.empty_command_ns * 10) continue;
    const double ratio = static_cast<double>(*result.empty_command_ns) / static_cast<double>(*summary.median_ns);
    shares += fmt::format("{}{}", shares.empty() ? "" : " and ", ratio >= 1 ? "all" : show_percent(ratio));
    shares += result.commands.size() > 1 ? fmt::format(" of {}'s time", summary.label) : " of the time";
  }
  if (shares.empty()) return;
  warnings.push_back(fmt::format("To start and end a command that does nothing takes {} here. That is included: {}.",
                                 show_duration(*result.empty_command_ns), shares));
}

// Ratios with as many decimals as their interval has to say.
int ratio_decimals(const ConfidenceInterval& interval) {
  const double width = interval.high - interval.low;
  return width > 0 ? std::clamp(static_cast<int>(std::ceil(-std::log10(width))), 2, 4) : 4;
}

std::string tell_words(const BenchResult& result) {
  if (!result.pairs_to_tell) return "";
  const std::int64_t count = result.comparison->base_count;
  if (*result.pairs_to_tell <= count) return " A difference of 1 % would have shown.";
  // Two digits: the noise itself is known no better.
  const double step =
      std::pow(10, std::max(0.0, std::floor(std::log10(static_cast<double>(*result.pairs_to_tell))) - 1));
  const double rounded = std::ceil(static_cast<double>(*result.pairs_to_tell) / step) * step;
  if (rounded > 1e9) return " With this noise 1 % cannot be told.";
  return fmt::format(" To tell 1 % takes about {} runs of each.", show_count(std::llround(rounded)));
}

}  // namespace

std::vector<ProcessCommand> runnable_commands(const BenchRequest& request) {
  std::vector<ProcessCommand> commands;
  for (const auto& words : request.commands) {
    ProcessCommand command;
    command.argv = request.by_shell ? std::vector<std::string>{"sh", "-c", joined_words(words, false)} : words;
    command.show_output = request.show_output;
    commands.push_back(std::move(command));
  }
  return commands;
}

std::string command_line(const BenchRequest& request, std::size_t command) {
  return clean_text(joined_words(request.commands[command], !request.by_shell));
}

std::string end_words(const ProcessRun& run) {
  if (run.exit_status) return fmt::format("exit status {}", *run.exit_status);
  const int signal = run.signal.value_or(0);
  return fmt::format("killed by signal {} ({})", signal, ::strsignal(signal));  // NOLINT(concurrency-mt-unsafe)
}

std::string comparison_sentence(const BenchResult& result) {
  if (!result.comparison) return "";
  const Comparison& comparison = *result.comparison;
  if (!comparison.interval || comparison.verdict == CompareVerdict::kTooFew) {
    return fmt::format("Too few runs to tell a difference: {}.", comparison.reason);
  }
  const int decimals = ratio_decimals(*comparison.interval);
  const std::string numbers =
      fmt::format("ratio {}, interval {} to {}", show_decimal(*comparison.ratio, decimals),
                  show_decimal(comparison.interval->low, decimals), show_decimal(comparison.interval->high, decimals));
  switch (comparison.verdict) {
    case CompareVerdict::kFaster:
      return fmt::format("B is faster than A: {}.", numbers);
    case CompareVerdict::kSlower:
      return fmt::format("B is slower than A: {}.", numbers);
    default:
      return fmt::format("No difference can be told: {}.{}", numbers, tell_words(result));
  }
}

BenchResult analyze_bench(const BenchRequest& request, CommandTimes times, std::optional<DurationNs> empty_command_ns,
                          const MachineState& before, const MachineState& after, const std::string& spoiled) {
  BenchResult result;
  result.failure = std::move(times.failure);
  result.interrupted_by = times.interrupted_by;
  result.empty_command_ns = empty_command_ns;
  result.hidden_rss_bytes = hidden_rss_bytes();
  result.machine = before;
  double cores_used = 0;
  for (std::size_t i = 0; i < times.runs.size(); ++i) {
    result.commands.push_back(summarize(std::string(1, static_cast<char>('A' + i)), command_line(request, i),
                                        std::move(times.runs[i]), request.plan.seed));
    cores_used = std::max(cores_used, result.commands.back().cores_used.value_or(0));
  }
  if (result.commands.size() == 2) {
    CompareOptions options;
    options.confidence_ratio = kBenchConfidence;
    options.seed = request.plan.seed;
    result.comparison = compare_pairs(walls_of(result.commands[0].runs), walls_of(result.commands[1].runs), options);
    result.pairs_to_tell = units_to_tell(*result.comparison, kSoughtDifference, kBenchConfidence);
  }
  for (const CommandSummary& summary : result.commands) warn_of_sample(summary, result.warnings);
  warn_of_empty_command(result, result.warnings);
  for (std::string& sentence : describe_noise(before, after, cores_used))
    result.warnings.push_back(std::move(sentence));
  if (!spoiled.empty()) result.warnings.push_back(spoiled + ".");
  return result;
}

}  // namespace stepscope

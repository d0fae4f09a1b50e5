// How often does the gate cry for nothing, and how often does it find a slowdown? Whole runs are drawn into 1,000 pairs
// of sides; a pair of runs of the same program is an alarm when the gate fails, and one whose new side was made slower
// by 4.5 % is found when it fails. The tables of docs/performance.md, "The gate".
//
//   false_alarms runs.json                 recorded: {"unit": "ns", "runs": [[...], ...]} (docs/gate.md);
//   tests/gpu/gate.sh
//                                          records them on a GPU, bench/gate/cpu_loops.py on a CPU
//   false_alarms --made 0.003,0.01,0.3     made: standard deviation between runs and within, likeness of neighbours
//
// From a file, the runs of a pair are different ones, drawn without repeats: 20 runs have only 190 pairs, so that the
// 1,000 are no independent trials, and the shares are those of this file and no more. Made runs are new for every pair.
#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <fstream>
#include <functional>
#include <iterator>
#include <numeric>
#include <string>

#include "cli/gate/step_list.h"
#include "fleet/gate.h"
#include "stats/quantiles.h"
#include "support/made_samples.h"

namespace stepscope {
namespace {

constexpr int kPairs = 1000;
constexpr double kPlanted = 1.045;
constexpr std::size_t kMadeSteps = 100;

struct Pair {
  GateSide base, other;
};
using DrawPair = std::function<std::optional<Pair>(Random&, std::size_t base_runs, std::size_t other_runs)>;

Pair draw_recorded(const std::vector<GateRun>& runs, Random& random, std::size_t base_runs, std::size_t other_runs) {
  std::vector<std::size_t> order(runs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  Pair pair;
  for (std::size_t i = 0; i < base_runs + other_runs; ++i) {
    std::swap(order[i], order[i + random.below(static_cast<std::uint32_t>(order.size() - i))]);
    (i < base_runs ? pair.base : pair.other).runs.push_back(runs[order[i]]);
  }
  return pair;
}

struct MadeLoop {
  double between = 0, within = 0, likeness = 0;
};

GateSide make_side(const MadeLoop& loop, Random& random, std::size_t count) {
  constexpr double kStepNs = 43.5e6;
  GateSide side;
  for (std::size_t i = 0; i < count; ++i) {
    GateRun run;
    run.kind = GateTimeKind::kListedSteps;
    const double median = kStepNs * (1 + loop.between * draw_normal(random));
    run.steps_ns = draw_steps(random, kMadeSteps, median, loop.within, loop.likeness);
    side.runs.push_back(std::move(run));
  }
  return side;
}

GateSide slower(GateSide side) {
  for (GateRun& run : side.runs) {
    for (double& step : run.steps_ns) step *= kPlanted;
  }
  return side;
}

struct Counts {
  int alarms = 0, found = 0, untold = 0;
};

Counts count_verdicts(const DrawPair& draw, std::size_t base_runs, std::size_t other_runs,
                      std::optional<double> between_runs) {
  Random random(1000 * base_runs + other_runs);
  Counts counts;
  for (int i = 0; i < kPairs; ++i) {
    const auto pair = draw(random, base_runs, other_runs);
    GateOptions options;
    options.seed = static_cast<std::uint64_t>(i);
    options.between_runs_ratio = between_runs;
    const GateVerdict same = judge_gate(pair->base, pair->other, options).verdict;
    const GateVerdict slow = judge_gate(pair->base, slower(pair->other), options).verdict;
    counts.alarms += same == GateVerdict::kFailed ? 1 : 0;
    counts.found += slow == GateVerdict::kFailed ? 1 : 0;
    counts.untold += same == GateVerdict::kCannotTell ? 1 : 0;
  }
  return counts;
}

void print_rows(const DrawPair& draw, std::size_t most_runs, std::optional<double> between_runs) {
  fmt::print("{:>14} {:>16} {:>18} {:>13}\n", "base/new runs", "alarms, no change", "found, 4.5 % slower",
             "cannot tell");
  constexpr std::array<std::array<std::size_t, 2>, 5> kSides = {{{1, 1}, {3, 1}, {5, 1}, {3, 3}, {8, 8}}};
  for (const auto& [base, other] : kSides) {
    if (base + other > most_runs) continue;
    const Counts counts = count_verdicts(draw, base, other, between_runs);
    const auto share = [](int count) { return fmt::format("{:.1f} %", 100.0 * count / kPairs); };
    fmt::print("{:>11}/{:<2} {:>17} {:>19} {:>13}\n", base, other, share(counts.alarms), share(counts.found),
               share(counts.untold));
  }
}

// What the runs are like: their medians, and the steps within.
void describe(const std::vector<GateRun>& runs) {
  std::vector<double> medians, spreads;
  std::size_t steps = 0;
  for (const GateRun& run : runs) {
    const double median = *quantile(run.steps_ns, 0.5);
    medians.push_back(median);
    // Of a normal distribution the middle half is 1.349 standard deviations wide.
    spreads.push_back((*quantile(run.steps_ns, 0.75) - *quantile(run.steps_ns, 0.25)) / 1.349 / median);
    steps += run.steps_ns.size();
  }
  double sum = 0, squares = 0;
  for (const double median : medians) sum += std::log(median);
  for (const double median : medians) squares += std::pow(std::log(median) - sum / medians.size(), 2);
  fmt::print(
      "{} runs, {} steps; median {:.3f} ms; between runs {:.2f} % (least to greatest {:.1f} %), within {:.1f} %\n",
      runs.size(), steps, *quantile(medians, 0.5) / 1e6, 100 * std::sqrt(squares / (medians.size() - 1)),
      100 * (*quantile(medians, 1) / *quantile(medians, 0) - 1), 100 * *quantile(spreads, 0.5));
}

int measure_file(const char* path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto list = read_step_list(text, path, std::nullopt);
  if (!list) {
    fmt::print(stderr, "{}\n", list.error().to_string());
    return 1;
  }
  if (list->runs.size() < 2) {
    fmt::print(stderr, "{}: one run cannot be paired with itself\n", path);
    return 1;
  }
  describe(list->runs);
  const DrawPair draw = [&](Random& random, std::size_t base, std::size_t other) -> std::optional<Pair> {
    return draw_recorded(list->runs, random, base, other);
  };
  print_rows(draw, list->runs.size(), std::nullopt);
  return 0;
}

std::optional<MadeLoop> parse_loop(std::string_view text) {
  std::array<double, 3> numbers{};
  for (double& number : numbers) {
    const auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc()) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(at - text.data()));
    if (text.starts_with(',')) text.remove_prefix(1);
  }
  return text.empty() ? std::optional(MadeLoop{numbers[0], numbers[1], numbers[2]}) : std::nullopt;
}

int measure_made(std::string_view text) {
  const auto loop = parse_loop(text);
  if (!loop) {
    fmt::print(stderr, "{}: three numbers are expected, such as 0.003,0.01,0.3\n", text);
    return 2;
  }
  const DrawPair draw = [&](Random& random, std::size_t base, std::size_t other) -> std::optional<Pair> {
    return Pair{make_side(*loop, random, base), make_side(*loop, random, other)};
  };
  fmt::print("made: between runs {:.2g} %, within {:.2g} %, likeness {:.1f}\n", 100 * loop->between, 100 * loop->within,
             loop->likeness);
  print_rows(draw, 99, std::nullopt);
  fmt::print("the same, --between-runs {:.2g}%\n", 100 * loop->between);
  print_rows(draw, 2, loop->between);
  return 0;
}

}  // namespace
}  // namespace stepscope

int main(int argc, char** argv) {
  const std::string_view first = argc > 1 ? argv[1] : "";
  if (argc == 3 && first == "--made") return stepscope::measure_made(argv[2]);
  if (argc == 2 && !first.starts_with("--")) return stepscope::measure_file(argv[1]);
  fmt::print(stderr, "false_alarms RUNS.json | false_alarms --made BETWEEN,WITHIN,LIKENESS\n");
  return 2;
}

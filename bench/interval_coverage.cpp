// How often do the intervals hold the truth, and how often is a verdict wrong? Simulated samples whose truth is known;
// the tables of docs/performance.md, "Comparing". Takes about two minutes on one core.
//
//   cmake --preset bench && cmake --build build/bench --target interval_coverage && build/bench/bench/interval_coverage
#include <array>
#include <cmath>
#include <cstdio>
#include <functional>

#include "stats/compare_samples.h"
#include "support/made_samples.h"

namespace stepscope {
namespace {

constexpr int kSamples = 4000;  // standard error of a coverage: 0.35 %

using Draw = std::function<double(Random&)>;
struct Source {
  const char* name;
  double median;
  Draw draw;
};

const std::array<Source, 3>& sources() {
  static const std::array<Source, 3> all = {{
      {"normal", 100, [](Random& random) { return 100 + 3 * draw_normal(random); }},
      {"lognormal 0.3", 1, [](Random& random) { return draw_lognormal(random, 0.3); }},
      {"floor and tail", kTailedMedian, [](Random& random) { return draw_tailed(random); }},
  }};
  return all;
}

double share(int count, int of) { return 100.0 * count / of; }

void medians_and_ratios() {
  std::printf("95 %% intervals that hold the truth, %%\n%-16s %6s %8s %8s %8s\n", "values", "n", "median", "pairs",
              "ratio");
  for (const Source& source : sources()) {
    for (const std::size_t count : {6U, 7U, 8U, 10U, 15U, 20U, 31U, 50U, 100U}) {
      Random random(count);
      std::array<int, 3> held{};
      for (int i = 0; i < kSamples; ++i) {
        const auto base = draw_sample(count, [&] { return source.draw(random); });
        const auto other = draw_sample(count, [&] { return source.draw(random); });
        const auto seed = static_cast<std::uint64_t>(i);
        const auto median = bootstrap_median(base, {.resample_count = 1000, .seed = seed});
        held[0] += median->low <= source.median && source.median <= median->high ? 1 : 0;
        CompareOptions options;
        options.resample_count = 1000;
        options.seed = seed;
        held[1] += compare_pairs(base, other, options).verdict == CompareVerdict::kNoDifference ? 1 : 0;
        const auto ratio = bootstrap_median_ratio(base, other, {.resample_count = 1000, .seed = seed});
        held[2] += ratio->low <= 1 && 1 <= ratio->high ? 1 : 0;
      }
      std::printf("%-16s %6zu %8.1f %8.1f %8.1f\n", source.name, count, share(held[0], kSamples),
                  share(held[1], kSamples), share(held[2], kSamples));
    }
  }
}

std::vector<RunTimes> make_runs(Random& random, std::size_t runs, double median, double between, double within,
                                double likeness) {
  std::vector<RunTimes> made;
  for (std::size_t i = 0; i < runs; ++i) {
    made.push_back(draw_steps(random, 100, median * (1 + between * draw_normal(random)), within, likeness));
  }
  return made;
}

void gates() {
  struct Loop {
    const char* name;
    double between, within, likeness;
  };
  const std::array<Loop, 4> loops = {{{"quiet", 0.003, 0.01, 0.3},
                                      {"noisy steps", 0.003, 0.06, 0.3},
                                      {"alike steps", 0.003, 0.02, 0.8},
                                      {"noisy runs", 0.02, 0.02, 0.3}}};
  std::printf("\na gate at 3 %%, runs of 100 steps: alarms, %%\n%-14s %10s %8s %12s %12s %14s\n", "loop", "runs a side",
              "same", "4.5 % slower", "same, told*", "slower, told*");
  constexpr int kPairs = 1000;
  for (const Loop& loop : loops) {
    for (const std::size_t runs : {1U, 3U, 6U, 10U}) {
      Random random(runs);
      std::array<int, 4> alarms{};
      for (int i = 0; i < kPairs; ++i) {
        const auto base = make_runs(random, runs, 1, loop.between, loop.within, loop.likeness);
        const auto same = make_runs(random, runs, 1, loop.between, loop.within, loop.likeness);
        const auto slow = make_runs(random, runs, 1.045, loop.between, loop.within, loop.likeness);
        CompareOptions options;
        options.tolerance_ratio = 0.03;
        options.resample_count = 1000;
        options.seed = static_cast<std::uint64_t>(i);
        const auto is_alarm = [&](const std::vector<RunTimes>& other) {
          return compare_samples(base, other, options).verdict == CompareVerdict::kSlower ? 1 : 0;
        };
        alarms[0] += is_alarm(same);
        alarms[1] += is_alarm(slow);
        options.between_runs_ratio = loop.between;
        alarms[2] += is_alarm(same);
        alarms[3] += is_alarm(slow);
      }
      std::printf("%-14s %10zu %8.1f %12.1f %12.1f %14.1f\n", loop.name, runs, share(alarms[0], kPairs),
                  share(alarms[1], kPairs), share(alarms[2], kPairs), share(alarms[3], kPairs));
    }
  }
  std::printf("* the noise between runs was given, which counts where there is one run a side\n");
}

}  // namespace
}  // namespace stepscope

int main() {
  stepscope::medians_and_ratios();
  stepscope::gates();
}

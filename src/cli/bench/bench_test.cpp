// What is said of made-up runs: sentences, warnings, text that fits its width, a document with every promise kept.
#include "cli/bench/bench.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <nlohmann/json.hpp>

#include "report/text.h"

namespace stepscope {
namespace {

constexpr DurationNs kMs = 1'000'000;

// Runs with these wall times in ms, in this order; two commands in turns.
CommandTimes made_times(const std::vector<std::vector<double>>& walls_ms) {
  CommandTimes times;
  for (std::size_t command = 0; command < walls_ms.size(); ++command) {
    times.runs.emplace_back();
    for (const double wall_ms : walls_ms[command]) {
      CommandRun each;
      each.run.wall_ns = static_cast<DurationNs>(wall_ms * kMs);
      each.run.user_ns = each.run.wall_ns / 2;
      each.run.system_ns = each.run.wall_ns / 4;
      each.run.exit_status = 0;
      each.order = static_cast<std::int64_t>(times.runs.back().size() * walls_ms.size() + command);
      times.runs.back().push_back(each);
    }
  }
  return times;
}

BenchRequest made_request(std::size_t command_count) {
  BenchRequest request;
  request.commands = {{"./old", "a file"}};
  if (command_count == 2) request.commands.push_back({"./new"});
  return request;
}

MachineState quiet_machine() {
  MachineState machine;
  machine.cpu_count = 8;
  return machine;
}

BenchResult analyze(const std::vector<std::vector<double>>& walls_ms, std::optional<DurationNs> empty = 500'000) {
  return analyze_bench(made_request(walls_ms.size()), made_times(walls_ms), empty, quiet_machine(), quiet_machine(),
                       "");
}

// `count` values around `middle`, spread over `spread`, in an order without drift.
std::vector<double> around(double middle, double spread, int count) {
  std::vector<double> values;
  for (int i = 0; i < count; ++i) values.push_back(middle + spread * ((i * 11) % count - (count - 1) / 2.0) / count);
  return values;
}

TEST(Bench, CommandsAreShownAsTheyWouldBeTyped) {
  BenchRequest request = made_request(2);
  request.commands[1] = {"printf", "it's", "", "\x1b[31m"};
  EXPECT_EQ(command_line(request, 0), "./old 'a file'");
  EXPECT_EQ(command_line(request, 1), "printf 'it'\\''s' '' '\xef\xbf\xbd[31m'")
      << "nothing that a terminal would obey";
  EXPECT_EQ(runnable_commands(request)[1].argv.size(), 4U);
  request.by_shell = true;
  EXPECT_EQ(command_line(request, 0), "./old a file");
  EXPECT_EQ(runnable_commands(request)[0].argv, (std::vector<std::string>{"sh", "-c", "./old a file"}));
}

TEST(Bench, OneCommandIsSummedUp) {
  const BenchResult result = analyze({around(100, 4, 21)});
  const CommandSummary& summary = result.commands.front();
  EXPECT_EQ(summary.median_ns, 100 * kMs);
  EXPECT_LT(summary.median_interval_ns->low, 100.0 * kMs);
  EXPECT_GT(summary.median_interval_ns->high, 100.0 * kMs);
  EXPECT_NEAR(*summary.cores_used, 0.75, 1e-6);
  EXPECT_FALSE(summary.max_rss_bytes);
  EXPECT_FALSE(result.comparison);
  EXPECT_TRUE(result.warnings.empty()) << result.warnings.front();
  EXPECT_EQ(comparison_sentence(result), "");
}

TEST(Bench, TheVerdictInWords) {
  EXPECT_TRUE(comparison_sentence(analyze({around(100, 4, 20), around(120, 4, 20)}))
                  .starts_with("B is slower than A: ratio 1.2"));
  EXPECT_TRUE(comparison_sentence(analyze({around(120, 4, 20), around(100, 4, 20)}))
                  .starts_with("B is faster than A: ratio 0.8"));
  std::vector<double> other = around(100, 30, 20);
  std::reverse(other.begin(), other.end());
  const std::string none = comparison_sentence(analyze({around(100, 30, 20), other}));
  EXPECT_TRUE(none.starts_with("No difference can be told: ratio 1.0")) << none;
  EXPECT_NE(none.find("To tell 1 % takes about "), std::string::npos) << none;
  EXPECT_EQ(comparison_sentence(analyze({{1, 2}, {1, 2}})),
            "Too few runs to tell a difference: 2 pairs; 6 are needed to tell anything.");
  EXPECT_NE(comparison_sentence(analyze({around(100, 0, 10), around(100, 0, 10)}))
                .find("A difference of 1 % would have shown"),
            std::string::npos);
}

bool warns(const BenchResult& result, std::string_view part) {
  return std::any_of(result.warnings.begin(), result.warnings.end(),
                     [&](const std::string& warning) { return warning.find(part) != std::string::npos; });
}

TEST(Bench, DoubtsAreSaid) {
  std::vector<double> cold = around(100, 4, 20);
  cold.insert(cold.begin(), 300);
  EXPECT_TRUE(warns(analyze({cold}), "the first run took 300"));
  std::vector<double> drifting;
  for (int i = 0; i < 30; ++i) drifting.push_back(100 + i);
  EXPECT_TRUE(
      warns(analyze({drifting}), "became slower in the course: 104.5 ms in the first third, 124.5 ms in the last"));
  std::vector<double> two;
  for (int i = 0; i < 40; ++i) two.push_back((i * 7 % 10 < 5 ? 100 : 140) + 0.1 * (i * 13 % 40));
  EXPECT_TRUE(warns(analyze({two}), "fall into two groups, 50 % of them about 102"));
  EXPECT_TRUE(warns(analyze({around(2, 0.1, 20)}), "takes 500 us here. That is included: 25 % of the time."));
  EXPECT_TRUE(warns(analyze({around(2, 0.1, 20), around(0.4, 0.01, 20)}), "25 % of A's time and all of B's time"));
  EXPECT_FALSE(warns(analyze({around(100, 4, 20)}), "does nothing"));
}

TEST(Bench, IgnoredFailuresAreCounted) {
  CommandTimes times = made_times({around(100, 4, 10)});
  times.runs[0][3].run.exit_status = 7;
  times.runs[0][5].run.exit_status.reset();
  times.runs[0][5].run.signal = SIGKILL;
  const BenchResult result = analyze_bench(made_request(1), times, 1, quiet_machine(), quiet_machine(), "");
  EXPECT_EQ(result.commands[0].failed_count, 2);
  EXPECT_TRUE(warns(result, "2 of 10 runs failed (exit status 7)"));
  EXPECT_EQ(end_words(times.runs[0][5].run), "killed by signal 9 (Killed)");
}

TEST(Bench, WhatSpoilsAndWhatIsLoudIsPassedOn) {
  MachineState loud = quiet_machine();
  loud.load_average = 20;
  const BenchResult result =
      analyze_bench(made_request(1), made_times({around(100, 4, 10)}), 1, loud, loud, "SPOILED is set");
  EXPECT_TRUE(warns(result, "load average 20.0 on 8 cores"));
  EXPECT_TRUE(warns(result, "SPOILED is set."));
}

TEST(BenchText, FitsItsWidthAndItsCharacters) {
  BenchRequest request = made_request(2);
  request.commands[0].resize(40, "a-rather-long-argument");
  std::vector<double> wide = around(100, 90, 20);
  wide.push_back(90'000);
  wide.push_back(0.5);
  for (const std::size_t count : {1U, 2U}) {
    if (count == 1) request.commands.resize(1);
    for (const std::size_t width : {60U, 80U, 120U}) {
      for (const bool ascii : {false, true}) {
        auto walls = std::vector<std::vector<double>>(request.commands.size(), wide);
        const BenchResult result =
            analyze_bench(request, made_times(walls), 50 * kMs, quiet_machine(), quiet_machine(), "");
        Style style;
        style.width = width;
        style.ascii = ascii;
        const std::string text = write_bench_text(request, result, style);
        std::size_t begin = 0;
        while (begin < text.size()) {
          const std::size_t end = text.find('\n', begin);
          const std::string line = text.substr(begin, end - begin);
          EXPECT_LE(display_width(line), width) << line;
          EXPECT_TRUE(!ascii || std::all_of(line.begin(), line.end(), [](char c) { return c > 0; })) << line;
          begin = end + 1;
        }
      }
    }
  }
}

TEST(BenchText, TheAnswerStandsAboveTheNumbers) {
  const BenchRequest request = made_request(2);
  const std::string text = write_bench_text(request, analyze({around(100, 4, 20), around(120, 4, 20)}), Style());
  EXPECT_LT(text.find("B is slower than A"), text.find("median"));
  EXPECT_NE(text.find("A  ./old 'a file'"), std::string::npos);
  EXPECT_NE(text.find("20 runs of each, in turns, 1 warm-up"), std::string::npos);
}

TEST(BenchHistogram, CountsEachValueOnce) {
  EXPECT_EQ(draw_histogram({0, 0, 0, 0, 10}, 0, 10, 4, true), "@  :");
  EXPECT_EQ(draw_histogram({0, 5, 10, 99}, 0, 10, 3, true), "@@@") << "99 lies outside";
  EXPECT_EQ(draw_histogram({0, 5, 10}, 0, 10, 3, false), "███");
  EXPECT_EQ(draw_histogram({}, 0, 10, 3, true), "   ");
  EXPECT_EQ(draw_histogram({1}, 1, 1, 2, true), "@ ");
  EXPECT_EQ(draw_histogram({1}, 0, 2, 0, true), "");
}

TEST(BenchJson, KeepsWhatWasMeasuredBeforeAFailureAndAnInterrupt) {
  CommandTimes times = made_times({around(100, 4, 3)});
  ProcessRun failed;
  failed.exit_status = 7;
  failed.stderr_end = "no \xff such\n";
  times.failure = CommandFailure{0, false, std::nullopt, failed};
  const BenchResult result = analyze_bench(made_request(1), times, std::nullopt, quiet_machine(), quiet_machine(), "");
  const auto json = nlohmann::json::parse(write_bench_json(made_request(1), result));
  EXPECT_EQ(json["status"], "unusable");
  EXPECT_EQ(json["failure"]["exit_status"], 7);
  EXPECT_EQ(json["failure"]["stderr_end"], "no \xef\xbf\xbd such\n");
  EXPECT_EQ(json["commands"][0]["runs"].size(), 3U);
  EXPECT_TRUE(json["empty_command_ns"].is_null());
  EXPECT_TRUE(json["comparison"].is_null());

  CommandTimes interrupted = made_times({{}, {}});
  interrupted.interrupted_by = SIGINT;
  const BenchResult nothing =
      analyze_bench(made_request(2), interrupted, std::nullopt, quiet_machine(), quiet_machine(), "");
  const auto empty = nlohmann::json::parse(write_bench_json(made_request(2), nothing));
  EXPECT_EQ(empty["status"], "partial");
  EXPECT_EQ(empty["interrupted_by_signal"], SIGINT);
  EXPECT_TRUE(empty["commands"][0]["median_ns"].is_null());
  EXPECT_EQ(empty["comparison"]["verdict"], "too_few");
}

}  // namespace
}  // namespace stepscope

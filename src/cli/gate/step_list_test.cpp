// Each form of a list, and every mistake with its place.
#include "cli/gate/step_list.h"

#include <gtest/gtest.h>

#include <tuple>

namespace stepscope {
namespace {

constexpr double kMs = 1e6;

std::vector<double> times_of(std::string_view text, std::optional<double> unit = kMs) {
  const auto side = read_step_list(text, "f", unit);
  if (!side) {
    ADD_FAILURE() << side.error().to_string();
    return {};
  }
  EXPECT_EQ(side->runs.size(), 1U);
  return side->runs.front().steps_ns;
}

std::string error_of(std::string_view text, std::optional<double> unit = kMs) {
  const auto side = read_step_list(text, "f", unit);
  return side ? "no error" : side.error().to_string();
}

TEST(StepList, OneNumberALine) {
  EXPECT_EQ(times_of("43.5\n\n# remark\n 44 \r\n45"), (std::vector<double>{43.5e6, 44e6, 45e6}));
  EXPECT_EQ(times_of("43.5 ms\n100us\n2s\n7 ns\n5µs", std::nullopt), (std::vector<double>{43.5e6, 1e5, 2e9, 7, 5e3}));
  EXPECT_EQ(times_of("1e3\n", 1), (std::vector<double>{1000}));
}

TEST(StepList, WrongLinesAreLocated) {
  EXPECT_EQ(error_of("43\nnan\n"), "f: line 2: the time `nan` is no number");
  EXPECT_EQ(error_of("43\n-5\n"), "f: line 2: the time `-5` is negative");
  EXPECT_EQ(error_of("0\n"), "f: line 1: the time `0` is 0");
  EXPECT_EQ(error_of("inf\n"), "f: line 1: the time `inf` is infinite");
  EXPECT_EQ(error_of("1e-9\n"), "f: line 1: the time `1e-9` rounds to 0 ns: is the unit right?");
  EXPECT_EQ(error_of("9e12\n"), "f: line 1: the time `9e12` is longer than 52 days: is the unit right?");
  EXPECT_EQ(error_of("43\n44 45\n"), "f: line 2: `45` is no unit of time; s, ms, us and ns are");
  EXPECT_EQ(error_of("step,ms\n1,43\n"), "f: line 1: `step,ms` is no time; one number a line is expected");
  EXPECT_EQ(error_of("43.5\n", std::nullopt), "f: the numbers have no unit; say --unit ms (or s, us, ns)");
  EXPECT_EQ(error_of("# nothing\n"), "f: no step times in it");
  EXPECT_EQ(error_of(" \n"), "f: no step times in it");
  EXPECT_EQ(error_of("1e999\n"), "f: line 1: `1e999` is no time; one number a line is expected");
}

TEST(StepList, Documents) {
  EXPECT_EQ(times_of("[43.5, 44]"), (std::vector<double>{43.5e6, 44e6}));
  EXPECT_EQ(times_of(R"({"unit": "us", "steps": [1, 2.5]})", std::nullopt), (std::vector<double>{1000, 2500}));
  EXPECT_EQ(times_of(R"({"steps_ns": [1, 2], "clock": "cpu"})", std::nullopt), (std::vector<double>{1, 2}));
  const auto runs = read_step_list(
      R"({"device_name": "NVIDIA H200", "unit": "ms", "runs": [[1, 2], [3]], "allocated_peak_bytes": 5})", "f", {});
  ASSERT_TRUE(runs);
  ASSERT_EQ(runs->runs.size(), 2U);
  EXPECT_EQ(runs->runs[1].steps_ns, (std::vector<double>{3e6}));
  EXPECT_EQ(runs->runs[1].source, "f, run 2");
  EXPECT_EQ(runs->runs[1].device_name, "NVIDIA H200");
  EXPECT_EQ(runs->runs[1].allocated_peak_bytes, 5);
  EXPECT_FALSE(runs->runs[1].reserved_peak_bytes);
  EXPECT_EQ(runs->runs[1].kind, GateTimeKind::kListedSteps);
}

TEST(StepList, WrongDocumentsAreLocated) {
  EXPECT_EQ(error_of("[1, -2]"), "f: step 2: the time `-2` is negative");
  EXPECT_EQ(error_of("[[1], [2, null]]"), "f: run 2, step 2: `null` is no time");
  EXPECT_EQ(error_of("[[1], 2]"), "f: run 2, a list of times is expected, not `2`");
  EXPECT_EQ(error_of("[1, [2]]"), "f: step 2: a list is no time");
  EXPECT_EQ(error_of(R"(["a"])"), "f: step 1: `\"a\"` is no time");
  EXPECT_EQ(error_of("[]"), "f: no step times in it");
  EXPECT_EQ(error_of("[1, NaN]"), "f: no JSON, and NaN is no time");
  EXPECT_EQ(error_of("[1, Infinity]"), "f: no JSON, and Infinity is no time");
  EXPECT_EQ(error_of("[1, 1e-9]"), "f: step 2: the time `1e-09` rounds to 0 ns: is the unit right?");
  EXPECT_EQ(error_of("[1, 2"), "f: damaged JSON");
  EXPECT_EQ(error_of(R"({"unit": "hours", "steps": [1]})"), "f: the unit `\"hours\"` is none of s, ms, us, ns");
  EXPECT_EQ(error_of(R"({"unit": ["ms"], "steps": [1]})"), "f: the unit a list is none of s, ms, us, ns");
  EXPECT_EQ(error_of(R"({"steps": {"a": 1}})"), "f: a list of times is expected, not an object");
  EXPECT_EQ(error_of("[1]", std::nullopt), "f: the numbers have no unit; say --unit ms (or s, us, ns)");
  EXPECT_EQ(error_of(R"({"schema_version": 1})").substr(0, 26), "f: a JSON document without");
}

TEST(StepList, PeaksThatAreNoneAreNamed) {
  const auto error = [](const std::string& peak) {
    return error_of(R"({"unit": "ms", "steps": [1, 2], "reserved_peak_bytes": )" + peak + "}");
  };
  EXPECT_EQ(error("-5"), "f: reserved_peak_bytes: `-5` is negative");
  EXPECT_EQ(error("\"x\""), "f: reserved_peak_bytes: `\"x\"` is no number of bytes");
  EXPECT_EQ(error("[5]"), "f: reserved_peak_bytes: a list is no number of bytes");
  EXPECT_EQ(error("1.5"), "f: reserved_peak_bytes: `1.5` is no whole number of bytes");
  EXPECT_EQ(error("1e40"), "f: reserved_peak_bytes: `1e+40` is more than any memory has");
  EXPECT_EQ(error("18446744073709551615"),
            "f: reserved_peak_bytes: `18446744073709551615` is more than any memory has");
  EXPECT_EQ(error("null"), "no error");
  const auto side = read_step_list(R"({"unit": "ms", "steps": [1], "allocated_peak_bytes": 1.5e9})", "f", {});
  ASSERT_TRUE(side);
  EXPECT_EQ(side->runs.front().allocated_peak_bytes, 1'500'000'000);
}

TEST(StepList, WhatIsThereTwiceIsNotGuessed) {
  EXPECT_EQ(error_of(R"({"steps": [1], "runs": [[2]]})"),
            "f: more than one of `steps`, `runs` and `steps_ns` is in it; which is meant?");
  EXPECT_EQ(error_of(R"({"steps": [1], "steps": [2]})"), "f: `steps` is in it twice; which is meant?");
}

TEST(StepList, DepthDoesNotExhaustTheStack) {
  const std::string deep = std::string(200'000, '[') + std::string(200'000, ']');
  EXPECT_EQ(error_of(deep), "f: run 1, step 1: a list is no time");
}

TEST(StepList, TheDocumentOfSteps) {
  const auto side = read_step_list(
      R"({"schema_version": 1, "source": "x", "headline_withheld": "cut", "rows": [
          {"duration_ns": 10, "gpu_busy_ns": 5, "allocated_peak_bytes": 7, "reserved_peak_bytes": null},
          {"duration_ns": 11, "gpu_busy_ns": 5, "allocated_peak_bytes": 6, "reserved_peak_bytes": null}]})",
      "f", {});
  ASSERT_TRUE(side);
  EXPECT_EQ(side->runs.front().steps_ns, (std::vector<double>{10, 11}));
  EXPECT_EQ(side->runs.front().kind, GateTimeKind::kGpuSteps);
  EXPECT_EQ(side->runs.front().allocated_peak_bytes, 7);
  EXPECT_EQ(side->steps_withheld, "f: cut");
  EXPECT_EQ(error_of(R"({"rows": []})"), "f: no step times in it");
  EXPECT_EQ(error_of(R"({"rows": [3]})"), "f: a row without duration_ns");
  EXPECT_EQ(error_of(R"({"rows": 3})"), "f: `rows` is no list");
}

TEST(StepList, TheDocumentOfBench) {
  const auto side = read_step_list(
      R"({"schema_version": 1, "status": "complete", "commands": [
          {"label": "A", "failed_count": 1, "runs": [{"wall_ns": 100}, {"wall_ns": 200}]}]})",
      "f", {});
  ASSERT_TRUE(side);
  ASSERT_EQ(side->runs.size(), 2U);
  EXPECT_EQ(side->runs[1].kind, GateTimeKind::kCommandRuns);
  EXPECT_EQ(side->runs[1].steps_ns, (std::vector<double>{200}));
  ASSERT_EQ(side->losses.size(), 1U);
  EXPECT_EQ(side->losses.front(), "f: 1 of its runs failed");
  EXPECT_EQ(error_of(R"({"commands": [{}, {}]})").substr(0, 30), "f: two commands were measured ");
  EXPECT_EQ(error_of(R"({"commands": []})"), "f: no command was measured in it");
  EXPECT_EQ(error_of(R"({"commands": [{"runs": [{}]}]})"), "f: a run without wall_ns");
}

TEST(StepList, OtherFilesAreNotTakenForLists) {
  for (const char* text :
       {"43.5\n", "# times\n1", "[1, 2]", "[[1]]", "[]", R"({"unit": "ms"})", " {\"steps_ns\": [1]}", "nan\n"}) {
    EXPECT_TRUE(looks_like_step_list(text)) << text;
  }
  for (const char* text :
       {"", R"({"traceEvents": []})", R"([{"ph": "X"}])", R"({"schemaVersion": 1, "traceEvents": []})",
        R"({"segments": []})", "PK\x03\x04", "hello"}) {
    EXPECT_FALSE(looks_like_step_list(text)) << text;
  }
}

}  // namespace
}  // namespace stepscope

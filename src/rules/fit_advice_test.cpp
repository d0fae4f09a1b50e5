// Advice fits the producer: JAX, compiled models, steps that are graphs already.
#include "rules/fit_advice.h"

#include <gtest/gtest.h>

#include <array>

#include "rules/rules.h"
#include "support/made_run.h"

namespace stepscope {
namespace {

std::vector<Finding> advised(std::string_view id, std::string_view line) {
  Finding finding;
  finding.id = id;
  finding.advice = {std::string(line)};
  return {finding};
}

TEST(FitAdvice, jax_hears_nothing_of_torch_whatever_the_rule) {
  MadeRun run;
  run.text("PjitFunction(step)");
  for (const Rule& rule : rules()) {
    auto findings = advised(rule.id, "torch.compile(model)");
    fit_advice(run.input(), findings);
    ASSERT_FALSE(findings[0].advice.empty()) << rule.id;
    for (const std::string& line : findings[0].advice) EXPECT_EQ(line.find("torch"), std::string::npos) << line;
  }
}

TEST(FitAdvice, jax_keeps_what_is_true_of_python) {
  MadeRun run;
  run.text("PjitFunction(step)");
  auto findings = advised("garbage-collection", "Or gc.disable() and gc.collect() once every few thousand steps");
  fit_advice(run.input(), findings);
  EXPECT_EQ(findings[0].advice[0], "Or gc.disable() and gc.collect() once every few thousand steps");
  findings = advised("outlier-step", "Batches of one size, or buckets of similar length");
  fit_advice(run.input(), findings);
  EXPECT_EQ(findings[0].advice[0], "Batches of one size, or buckets of similar length");
  findings = advised("outlier-step", "Find what changed: TORCH_LOGS=recompiles");
  fit_advice(run.input(), findings);
  EXPECT_NE(findings[0].advice[0].find("jax_log_compiles"), std::string::npos);
}

TEST(FitAdvice, a_capture_of_a_jax_program_has_no_jax_profiler) {
  MadeRun run;
  run.text("PjitFunction(step)");
  run.trace.info.producer = "capture";
  for (const Rule& rule : rules()) {
    for (const char* line :
         {"Record less: with_stack=False, record_shapes=False, profile_memory=False",
          "Skip more: schedule(skip_first=10, wait=1, warmup=2, active=3)", "torch.compile(model)"}) {
      auto findings = advised(rule.id, line);
      fit_advice(run.input(), findings);
      for (const std::string& each : findings[0].advice) {
        for (const char* word : {"jax.profiler", "torch", "=True", "=False"}) {
          EXPECT_EQ(each.find(word), std::string::npos) << rule.id << ": " << each;
        }
      }
    }
  }
  auto findings =
      advised("profiler-distortion", "Record less: with_stack=False, record_shapes=False, profile_memory=False");
  fit_advice(run.input(), findings);
  EXPECT_EQ(findings[0].advice[0], "Record less: stepscope run --no-stacks, without --shapes");
}

TEST(FitAdvice, a_file_of_no_known_tool_hears_of_no_profilers_option) {
  MadeRun run;
  run.trace.info.producer = "chrome-json";
  auto findings = advised("hidden-sync", "profile(..., with_stack=True) names the line");
  fit_advice(run.input(), findings);
  EXPECT_EQ(findings[0].advice[0], "a recording with Python stacks names the line");
}

TEST(FitAdvice, a_cpp_session_hears_nothing_of_python_whatever_the_rule) {
  MadeRun run;
  run.trace.info.producer = "stepscope session";
  constexpr std::array<const char*, 5> kTorch = {
      "torch.compile(model)", "DataLoader(..., num_workers=4)", "gc.freeze() after set-up",
      "profile(..., with_stack=True) names the line", "Record less: with_stack=False, profile_memory=False"};
  for (const Rule& rule : rules()) {
    for (const char* torch : kTorch) {
      auto findings = advised(rule.id, torch);
      fit_advice(run.input(), findings);
      ASSERT_FALSE(findings[0].advice.empty()) << rule.id;
      for (const std::string& line : findings[0].advice) {
        for (const char* word : {"torch", "DataLoader", "gc.", "=True", "=False", "profile("}) {
          EXPECT_EQ(line.find(word), std::string::npos) << rule.id << ": " << line;
        }
      }
    }
  }
  auto findings = advised("warm-up-in-window", "Skip more: schedule(skip_first=10, wait=1, warmup=2, active=3)");
  fit_advice(run.input(), findings);
  EXPECT_EQ(findings[0].advice[0], "Skip more: make_schedule({.skip_first = 10, .wait = 1, .warmup = 2, .active = 3})");
}

TEST(FitAdvice, stacks_that_are_recorded_are_not_advised) {
  constexpr std::array<const char*, 3> kLines = {
      "profile(..., with_stack=True) names the line; if it is the garbage collector: gc.freeze() after set-up",
      "profile(..., with_stack=True) names the lines",
      "profile(..., with_stack=True) names the line; so does record_function(\"name\") around parts of the loop"};
  for (const char* producer : {"chrome-json", "capture"}) {
    for (const char* line : kLines) {
      MadeRun run;
      run.text("aten::mm");
      run.trace.info.producer = producer;
      auto findings = advised("outlier-step", line);
      fit_advice(run.input(), findings);
      EXPECT_NE(findings[0].advice[0].find("names the line"), std::string::npos) << findings[0].advice[0];
      run.trace.info.with_stack = true;
      findings = advised("outlier-step", line);
      fit_advice(run.input(), findings);
      EXPECT_TRUE(
          findings[0].advice[0].starts_with("record_function(\"name\") around parts of the loop names what they do"))
          << findings[0].advice[0];
      EXPECT_EQ(findings[0].advice[0].find("stack"), std::string::npos) << findings[0].advice[0];
    }
  }
}

TEST(FitAdvice, a_capture_without_python_is_a_cpp_program_with_the_switches_of_run) {
  MadeRun run;
  run.trace.info.producer = "capture";
  auto findings = advised("profiler-distortion", "Record less: with_stack=False");
  fit_advice(run.input(), findings);
  EXPECT_EQ(findings[0].advice.back(), "Record less: stepscope run --no-stacks, without --shapes");
  run.trace.info.python_version = "3.11.2";
  findings = advised("compute-bound", "torch.compile(model): fuses");
  fit_advice(run.input(), findings);
  EXPECT_EQ(findings[0].advice[0], "torch.compile(model): fuses");
}

TEST(FitAdvice, aten_operators_are_pytorch_whatever_else_is_there) {
  MadeRun run;
  run.text("PjitFunction(step)");
  run.text("aten::mm");
  auto findings = advised("compute-bound", "torch.compile(model): fuses elementwise work");
  fit_advice(run.input(), findings);
  EXPECT_EQ(findings[0].advice[0], "torch.compile(model): fuses elementwise work");
}

TEST(FitAdvice, a_compiled_model_need_not_be_compiled) {
  MadeRun run;
  run.text("triton_poi_fused_add_0");
  auto findings = advised("compute-bound", "torch.compile(model): fuses elementwise work");
  fit_advice(run.input(), findings);
  EXPECT_TRUE(findings[0].advice[0].starts_with("It is compiled already"));
}

TEST(FitAdvice, a_graph_is_not_advised_to_become_one) {
  MadeRun run;
  run.facts.ledger.gpu_event_count = 100;
  run.facts.launches.graph_launch_count = 1;
  run.facts.launches.graph_event_count = 99;
  auto findings = advised("host-overhead", "torch.compile(model, mode='reduce-overhead')");
  fit_advice(run.input(), findings);
  for (const std::string& line : findings[0].advice) EXPECT_EQ(line.find("reduce-overhead"), std::string::npos);
}

}  // namespace
}  // namespace stepscope

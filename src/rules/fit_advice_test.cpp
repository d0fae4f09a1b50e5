// Advice fits the producer: JAX, compiled models, steps that are graphs already.
#include "rules/fit_advice.h"

#include <gtest/gtest.h>

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

// host-pause and host-overhead on drawn loops: work that launches nothing holds the host, or launching itself does.
#include <gtest/gtest.h>

#include "analyze/held_host.h"
#include "rules/rules.h"
#include "support/trace_from_text.h"

namespace stepscope {
namespace {

constexpr DurationNs kColumn = 20'000;

// A row of the picture: events one after the other, each `length` columns.
struct Row {
  std::string text;
  void event(const std::string& name, std::size_t length) {
    text += "[" + name + std::string(length - name.size() - 2, ' ') + "]";
  }
  void space(std::size_t length) { text += std::string(length, ' '); }
};

// Five steps: `prep`, an operator that launches nothing, then three launches, three kernels of 0.3 ms and a wait for
// them.
Trace draw_loop(std::size_t prep_columns) {
  Row steps, ops, calls, gpu;
  std::string where;
  for (int step = 0; step < 5; ++step) {
    const std::size_t length = prep_columns + 60;
    steps.event(std::to_string(step), length);
    ops.event("prep", prep_columns);
    ops.space(60);
    calls.space(prep_columns);
    gpu.space(prep_columns + 4);
    for (int launch = 0; launch < 3; ++launch) {
      const std::string number = std::to_string(step * 3 + launch + 1);
      calls.event("A" + number, 5);
      gpu.event("K" + number, 15);
      where += "\n      A" + number + " = cudaLaunchKernel corr " + number;
      where += "\n      K" + number + " = gemm corr " + number;
    }
    calls.event("S", 35);
    calls.space(10);
    gpu.space(11);
  }
  where += "\n      S = cudaStreamSynchronize";
  return trace_from_text("\n    step      " + steps.text + "\n    op        " + ops.text + "\n    call      " +
                             calls.text + "\n    gpu/7     " + gpu.text + "\n    where" + where + "\n",
                         {kColumn});
}

TEST(HostPause, WorkThatLaunchesNothingIsNoLaunching) {
  const Trace trace = draw_loop(60);
  const Facts facts = compute_facts(trace, {});
  ASSERT_FALSE(facts.what_ifs.self_check.refused) << *facts.what_ifs.self_check.refused;
  const auto held = compute_held_host(trace, facts);
  ASSERT_TRUE(held);
  ASSERT_FALSE(held->sites.empty());
  EXPECT_EQ(trace.text(held->sites.front().name), "prep");
  EXPECT_NEAR(static_cast<double>(held->sites.front().per_step_ns), 60 * kColumn, kColumn);
  EXPECT_GT(held->without.saving.mid_ns, 50 * kColumn);
  EXPECT_LT(held->as_graph.saving.mid_ns, 20 * kColumn) << "a graph leaves it where it is";
  EXPECT_GT(held->ahead.saving.mid_ns, 25 * kColumn) << "the GPU's work of 0.9 ms lies beside it";

  const auto findings = find_all({trace, facts});
  ASSERT_FALSE(findings.empty());
  EXPECT_EQ(findings[0].id, "host-pause");
  EXPECT_EQ(findings[0].title, "`prep` holds the training thread for 1.20 ms a step and launches nothing");
  EXPECT_NE(findings[0].advice.back().find("run ahead"), std::string::npos);
  for (const Finding& finding : findings) EXPECT_NE(finding.id, "host-overhead") << finding.title;
}

TEST(HostPause, UnderHalfAMillisecondItIsTheWayToTheNextLaunch) {
  const Trace trace = draw_loop(24);
  const Facts facts = compute_facts(trace, {});
  const auto held = compute_held_host(trace, facts);
  ASSERT_TRUE(held);
  EXPECT_TRUE(held->sites.empty());
  for (const Finding& finding : find_all({trace, facts})) EXPECT_NE(finding.id, "host-pause") << finding.title;
}

}  // namespace
}  // namespace stepscope

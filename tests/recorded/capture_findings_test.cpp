// The agent's view of every recording leads to the same answers as PyTorch's profiler's.
//
// Each recording is written as a capture (capture_of_trace.h), read, and judged: the same faults in the same order, and
// where the recording has Python stacks, the same places named in the titles.
#include <gtest/gtest.h>

#include "import/capture/made_capture.h"
#include "recorded/capture_of_trace.h"
#include "recorded/recorded_trace.h"
#include "rules/rules.h"

namespace stepscope {
namespace {

Trace by_way_of_capture(const Trace& trace, int windows = 1) {
  auto read = capture_format::read_bytes(capture_of_trace(trace, windows).bytes);
  if (!read) {
    ADD_FAILURE() << read.error().to_string();
    return {};
  }
  return std::move(read->front());
}

std::vector<std::string> faults_of(const Trace& trace, bool titles) {
  const Facts facts = compute_facts(trace, {});
  std::vector<std::string> faults;
  for (const Finding& finding : find_all({trace, facts})) {
    if (finding.severity == Severity::kFault) faults.push_back(titles ? finding.title : finding.id);
  }
  return faults;
}

class CaptureFindings : public testing::TestWithParam<const char*> {};

TEST_P(CaptureFindings, AreThoseOfTheRecording) {
  const Trace& recorded = recorded_trace(GetParam());
  const Trace captured = by_way_of_capture(recorded);
  EXPECT_TRUE(captured.notes.all().empty());
  EXPECT_EQ(captured.ops.size(), recorded.ops.size());
  EXPECT_EQ(captured.gpu_events.size(), recorded.gpu_events.size());
  EXPECT_EQ(faults_of(captured, false), faults_of(recorded, false));
}

// What the agent does not see changes two answers, each to the next best one.
TEST(CaptureFindings, WhereTheAgentSeesLess) {
  // The sizes of collectives: waits for a late rank cannot be told from transfers. Several ranks' files together can.
  EXPECT_EQ(faults_of(by_way_of_capture(recorded_trace("h200/straggler_rank0")), false),
            std::vector<std::string>{"exposed-communication"});
  // Calls of built-in functions, gc.collect among them: the line that stood still is named instead.
  const auto titles = faults_of(by_way_of_capture(recorded_trace("planted/gc_stack")), true);
  ASSERT_EQ(titles.size(), 1U);
  EXPECT_TRUE(titles[0].starts_with("record.py(130): step holds the training thread for 218 ms")) << titles[0];
}

INSTANTIATE_TEST_SUITE_P(All, CaptureFindings,
                         testing::Values("h200/solid", "h200/memspike", "h200/graph", "h200/solid4_stack",
                                         "h200/ddp_rank0", "h200/resnet_healthy", "h200/loader", "h200/sync",
                                         "h200/mask_sync", "h200/tiny", "h200/optimizer", "h200/fp32",
                                         "h200/resnet_pageable", "h200/straggler_rank1", "planted/thrash",
                                         "planted/checkpoint_stack", "planted/python_batch", "planted/offload",
                                         "planted/launch_blocking", "planted/decode", "planted/loader_workers",
                                         "planted/score"),
                         [](const auto& recording) {
                           std::string name = recording.param;
                           for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
                           return name;
                         });

// What was recorded three times, far apart, is judged as what was recorded once: no idle time and no pause in between.
TEST(CaptureFindings, AreTheSameInSeveralWindows) {
  for (const char* name :
       {"h200/solid", "h200/tiny", "h200/loader", "h200/sync", "h200/mask_sync", "planted/python_batch"}) {
    const Trace& recorded = recorded_trace(name);
    const Trace once = by_way_of_capture(recorded), thrice = by_way_of_capture(recorded, 3);
    ASSERT_EQ(thrice.info.windows.size(), 3U);
    EXPECT_EQ(thrice.gpu_events.size(), 3 * once.gpu_events.size());
    const Facts one = compute_facts(once, {}), three = compute_facts(thrice, {});
    EXPECT_EQ(three.steps.steps.size(), 3 * one.steps.steps.size()) << name;
    EXPECT_LT(three.steps.recorded_ns(), 4'000'000'000) << name;
    ASSERT_FALSE(three.busy.empty());
    const auto ratio = [](const Facts& facts) {
      return static_cast<double>(facts.busy[0].gpu_busy_ns) / static_cast<double>(facts.busy[0].window_ns);
    };
    EXPECT_NEAR(ratio(three), ratio(one), 0.02) << name;
    EXPECT_EQ(faults_of(thrice, false), faults_of(once, false)) << name;
  }
}

TEST(CaptureFindings, NameTheLinesOfTheRecording) {
  for (const char* name : {"h200/mask_sync", "planted/checkpoint_stack"}) {
    const Trace& recorded = recorded_trace(name);
    EXPECT_EQ(faults_of(by_way_of_capture(recorded), true), faults_of(recorded, true)) << name;
  }
}

}  // namespace
}  // namespace stepscope

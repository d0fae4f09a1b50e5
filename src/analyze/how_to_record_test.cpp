#include "analyze/how_to_record.h"

#include <gtest/gtest.h>

namespace stepscope {
namespace {

TEST(HowToRecord, what_a_file_lacks_is_told_by_tool) {
  const auto told = [](RecordingTool tool, const TraceInfo& info = {}) {
    const HowToRecord how = how_to_record(tool, info);
    return how.stacks.value_or("-") + " | " + how.modules.value_or("-") + " | " + how.shapes.value_or("-");
  };
  EXPECT_EQ(told(RecordingTool::kTorch),
            "with_stack=True, or under stepscope run | with_stack=True, or under stepscope run | record_shapes=True");
  EXPECT_EQ(told(RecordingTool::kCapture),
            "stepscope run without --no-stacks | stepscope run without --no-stacks | stepscope run --shapes");
  EXPECT_EQ(told(RecordingTool::kCaptureByProgram),
            "with_stack=True (or stepscope run without --no-stacks) | with_stack=True (or stepscope run without "
            "--no-stacks) | record_shapes=True (or stepscope run --shapes)");
  EXPECT_EQ(told(RecordingTool::kSession),
            "SessionOptions::with_stack = true | - | SessionOptions::record_shapes = true");
  EXPECT_EQ(told(RecordingTool::kJax), "python_tracer_level = 1 (jax.profiler.ProfileOptions) | - | -");
  EXPECT_EQ(told(RecordingTool::kOther), "- | - | -");
  TraceInfo asked;
  asked.with_stack = asked.record_shapes = true;
  EXPECT_EQ(told(RecordingTool::kTorch, asked), "- | - | -");
  asked.with_stack = false;
  asked.with_modules = true;
  EXPECT_EQ(told(RecordingTool::kTorch, asked), "with_stack=True, or under stepscope run | - | -");
}

}  // namespace
}  // namespace stepscope

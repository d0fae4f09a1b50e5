#include "analyze/recording_words.h"

#include <gtest/gtest.h>

namespace stepscope {
namespace {

Trace made_by(std::string producer, std::string_view name = "aten::mm") {
  Trace trace;
  trace.info.producer = std::move(producer);
  static_cast<void>(trace.strings.intern(name));
  return trace;
}

TEST(RecordingWords, files_of_torch_keep_its_words) {
  const std::string text = "profile(..., with_stack=True) names the line";
  for (const char* name : {"aten::mm", "ProfilerStep#4", "triton_poi_fused_add_0"}) {
    EXPECT_EQ(fit_recording_words(made_by("chrome-json", name), text), text) << name;
  }
  Trace headed = made_by("chrome-json", "kernel");
  EXPECT_EQ(find_recording_tool(headed), RecordingTool::kOther);
  headed.info.cuda_runtime_version = 12080;
  EXPECT_EQ(find_recording_tool(headed), RecordingTool::kTorch);
}

// Each option that a text may name, and each sentence: another tool's user is not sent to it.
TEST(RecordingWords, jax_and_files_of_no_known_tool_hear_of_no_option_of_torch) {
  for (const char* name : {"PjitFunction(step)", "a kernel"}) {
    const Trace trace = made_by("chrome-json", name);
    for (const char* text :
         {"Not recorded. Record with profile_memory=True to see peaks by step.", "record with profile_memory=True",
          "no memory events of a GPU; record with profile_memory=True", "profile(..., with_stack=True) names the line",
          "torch.profiler.profile(..., with_stack=True)", "torch.profiler.profile(record_shapes=True)",
          "profile(..., record_shapes=True) names the sizes",
          "Record less: with_stack=False, record_shapes=False, profile_memory=False",
          "Record again: a short window (schedule(wait=1, warmup=2, active=3))",
          "Skip more: schedule(skip_first=10, wait=1, warmup=2, active=3)",
          "Call prof.step() after each step, or name a span: --steps NAME",
          "Call prof.step() in the loop, or name the span that is one step: --steps NAME"}) {
      const std::string fitted = fit_recording_words(trace, text);
      for (const char* word : {"torch", "=True", "=False", "profile(..", "schedule(", "prof.step"}) {
        EXPECT_EQ(fitted.find(word), std::string::npos) << name << ": " << fitted;
      }
    }
  }
}

TEST(RecordingWords, a_capture_hears_of_the_switches_that_made_it) {
  const Trace capture = made_by("capture");
  EXPECT_EQ(fit_recording_words(capture, "profile(..., with_stack=True) names the line"),
            "stepscope run without --no-stacks names the line");
  EXPECT_EQ(fit_recording_words(capture, "Not recorded. Record with profile_memory=True to see peaks by step."),
            "Not recorded. Record with stepscope run --memory to see peaks by step.");
  EXPECT_EQ(fit_recording_words(capture, "Record again: a short window (schedule(wait=1, warmup=2, active=3))"),
            "Record again: a short window (stepscope run --schedule wait=1,warmup=2,active=3)");
}

TEST(RecordingWords, a_capture_that_its_program_started_hears_of_both) {
  Trace own = made_by("capture");
  own.info.remarks = {"a start was asked for by the program", "a stop was asked for by the program"};
  EXPECT_EQ(fit_recording_words(own, "profile(..., with_stack=True) names the line"),
            "profile(..., with_stack=True) (or stepscope run without --no-stacks) names the line");
  EXPECT_EQ(fit_recording_words(own, "Record with profile_memory=True to see peaks by step."),
            "Record with profile_memory=True (or stepscope run --memory) to see peaks by step.");
  EXPECT_EQ(fit_recording_words(own, "Call prof.step() after each step, or name a span: --steps NAME."),
            "Call prof.step() after each step, or name a span: --steps NAME.");
  own.info.remarks = {"a start was asked for by a signal"};
  EXPECT_EQ(fit_recording_words(own, "profile(..., with_stack=True) names the line"),
            "stepscope run without --no-stacks names the line");
}

TEST(RecordingWords, a_session_hears_of_its_options) {
  const Trace session = made_by("stepscope session");
  EXPECT_EQ(fit_recording_words(session, "Not recorded. Record with profile_memory=True to see peaks by step."),
            "Not recorded. Record with SessionOptions::profile_memory = true to see peaks by step.");
  EXPECT_EQ(fit_recording_words(session, "Call prof.step() after each step, or name a span: --steps NAME."),
            "Call session.step() after each step, or name a span: --steps NAME.");
}

TEST(RecordingWords, how_memory_events_are_recorded_is_told_by_tool) {
  const auto words = [](std::string producer, std::string_view name) {
    return no_memory_events_words(made_by(std::move(producer), name));
  };
  const std::string none = "the trace has no memory events";
  EXPECT_EQ(words("chrome-json", "aten::mm"),
            none + "; record with profile_memory=True, or with `stepscope run --memory`");
  EXPECT_EQ(words("capture", "aten::mm"), none + "; record with stepscope run --memory");
  EXPECT_EQ(words("stepscope session", "step"), none + "; record with SessionOptions::profile_memory = true");
  EXPECT_EQ(words("chrome-json", "PjitFunction(step)"), none + ", which JAX's traces never hold");
  EXPECT_EQ(words("chrome-json", "a kernel"), none);
  Trace asked = made_by("capture");
  asked.info.profile_memory = true;
  EXPECT_EQ(no_memory_events_words(asked), none + ", though they were asked for");
}

TEST(RecordingWords, every_mention_is_replaced) {
  EXPECT_EQ(fit_recording_words(made_by("capture"), "record_shapes=True, record_shapes=True"),
            "stepscope run --shapes, stepscope run --shapes");
}

}  // namespace
}  // namespace stepscope

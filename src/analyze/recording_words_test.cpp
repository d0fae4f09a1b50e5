#include "analyze/recording_words.h"

#include <gtest/gtest.h>

namespace stepscope {
namespace {

TraceInfo made_by(std::string producer) {
  TraceInfo info;
  info.producer = std::move(producer);
  return info;
}

TEST(RecordingWords, files_of_other_tools_keep_theirs) {
  const std::string text = "profile(..., with_stack=True) names the line";
  EXPECT_EQ(fit_recording_words(made_by("chrome-json"), text), text);
}

TEST(RecordingWords, a_capture_hears_of_the_switches_that_made_it) {
  const TraceInfo capture = made_by("capture");
  EXPECT_EQ(fit_recording_words(capture, "profile(..., with_stack=True) names the line"),
            "stepscope run without --no-stacks names the line");
  EXPECT_EQ(fit_recording_words(capture, "Not recorded. Record with profile_memory=True to see peaks by step."),
            "Not recorded. Record with stepscope run --memory to see peaks by step.");
  EXPECT_EQ(fit_recording_words(capture, "Record again: a short window (schedule(wait=1, warmup=2, active=3))"),
            "Record again: a short window (stepscope run --schedule wait=1,warmup=2,active=3)");
}

TEST(RecordingWords, a_capture_that_its_program_started_hears_of_both) {
  TraceInfo own = made_by("capture");
  own.remarks = {"a start was asked for by the program", "a stop was asked for by the program"};
  EXPECT_EQ(fit_recording_words(own, "profile(..., with_stack=True) names the line"),
            "profile(..., with_stack=True) (or stepscope run without --no-stacks) names the line");
  EXPECT_EQ(fit_recording_words(own, "Record with profile_memory=True to see peaks by step."),
            "Record with profile_memory=True (or stepscope run --memory) to see peaks by step.");
  EXPECT_EQ(fit_recording_words(own, "Call prof.step() after each step, or name a span: --steps NAME."),
            "Call prof.step() after each step, or name a span: --steps NAME.");
  own.remarks = {"a start was asked for by a signal"};
  EXPECT_EQ(fit_recording_words(own, "profile(..., with_stack=True) names the line"),
            "stepscope run without --no-stacks names the line");
}

TEST(RecordingWords, a_session_hears_of_its_options) {
  const TraceInfo session = made_by("stepscope session");
  EXPECT_EQ(fit_recording_words(session, "Not recorded. Record with profile_memory=True to see peaks by step."),
            "Not recorded. Record with SessionOptions::profile_memory = true to see peaks by step.");
  EXPECT_EQ(fit_recording_words(session, "Call prof.step() after each step, or name a span: --steps NAME."),
            "Call session.step() after each step, or name a span: --steps NAME.");
}

TEST(RecordingWords, every_mention_is_replaced) {
  EXPECT_EQ(fit_recording_words(made_by("capture"), "record_shapes=True, record_shapes=True"),
            "stepscope run --shapes, stepscope run --shapes");
}

}  // namespace
}  // namespace stepscope

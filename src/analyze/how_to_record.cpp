// The options are those that sentences name (recording_words.cpp), so that all outputs say the same.
#include "analyze/how_to_record.h"

namespace stepscope {

HowToRecord how_to_record(RecordingTool tool, const TraceInfo& info) {
  HowToRecord how;
  if (tool == RecordingTool::kOther) return how;
  // torch.profiler's users need not change the program either.
  const std::string also = tool == RecordingTool::kTorch ? ", or under stepscope run" : "";
  const bool has_modules = tool != RecordingTool::kJax && tool != RecordingTool::kSession;
  if (!info.with_stack) how.stacks = fit_recording_words(tool, "with_stack=True") + also;
  if (!info.with_stack && !info.with_modules && has_modules) how.modules = how.stacks;
  if (!info.record_shapes && tool != RecordingTool::kJax) {
    how.shapes = fit_recording_words(tool, "record_shapes=True");
  }
  return how;
}

}  // namespace stepscope

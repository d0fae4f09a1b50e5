// What a recording may lack, and the options that record it, by the tool that made it.
//
// Data beside the sentences of recording_words.h, for outputs that write sentences of their own (the page).
#pragma once

#include <optional>
#include <string>

#include "analyze/recording_words.h"

namespace stepscope {

// Each is to be read after "record with"; missing where that was asked for already, where the tool has none, and where
// nothing says which tool it was.
struct HowToRecord {
  std::optional<std::string> stacks, modules, shapes;
};
[[nodiscard]] HowToRecord how_to_record(RecordingTool tool, const TraceInfo& info);

}  // namespace stepscope

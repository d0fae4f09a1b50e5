// The careful reader: events that the fast reader refuses.
//
// PyTorch has written files with raw quotes and backslashes in names, cut files, and files that two processes
// wrote at once. One such event must cost that event at most, never the rest of the file, so: first try to
// restore the strings of the event; if that fails, drop it and go on where the next event plainly starts.
#pragma once

#include "import/chrome_json/event_reader.h"

namespace stepscope::chrome_json {

enum class Reading : std::uint8_t {
  kRead,      // the event is whole (restored, perhaps); `resume` is behind it
  kDropped,   // damaged; `resume` is where the next event or the end of the list is
  kNeedMore,  // the text ends before that can be decided
};

struct CarefulResult {
  Reading reading = Reading::kNeedMore;
  const char* resume = nullptr;
  std::uint32_t restored_strings = 0;
  bool is_cut = false;             // dropped because the whole file ends inside
  bool starts_document = false;    // dropped, and `resume` is where another document starts
  bool is_pieces = false;          // dropped, and its text must be pieces of two events
  const char* too_deep = nullptr;  // dropped since it nests deeper than kDeepestNesting, here
};

// `at` stands at `{` of an event that the fast reader refused for what it saw, not for want of text.
[[nodiscard]] CarefulResult read_event_carefully(const char* at, const char* end, TextEnd text_end, Event& event,
                                                 Remarks& remarks);

// For text that is no event at all: where reading can go on. kDropped or kNeedMore.
[[nodiscard]] CarefulResult skip_damage(const char* from, const char* end, TextEnd text_end);

}  // namespace stepscope::chrome_json

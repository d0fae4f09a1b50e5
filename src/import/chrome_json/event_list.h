// A stretch of the event list to rows: events, commas, and whatever damage lies between them.
#pragma once

#include "import/chrome_json/row_writer.h"
#include "import/chrome_json/scan.h"

namespace stepscope::chrome_json {

enum class ListEnd : std::uint8_t {
  kTextEnd,   // the text ended between events
  kListEnd,   // `]` was read
  kDocument,  // another document starts, although this list has not ended
  kNeedMore,  // the text ended inside an event: it has to be read again with what follows
};

struct ListResult {
  const char* stop = nullptr;  // all before it is done
  ListEnd end = ListEnd::kTextEnd;
};

// Reads from `at`, where an event, a comma or the end of the list may stand. `offset` is the place of `at` in the
// file. Only at the file's end is an unfinished event given up. Wherever the text is cut into calls, and
// whatever its damage, the rows and notes of all calls together are the same.
[[nodiscard]] ListResult read_event_list(const char* at, const char* end, std::uint64_t offset, TextEnd text_end,
                                         BlockRows& rows);

}  // namespace stepscope::chrome_json

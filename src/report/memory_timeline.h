// The memory timeline as files: torch's two JSON shapes, and a page to look at. docs/formats/memory-timeline.md.
//
// Written in pieces to a callable, which is what the writers of files take; every piece is valid UTF-8.
#pragma once

#include <functional>
#include <string_view>

#include "analyze/memory_timeline.h"
#include "base/result.h"

namespace stepscope {

using TakeText = std::function<Status(std::string_view piece)>;

enum class TimelineShape {
  kLevels,  // [times_us, levels[][9]]: torch's `.json`
  kRows,    // [[time_ns, action, bytes, category], ...]: torch's `.raw.json.gz`
  kPage,    // one HTML file that needs no network
};

// `title` stands over the page (the file's name).
[[nodiscard]] Status write_memory_timeline(const MemoryTimeline& timeline, TimelineShape shape, std::string_view title,
                                           const TakeText& take);

}  // namespace stepscope

// Numbers only, so nothing has to be escaped but the title of the page.
//
// The page gets at most kMostPoints levels: a screen has some 2,000 columns, and of each stretch the level of the most
// bytes stands for all, so that no peak is lost. It has no library and asks nothing of a network (a content security
// policy says so to the browser).
#include "report/memory_timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "report/memory_timeline_page.h"
#include "report/text.h"

namespace stepscope {
namespace {

constexpr std::size_t kMostPoints = 4000;
constexpr std::size_t kPieceBytes = std::size_t{1} << 20;

class Pieces {
 public:
  explicit Pieces(const TakeText& take) : take_(take) {}
  template <class... Args>
  void put(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
    if (text_.size() >= kPieceBytes) flush();
  }
  void put_text(std::string_view text) { text_ += text; }
  [[nodiscard]] bool failed() const { return !status_.has_value(); }
  [[nodiscard]] Status finish() {
    flush();
    return status_;
  }

 private:
  void flush() {
    if (status_ && !text_.empty()) status_ = take_(text_);
    text_.clear();
  }
  const TakeText& take_;
  std::string text_;
  Status status_ = Done{};
};

void put_levels(const std::vector<TimelineLevel>& levels, Pieces& out) {
  out.put("[[");
  for (const TimelineLevel& level : levels) out.put("{}{}", &level == &levels.front() ? "" : ", ", level.time_us);
  out.put("], [");
  for (const TimelineLevel& level : levels) {
    if (out.failed()) return;
    // The first column is always 0 in torch's files.
    out.put("{}[0, {}]", &level == &levels.front() ? "" : ", ", fmt::join(level.bytes, ", "));
  }
  out.put("]]");
}

void put_rows(const MemoryTimeline& timeline, Pieces& out) {
  out.put("[");
  for (const TimelineRow& row : timeline.rows) {
    if (out.failed()) return;
    const bool is_older = row.action == TimelineAction::kPreexisting;
    out.put("{}[{}, {}, {}, {}]", &row == &timeline.rows.front() ? "" : ", ",
            is_older ? -1 : row.time_ns + timeline.base_ns, static_cast<int>(row.action), row.bytes,
            static_cast<int>(row.category));
  }
  out.put("]");
}

// Of each stretch of levels the one with most bytes.
std::vector<TimelineLevel> thinned(const std::vector<TimelineLevel>& levels) {
  if (levels.size() <= kMostPoints) return levels;
  std::vector<TimelineLevel> out;
  for (std::size_t i = 0; i < kMostPoints; ++i) {
    const auto begin = levels.begin() + static_cast<std::ptrdiff_t>(i * levels.size() / kMostPoints);
    const auto end = levels.begin() + static_cast<std::ptrdiff_t>((i + 1) * levels.size() / kMostPoints);
    out.push_back(*std::max_element(
        begin, end, [](const TimelineLevel& a, const TimelineLevel& b) { return a.total_bytes() < b.total_bytes(); }));
  }
  return out;
}

std::string html_text(std::string_view raw) {
  std::string out;
  for (const char c : clean_text(raw)) {
    switch (c) {
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '&':
        out += "&amp;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

void put_page(const MemoryTimeline& timeline, std::string_view title, Pieces& out) {
  const std::vector<TimelineLevel> levels = compute_timeline_levels(timeline);
  const std::int64_t start_us = levels.empty() ? 0 : levels.front().time_us;
  out.put_text(kTimelinePageHead);
  out.put("<title>Memory of {}</title>", html_text(title));
  out.put_text(kTimelinePageStyle);
  const std::int64_t number = timeline.device_number.value_or(0);
  out.put("<h1>Memory by category: {}, {}</h1>\n", html_text(title),
          number == kTimelineCpu ? "CPU" : fmt::format("GPU {}", number));
  out.put_text(kTimelinePageBody);
  out.put("const names = [");
  for (std::size_t i = 0; i < kTimelineCategoryCount; ++i) {
    out.put("{}\"{}\"", i == 0 ? "" : ", ", timeline_category_name(static_cast<TimelineCategory>(i)));
  }
  out.put("];\nconst levels = [");
  for (const TimelineLevel& level : thinned(levels)) {
    out.put("[{},{}],\n", level.time_us - start_us, fmt::join(level.bytes, ","));
  }
  out.put("];\n");
  out.put_text(kTimelinePageScript);
}

}  // namespace

Status write_memory_timeline(const MemoryTimeline& timeline, TimelineShape shape, std::string_view title,
                             const TakeText& take) {
  Pieces out(take);
  switch (shape) {
    case TimelineShape::kLevels:
      put_levels(compute_timeline_levels(timeline), out);
      break;
    case TimelineShape::kRows:
      put_rows(timeline, out);
      break;
    case TimelineShape::kPage:
      put_page(timeline, title, out);
      break;
  }
  return out.finish();
}

}  // namespace stepscope

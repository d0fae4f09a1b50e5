// One pass over the points of a thread in order of time: see stack_frames.h for the rules.
#include "import/capture/stack_frames.h"

#include <algorithm>

namespace stepscope::capture_format {
namespace {

class FrameMaker {
 public:
  FrameMaker(const Definitions& definitions, const std::vector<Interval>& windows, ThreadId thread, Frames& into)
      : definitions_(definitions), windows_(windows), thread_(thread), into_(into) {}

  void add(const StackPoint& point) {
    end_before(point.start_ns);
    see(point.start_ns, point.stack);
    if (point.end_ns > point.start_ns) running_.push_back(point);
  }
  void finish() {
    end_before(std::numeric_limits<TimeNs>::max());
    close_from(0, last_ns_);
  }

 private:
  struct Open {
    StackNode frame;
    TimeNs start_ns;
  };

  // Events that ended by `time_ns` show their stack once more, as they end.
  void end_before(TimeNs time_ns) {
    while (!running_.empty() && running_.back().end_ns <= time_ns) {
      if (running_.back().end_ns >= last_ns_) see(running_.back().end_ns, running_.back().stack);
      running_.pop_back();
    }
  }

  // The thread had this stack at this time, which is not before the last one.
  void see(TimeNs time_ns, StackNode stack) {
    definitions_.frames(stack, wanted_);
    const std::size_t common = common_frames();
    if (!open_.empty() && !holds_until(time_ns)) {
      std::size_t kept = std::min({common, open_.size() - 1, wanted_.size() - (wanted_.empty() ? 0 : 1)});
      if (is_other_window(time_ns)) kept = 0;
      if (!running_.empty()) kept = std::max(kept, std::min(common, frames_of_running()));
      close_from(kept, last_ns_);
    }
    close_from(std::min(common, open_.size()), time_ns);
    for (std::size_t at = open_.size(); at < wanted_.size(); ++at) open_.push_back({wanted_[at], time_ns});
    last_ns_ = time_ns;
  }

  [[nodiscard]] bool holds_until(TimeNs time_ns) const {
    return time_ns - last_ns_ <= kHoldNs && !is_other_window(time_ns);
  }
  // Did a window end between the last point and this one?
  [[nodiscard]] bool is_other_window(TimeNs time_ns) const {
    const auto next = std::lower_bound(windows_.begin(), windows_.end(), last_ns_,
                                       [](const Interval& window, TimeNs time) { return window.end_ns < time; });
    return next != windows_.end() && next->end_ns < time_ns;
  }
  [[nodiscard]] std::size_t frames_of_running() const { return definitions_.node(running_.back().stack).depth; }
  // Frames of open_ and wanted_ that are the same call at the same line, from the outermost on.
  [[nodiscard]] std::size_t common_frames() const {
    std::size_t common = 0;
    while (common < std::min(open_.size(), wanted_.size()) && is_same(open_[common].frame, wanted_[common])) ++common;
    return common;
  }
  // Stacks that were written twice have two nodes of the same frames.
  [[nodiscard]] bool is_same(StackNode a, StackNode b) const {
    return a == b || definitions_.node(a).frame == definitions_.node(b).frame;
  }

  void close_from(std::size_t kept, TimeNs end_ns) {
    for (std::size_t at = kept; at < open_.size(); ++at) {
      if (open_[at].start_ns >= end_ns) continue;  // seen once, for no time
      Frames::Row row;
      row.start_ns = open_[at].start_ns;
      row.end_ns = end_ns;
      row.thread = thread_;
      row.name = definitions_.shown_frame(open_[at].frame);
      into_.push_back(row);
    }
    if (kept < open_.size()) open_.resize(kept);
  }

  const Definitions& definitions_;
  const std::vector<Interval>& windows_;
  ThreadId thread_;
  Frames& into_;
  std::vector<StackPoint> running_;  // operators and calls that have not ended, innermost last
  std::vector<Open> open_;           // frames, outermost first
  std::vector<StackNode> wanted_;
  TimeNs last_ns_ = std::numeric_limits<TimeNs>::min() / 2;
};

}  // namespace

void add_stack_frames(const Definitions& definitions, std::vector<StackPoint>& points,
                      const std::vector<Interval>& windows, ThreadId thread, Frames& into) {
  std::stable_sort(points.begin(), points.end(), [](const StackPoint& a, const StackPoint& b) {
    return a.start_ns != b.start_ns ? a.start_ns < b.start_ns : a.end_ns > b.end_ns;
  });
  FrameMaker maker(definitions, windows, thread, into);
  for (const StackPoint& point : points) maker.add(point);
  maker.finish();
}

}  // namespace stepscope::capture_format

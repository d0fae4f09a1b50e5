// Host threads that work (main first), then the busiest streams of the device, all inside the shown interval.
//
// A row costs one pass over its table: an excerpt is made once, on request, so no index is kept for it.
#include "report/excerpt.h"

#include <algorithm>
#include <array>
#include <map>

#include "report/text.h"

namespace stepscope {
namespace {

constexpr std::size_t kMostThreads = 3;    // main, autograd, and one more; others hardly ever matter
constexpr std::size_t kMostStreams = 6;    // compute, copies, communication, with room
constexpr std::size_t kMostBoxLevels = 3;  // step, phase, and what the user labelled inside
constexpr std::size_t kLeastBoxCells = 4;  // "[ab]": a box with less room can carry no name

// Cuts the shown time into cells and finds what filled each.
class CellGrid {
 public:
  CellGrid(Interval shown, std::size_t cell_count) : shown_(shown), filled_(cell_count) {}

  [[nodiscard]] bool overlaps(TimeNs start_ns, TimeNs end_ns) const {
    return start_ns < shown_.end_ns && end_ns > shown_.start_ns;
  }
  [[nodiscard]] double cells(DurationNs length_ns) const {
    return static_cast<double>(length_ns) / static_cast<double>(shown_.length_ns()) *
           static_cast<double>(filled_.size());
  }

  void add(TimeNs start_ns, TimeNs end_ns, std::uint8_t what) {
    const double from = std::max(0.0, cells(start_ns - shown_.start_ns));
    const double to = std::min(static_cast<double>(filled_.size()), cells(end_ns - shown_.start_ns));
    for (auto cell = static_cast<std::size_t>(from); cell < filled_.size() && static_cast<double>(cell) < to; ++cell) {
      const double left = std::max(from, static_cast<double>(cell));
      const double right = std::min(to, static_cast<double>(cell + 1));
      filled_[cell][what] += static_cast<float>(right - left);
    }
  }

  [[nodiscard]] std::vector<ExcerptCell> take() const {
    std::vector<ExcerptCell> cells;
    for (const auto& parts : filled_) {
      const auto most = std::max_element(parts.begin(), parts.end());
      float sum = 0;
      for (const float part : parts) sum += part;
      cells.push_back({static_cast<std::uint8_t>(most - parts.begin()), std::min(sum, 1.0F)});
    }
    return cells;
  }

 private:
  static constexpr std::size_t kWhatCount = std::max(kKernelClassCount, kHostLabelCount);
  Interval shown_;
  std::vector<std::array<float, kWhatCount>> filled_;
};

// Boxes by nesting level, from a table whose rows of a thread come parents first.
class BoxLevels {
 public:
  explicit BoxLevels(const CellGrid& grid) : grid_(grid) {}

  void add(TimeNs start_ns, TimeNs end_ns, std::string_view name) {
    if (!grid_.overlaps(start_ns, end_ns)) return;
    if (grid_.cells(end_ns - start_ns) < static_cast<double>(kLeastBoxCells)) return;
    while (!open_.empty() && open_.back() <= start_ns) open_.pop_back();
    open_.push_back(end_ns);
    if (levels_.size() < open_.size()) levels_.resize(open_.size());
    levels_[open_.size() - 1].push_back({start_ns, end_ns, clean_text(name)});
  }
  [[nodiscard]] std::vector<std::vector<ExcerptBox>>& levels() { return levels_; }

 private:
  const CellGrid& grid_;
  std::vector<TimeNs> open_;
  std::vector<std::vector<ExcerptBox>> levels_;
};

class ExcerptBuilder {
 public:
  ExcerptBuilder(const Trace& trace, const Facts& facts, Interval shown, std::size_t cell_count)
      : trace_(trace), facts_(facts), shown_(shown), cell_count_(cell_count) {}

  void add_thread(ThreadId thread, Excerpt& out) const {
    const std::size_t rows_before = out.rows.size();
    const std::string label = thread == facts_.steps.main_thread ? "main thread" : thread_label(thread);
    CellGrid grid(shown_, cell_count_);
    std::vector<HostSlice> slices;
    facts_.path.slices(thread, shown_.start_ns, shown_.end_ns, slices);
    bool works = false;
    for (const HostSlice& slice : slices) {
      if (slice.label == HostLabel::kNoEvent) continue;
      works = true;
      grid.add(slice.start_ns, slice.end_ns, static_cast<std::uint8_t>(slice.label));
    }
    if (!works) return;
    add_spans(thread, grid, out);
    add_frames(thread, grid, out);
    out.rows.push_back({ExcerptRowKind::kHost, "", {}, grid.take()});
    out.rows[rows_before].label = label;
  }

  void add_streams(DeviceId device, Excerpt& out) const {
    std::map<std::uint32_t, std::pair<DurationNs, CellGrid>> streams;
    for (const GpuEventId id : trace_.gpu_events_of_device[device].ids()) {
      const TimeNs start_ns = trace_.gpu_events.start_ns[id];
      if (start_ns >= shown_.end_ns) break;
      const TimeNs end_ns = facts_.timeline.end_ns[id];
      if (end_ns <= shown_.start_ns || end_ns == start_ns) continue;
      auto [at, is_new] = streams.try_emplace(trace_.gpu_events.stream[id].value, 0, CellGrid(shown_, cell_count_));
      at->second.first += end_ns - start_ns;
      at->second.second.add(start_ns, end_ns, static_cast<std::uint8_t>(facts_.classes.of[id]));
    }
    std::vector<std::pair<DurationNs, std::uint32_t>> busiest;
    busiest.reserve(streams.size());
    for (const auto& [stream, use] : streams) busiest.emplace_back(use.first, stream);
    std::sort(busiest.rbegin(), busiest.rend());
    if (busiest.size() > kMostStreams) busiest.resize(kMostStreams);
    for (const auto& [time_ns, stream] : busiest) {
      const std::string key = clean_text(trace_.text(trace_.streams.key[StreamId(stream)]));
      out.rows.push_back({ExcerptRowKind::kStream, "stream " + key, {}, streams.at(stream).second.take()});
    }
    if (busiest.empty()) out.rows.push_back({ExcerptRowKind::kStream, "GPU", {}, CellGrid(shown_, cell_count_).take()});
  }

 private:
  [[nodiscard]] std::string thread_label(ThreadId thread) const {
    const std::string_view name = trace_.text(trace_.threads.name[thread]);
    if (!name.empty()) return clean_text(name);
    return "thread " + clean_text(trace_.text(trace_.threads.key[thread]));
  }

  void add_spans(ThreadId thread, const CellGrid& grid, Excerpt& out) const {
    BoxLevels boxes(grid);
    for (const SpanId id : trace_.spans_of_thread[thread].ids()) {
      if (trace_.spans.is_async[id] != 0) continue;
      boxes.add(trace_.spans.start_ns[id], trace_.spans.end_ns[id], trace_.text(trace_.spans.name[id]));
    }
    auto& levels = boxes.levels();
    if (levels.size() > kMostBoxLevels) levels.resize(kMostBoxLevels);
    for (auto& level : levels) out.rows.push_back({ExcerptRowKind::kBoxes, "", std::move(level), {}});
  }

  // The user's own frames: the two innermost levels that are wide enough to carry a name.
  void add_frames(ThreadId thread, const CellGrid& grid, Excerpt& out) const {
    constexpr std::size_t kMostFrameLevels = 2;
    BoxLevels boxes(grid);
    for (const FrameId id : trace_.frames_of_thread[thread].ids()) {
      const TimeNs start_ns = trace_.frames.start_ns[id], end_ns = trace_.frames.end_ns[id];
      if (!grid.overlaps(start_ns, end_ns)) continue;
      const std::string_view name = trace_.text(trace_.frames.name[id]);
      if (is_user_frame(name)) boxes.add(start_ns, end_ns, name);
    }
    auto& levels = boxes.levels();
    const std::size_t first = levels.size() - std::min(levels.size(), kMostFrameLevels);
    for (std::size_t i = first; i < levels.size(); ++i) {
      out.rows.push_back({ExcerptRowKind::kBoxes, "", std::move(levels[i]), {}});
    }
  }

  const Trace& trace_;
  const Facts& facts_;
  Interval shown_;
  std::size_t cell_count_;
};

// What led to it and what followed: as much again on both sides of a short piece, a quarter of a long one.
Interval widen(Interval evidence, DurationNs step_ns) {
  const bool is_short = evidence.length_ns() < step_ns / 4;
  const DurationNs margin_ns = std::max<DurationNs>(is_short ? evidence.length_ns() : evidence.length_ns() / 4, 1000);
  return {evidence.start_ns - margin_ns, evidence.end_ns + margin_ns};
}

void set_origin(const Facts& facts, Excerpt& excerpt) {
  const TimeNs middle_ns = excerpt.evidence.start_ns + excerpt.evidence.length_ns() / 2;
  auto step = facts.steps.find_by_host_time(middle_ns);
  if (!step) step = facts.steps.find_by_gpu_time(middle_ns);
  excerpt.origin_ns = step ? facts.steps.steps[*step].host.start_ns : facts.steps.window.start_ns;
  excerpt.origin_name = step ? "step " + std::to_string(facts.steps.steps[*step].number) : std::string("the window");
}

}  // namespace

Excerpt build_excerpt(const Trace& trace, const Facts& facts, Interval evidence, std::size_t cell_count) {
  Excerpt excerpt;
  excerpt.evidence = evidence;
  excerpt.shown = widen(evidence, facts.steps.median_ns.value_or(facts.steps.window.length_ns()));
  set_origin(facts, excerpt);
  const ExcerptBuilder builder(trace, facts, excerpt.shown, std::max<std::size_t>(cell_count, 1));
  std::size_t threads = 0;
  const auto& working = facts.path.working_threads();
  if (facts.steps.main_thread.has_value()) builder.add_thread(facts.steps.main_thread, excerpt);
  for (const ThreadId thread : working) {
    if (thread == facts.steps.main_thread || ++threads >= kMostThreads) continue;
    builder.add_thread(thread, excerpt);
  }
  if (const DeviceBusy* busy = facts.main_busy()) builder.add_streams(busy->device, excerpt);
  return excerpt;
}

}  // namespace stepscope

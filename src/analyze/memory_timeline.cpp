// One walk over the memory events in order of time pairs each free with its allocation; where an event lies among the
// operators is found by a cursor for each thread, since both are sorted. See memory_timeline.h for the rules.
#include "analyze/memory_timeline.h"

#include <tsl/robin_map.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <unordered_set>

#include "analyze/memory_in_interval.h"
#include "base/hash.h"

namespace stepscope {
namespace {

constexpr std::int32_t kCpu = 0;  // c10::DeviceType

bool is_backward_function(std::string_view name) {
  if (name.starts_with("autograd::engine::evaluate_function") || name.starts_with("torch::autograd::")) return true;
  name.remove_suffix(name.size() - (name.find_last_not_of("0123456789") + 1));
  return name.ends_with("Backward");
}

// Makes a tensor out of numbers that the program gives.
bool is_factory(std::string_view name) {
  static const std::unordered_set<std::string_view> kFactories = {
      "aten::arange",   "aten::empty",         "aten::empty_strided", "aten::eye",      "aten::full",
      "aten::linspace", "aten::ones",          "aten::rand",          "aten::randint",  "aten::randn",
      "aten::randperm", "aten::scalar_tensor", "aten::tensor",        "aten::logspace", "aten::zeros",
  };
  return kFactories.contains(name);
}

// Where a memory event lies.
struct Place {
  OpId node;                  // outermost operator that is a unit of work: what torch calls a leaf
  SpanId optimizer_step;      // the Optimizer.step#... around it
  bool is_backward = false;   // under a function of autograd
  bool is_optimizer = false;  // in Optimizer.step# or Optimizer.zero_grad#
};

class Places {
 public:
  explicit Places(const Trace& trace) : trace_(trace), threads_(trace.threads.size()) {
    for (const ThreadId thread : trace.threads.ids().ids()) {
      threads_[thread.value].next_op = trace.ops_of_thread[thread].begin;
      threads_[thread.value].next_span = trace.spans_of_thread[thread].begin;
    }
    backward_.resize(trace.strings.size(), kNotAsked);
  }

  // Of one thread in order of time.
  Place find(ThreadId thread, TimeNs time_ns) {
    Place place;
    if (!thread.has_value()) return place;
    find_spans(thread, time_ns, place);
    for (OpId op = innermost(thread, time_ns); op.has_value(); op = trace_.ops.parent[op]) {
      const StringId name = trace_.ops.name[op];
      const bool is_backward = is_backward_name(name);
      place.is_backward = place.is_backward || is_backward;
      const std::string_view text = trace_.text(name);
      // A function of autograd is a unit; what the engine does around it is not, nor is a label of the program.
      if (text.find("::") != std::string_view::npos ? !text.starts_with("autograd::engine::") : is_backward) {
        place.node = op;
      }
    }
    return place;
  }

 private:
  enum Answer : std::uint8_t { kNotAsked, kNo, kYes };
  struct Thread {
    std::uint32_t next_op = 0, next_span = 0;
    std::vector<SpanId> open;  // Optimizer spans
  };

  OpId innermost(ThreadId thread, TimeNs time_ns) {
    std::uint32_t& next = threads_[thread.value].next_op;
    const IdRange<OpId> range = trace_.ops_of_thread[thread];
    while (next < range.end && trace_.ops.start_ns[OpId(next)] <= time_ns) ++next;
    if (next == range.begin) return {};
    OpId op(next - 1);
    while (op.has_value() && trace_.ops.end_ns[op] < time_ns) op = trace_.ops.parent[op];
    return op;
  }

  void find_spans(ThreadId thread, TimeNs time_ns, Place& place) {
    Thread& at = threads_[thread.value];
    const Spans& spans = trace_.spans;
    for (; at.next_span < trace_.spans_of_thread[thread].end; ++at.next_span) {
      const SpanId id(at.next_span);
      if (spans.start_ns[id] > time_ns) break;
      if (trace_.text(spans.name[id]).starts_with("Optimizer.")) at.open.push_back(id);
    }
    std::erase_if(at.open, [&](SpanId id) { return spans.end_ns[id] < time_ns; });
    for (const SpanId id : at.open) {
      place.is_optimizer = true;
      if (trace_.text(spans.name[id]).starts_with("Optimizer.step")) place.optimizer_step = id;
    }
  }

  bool is_backward_name(StringId name) {
    std::uint8_t& answer = backward_[name.value];
    if (answer == kNotAsked) answer = is_backward_function(trace_.text(name)) ? kYes : kNo;
    return answer == kYes;
  }

  const Trace& trace_;
  std::vector<Thread> threads_;
  std::vector<std::uint8_t> backward_;  // Answer, by string
};

class Timeline {
 public:
  explicit Timeline(const Trace& trace) : trace_(trace), places_(trace) {
    for (const GpuEventId id : trace.gpu_events.ids().ids()) {
      if (trace.gpu_events.kind[id] != GpuEventKind::kCopy || !trace.gpu_events.op[id].has_value()) continue;
      if (trace.text(trace.gpu_events.name[id]).find("HtoD") == std::string_view::npos) continue;
      OpId op = trace.gpu_events.op[id];
      while (trace.ops.parent[op].has_value()) op = trace.ops.parent[op];
      host_copies_.insert(op);
    }
  }

  std::vector<TimelineRow> compute(std::int64_t device_number) {
    const MemoryEvents& events = trace_.memory_events;
    for (const MemoryEventId id : events.ids().ids()) {
      if ((events.device_type[id] == kCpu ? kTimelineCpu : events.device_number[id]) != device_number) continue;
      take(id);
    }
    for (const auto& [address, row] : live_) {
      rows_[row].category = category_of_kept(taken_.at(row));
    }
    add_what_stayed();
    auto is_older = [](const TimelineRow& row) { return row.action == TimelineAction::kPreexisting; };
    std::stable_sort(rows_.begin(), rows_.end(), [&](const TimelineRow& a, const TimelineRow& b) {
      if (is_older(a) || is_older(b)) return is_older(a) && !is_older(b);
      return a.time_ns != b.time_ns ? a.time_ns < b.time_ns : a.action < b.action;
    });
    return std::move(rows_);
  }

 private:
  void take(MemoryEventId id) {
    const MemoryEvents& events = trace_.memory_events;
    const std::int64_t bytes = events.bytes[id];
    const Place place = places_.find(events.thread[id], events.time_ns[id]);
    if (!first_level_ && events.total_allocated_bytes[id].has_value())
      first_level_ = wrapping_subtract(events.total_allocated_bytes[id].value(), wrapping_add(bytes, net_bytes_));
    net_bytes_ = wrapping_add(net_bytes_, bytes);
    const auto row = static_cast<std::uint32_t>(rows_.size());
    if (bytes > 0) {
      rows_.push_back({events.time_ns[id], TimelineAction::kCreate, TimelineCategory::kUnknown, bytes});
      taken_.emplace(row, place);
      // Taken again without having been given back: the recording lost the free, and the older one stays as it is.
      if (events.address[id].has_value()) live_.insert_or_assign(events.address[id].value(), row);
      return;
    }
    TimelineCategory category = TimelineCategory::kUnknown;
    const auto found = events.address[id].has_value() ? live_.find(events.address[id].value()) : live_.end();
    if (found != live_.end() && rows_[found->second].bytes == wrapping_subtract(0, bytes)) {
      category = category_of(taken_.at(found->second), place);
      rows_[found->second].category = category;
      live_.erase(found);
    } else {
      if (place.is_backward)
        category = TimelineCategory::kActivation;
      else if (place.is_optimizer)
        category = TimelineCategory::kGradient;
      rows_.push_back({-1, TimelineAction::kPreexisting, category, wrapping_subtract(0, bytes)});
      older_bytes_ = wrapping_subtract(older_bytes_, bytes);
    }
    rows_.push_back({events.time_ns[id], TimelineAction::kDestroy, category, bytes});
  }

  [[nodiscard]] TimelineCategory category_of(const Place& taken, const Place& given) const {
    if (taken.node.has_value() && taken.node == given.node) return TimelineCategory::kTemporary;
    if (taken.optimizer_step.has_value() && taken.optimizer_step == given.optimizer_step)
      return TimelineCategory::kTemporary;
    if (taken.is_backward && given.is_backward) return TimelineCategory::kAutogradDetail;
    return category_of_kept(taken);
  }
  // Of what outlives the place where it was taken.
  [[nodiscard]] TimelineCategory category_of_kept(const Place& taken) const {
    if (taken.optimizer_step.has_value()) return TimelineCategory::kOptimizerState;
    if (taken.is_backward) return TimelineCategory::kGradient;
    if (!taken.node.has_value()) return TimelineCategory::kUnknown;
    OpId root = taken.node;
    while (trace_.ops.parent[root].has_value()) root = trace_.ops.parent[root];
    if (is_factory(trace_.text(trace_.ops.name[taken.node])) || host_copies_.contains(root))
      return TimelineCategory::kInput;
    return TimelineCategory::kActivation;
  }

  void add_what_stayed() {
    if (!first_level_) return;
    std::int64_t rest = wrapping_subtract(*first_level_, older_bytes_);
    if (rest <= 0) return;
    const std::int64_t parameters = std::clamp<std::int64_t>(gradient_bytes_of_a_step(), 0, rest);
    if (parameters > 0) {
      rows_.push_back({-1, TimelineAction::kPreexisting, TimelineCategory::kParameter, parameters});
      rest -= parameters;
    }
    if (rest > 0) rows_.push_back({-1, TimelineAction::kPreexisting, TimelineCategory::kUnknown, rest});
  }

  // The most bytes that gradients of the recording held at once; those of before count only by their end.
  [[nodiscard]] std::int64_t gradient_bytes_of_a_step() const {
    std::int64_t level = 0, most = 0;
    for (const TimelineRow& row : rows_) {
      if (row.category != TimelineCategory::kGradient || row.action == TimelineAction::kPreexisting) continue;
      level = wrapping_add(level, row.bytes);
      most = std::max(most, level);
    }
    return most;
  }

  const Trace& trace_;
  Places places_;
  std::unordered_set<OpId> host_copies_;  // outermost operators that copied from the host
  std::vector<TimelineRow> rows_;
  tsl::robin_map<std::int64_t, std::uint32_t, MixedHash> live_;  // row that took it, by address
  tsl::robin_map<std::uint32_t, Place> taken_;                   // by row
  std::int64_t net_bytes_ = 0, older_bytes_ = 0;
  std::optional<std::int64_t> first_level_;  // allocated before the first event
};

std::optional<std::int64_t> busiest_device(const Trace& trace) {
  tsl::robin_map<std::int64_t, std::size_t> counts;
  for (const MemoryEventId id : trace.memory_events.ids().ids()) {
    if (trace.memory_events.device_type[id] != kCpu) ++counts[trace.memory_events.device_number[id]];
  }
  std::optional<std::int64_t> best;
  for (const auto& [device, count] : counts) {
    if (!best || count > counts.at(*best) || (count == counts.at(*best) && device < *best)) best = device;
  }
  return best;
}

// Torch divides in floating point, which for times since 1970 has quarters of a microsecond: the last eighth of one
// counts to the next. Levels are compared with torch's, so theirs is the time. (A long double keeps the division exact
// to a fraction of a nanosecond before it is rounded as Python rounds it.)
std::int64_t torchs_microseconds(std::int64_t time_ns) {
  return static_cast<std::int64_t>(static_cast<double>(static_cast<long double>(time_ns) / 1000.0L));
}

}  // namespace

std::string_view timeline_category_name(TimelineCategory category) {
  static constexpr std::array<std::string_view, kTimelineCategoryCount> kNames = {
      "parameter", "optimizer state", "input", "temporary", "activation", "gradient", "autograd detail", "unknown"};
  return kNames[static_cast<std::size_t>(category)];
}

MemoryTimeline compute_memory_timeline(const Trace& trace, std::optional<std::int64_t> device_number) {
  MemoryTimeline out;
  out.base_ns = trace.info.base_ns;
  const std::optional<std::int64_t> device = device_number ? device_number : busiest_device(trace);
  if (!device) return out;
  out.rows = Timeline(trace).compute(*device);
  if (!out.rows.empty()) out.device_number = device;
  return out;
}

std::int64_t TimelineLevel::total_bytes() const {
  return std::accumulate(bytes.begin(), bytes.end(), std::int64_t{0}, wrapping_add);
}

std::vector<TimelineLevel> compute_timeline_levels(const MemoryTimeline& timeline) {
  constexpr std::int64_t kBefore = std::numeric_limits<std::int64_t>::min();
  std::vector<TimelineLevel> levels;
  std::optional<std::int64_t> first_us;
  for (const TimelineRow& row : timeline.rows) {
    const bool is_older = row.action == TimelineAction::kPreexisting;
    const std::int64_t time_us = is_older ? kBefore : torchs_microseconds(wrapping_add(row.time_ns, timeline.base_ns));
    if (!is_older && !first_us) first_us = time_us;
    if (levels.empty() || levels.back().time_us != time_us) {
      levels.push_back(levels.empty() ? TimelineLevel{} : levels.back());
      levels.back().time_us = time_us;
    }
    std::int64_t& bytes = levels.back().bytes[static_cast<std::size_t>(row.category)];
    bytes = wrapping_add(bytes, row.bytes);
  }
  if (!levels.empty() && levels.front().time_us == kBefore) levels.front().time_us = first_us.value_or(0);
  return levels;
}

}  // namespace stepscope

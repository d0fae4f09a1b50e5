// Shares busy time among events in one sweep, and events among rows.
//
// Where several events run at once each nanosecond goes to one: compute before copies and sets before communication,
// then the event that started first, then the order of the table. Communication comes last because it mostly waits:
// what a collective gets is then what nothing else hides. Splitting the time evenly was rejected: it gives fractions,
// and a kernel would seem faster when something unrelated runs beside it.
//
// Pieces are kept as (row, step, length) and spread over steps only for rows that are kept: a file with 100,000 kernel
// names and 1,000 steps would need 800 MB otherwise.
#include "fleet/work_rows.h"

#include <tsl/robin_map.h>

#include <algorithm>
#include <limits>
#include <queue>
#include <tuple>

#include "base/hash.h"
#include "fleet/launch_places.h"

namespace stepscope {
namespace {

struct RowKey {
  StringId operator_name, shapes, kernel;
  std::uint32_t place = 0;
  KernelClass kernel_class = KernelClass::kOther;
  bool operator==(const RowKey&) const = default;
};

struct RowKeyHash {
  std::size_t operator()(const RowKey& key) const noexcept {
    const MixedHash mix;
    const std::size_t names = mix(std::uint64_t{key.operator_name.value} << 32 | key.shapes.value);
    const std::size_t kernel = mix(names ^ (std::uint64_t{key.kernel.value} << 32 | key.place));
    return mix(kernel + static_cast<std::size_t>(key.kernel_class));
  }
};

struct Row {
  RowKey key;
  TensorCores tensor_cores = TensorCores::kUnknown;
  std::int64_t count = 0;
  DurationNs gpu_sum_ns = 0, busy_ns = 0;
};

struct Piece {
  std::uint32_t row = 0;
  std::uint32_t step = 0;
  DurationNs length_ns = 0;
};

int priority_of(KernelClass kernel_class) {
  if (kernel_class == KernelClass::kCommunication) return 2;
  return kernel_class == KernelClass::kCopy || kernel_class == KernelClass::kSet ? 1 : 0;
}

// Gives each busy nanosecond of the steps to one running event. Fed in order of start.
class BusyShare {
 public:
  explicit BusyShare(const std::vector<StepStretch>& stretches) : stretches_(stretches) {}

  void add(std::uint32_t row, int priority, TimeNs start, TimeNs end) {
    if (end <= start) return;
    advance(start);
    running_.push({priority, start, order_++, row, end});
  }
  std::vector<Piece> finish() && {
    advance(std::numeric_limits<TimeNs>::max());
    return std::move(pieces_);
  }

 private:
  struct Running {
    int priority;
    TimeNs start_ns;
    std::size_t order;
    std::uint32_t row;
    TimeNs end_ns;
    bool operator>(const Running& other) const {
      return std::tie(priority, start_ns, order) > std::tie(other.priority, other.start_ns, other.order);
    }
  };

  void advance(TimeNs to) {
    while (now_ < to && !running_.empty()) {
      const Running& first = running_.top();
      if (first.end_ns <= now_) {
        running_.pop();
        continue;
      }
      const TimeNs stop = std::min(to, first.end_ns);
      give(first.row, now_, stop);
      now_ = stop;
    }
    now_ = std::max(now_, to);
  }

  void give(std::uint32_t row, TimeNs start, TimeNs end) {
    while (at_ < stretches_.size() && stretches_[at_].gpu.end_ns <= start) ++at_;
    for (std::size_t i = at_; i < stretches_.size() && stretches_[i].gpu.start_ns < end; ++i) {
      const Interval part{std::max(start, stretches_[i].gpu.start_ns), std::min(end, stretches_[i].gpu.end_ns)};
      const auto step = static_cast<std::uint32_t>(stretches_[i].step);
      if (!pieces_.empty() && pieces_.back().row == row && pieces_.back().step == step) {
        pieces_.back().length_ns += part.length_ns();
      } else {
        pieces_.push_back({row, step, part.length_ns()});
      }
    }
  }

  const std::vector<StepStretch>& stretches_;
  std::size_t at_ = 0;
  TimeNs now_ = std::numeric_limits<TimeNs>::min();
  std::size_t order_ = 0;
  std::priority_queue<Running, std::vector<Running>, std::greater<>> running_;
  std::vector<Piece> pieces_;
};

class WorkTable {
 public:
  WorkTable(const Trace& trace, const Facts& facts, const WorkRequest& request)
      : trace_(trace), facts_(facts), request_(request), places_(trace, facts.steps), share_(request.stretches) {}

  std::vector<SummaryWork> build() && {
    const DeviceBusy* busy = facts_.main_busy();
    if (busy == nullptr) return {};
    for (const GpuEventId id : trace_.gpu_events_of_device[busy->device].ids()) add(id);
    pieces_ = std::move(share_).finish();
    for (const Piece& piece : pieces_) rows_[piece.row].busy_ns += piece.length_ns;
    return summarize();
  }

 private:
  // The events that DeviceBusy counts.
  void add(GpuEventId id) {
    const TimeNs start = trace_.gpu_events.start_ns[id], end = facts_.timeline.end_ns[id];
    if (!facts_.timeline.counts(trace_, id) || is_unrecorded(start)) return;
    const Interval window = facts_.steps.window;
    if (start >= window.end_ns || end < window.start_ns) return;
    const bool begins_in_step = is_in_step(start);
    if (!begins_in_step && !may_reach_step(start, end)) return;
    const std::uint32_t row = row_of(id);
    if (begins_in_step) {
      ++rows_[row].count;
      add_bounded(rows_[row].gpu_sum_ns, end - start);
    }
    share_.add(row, priority_of(facts_.classes.of[id]), start, end);
  }
  // Starts come in order, so both cursors only move on.
  bool is_unrecorded(TimeNs start) {
    const IntervalSet& set = facts_.steps.unrecorded;
    while (unrecorded_at_ < set.size() && set[unrecorded_at_].end_ns <= start) ++unrecorded_at_;
    return unrecorded_at_ < set.size() && set[unrecorded_at_].start_ns <= start;
  }
  bool is_in_step(TimeNs start) {
    const auto& all = request_.stretches;
    while (stretch_at_ < all.size() && all[stretch_at_].gpu.end_ns <= start) ++stretch_at_;
    return stretch_at_ < all.size() && all[stretch_at_].gpu.start_ns <= start;
  }
  [[nodiscard]] bool may_reach_step(TimeNs start, TimeNs end) const {
    const auto& all = request_.stretches;
    return stretch_at_ < all.size() && start < end && all[stretch_at_].gpu.start_ns < end;
  }

  std::uint32_t row_of(GpuEventId id) {
    const GpuEvents& events = trace_.gpu_events;
    const OpId op = events.op[id];
    RowKey key{events.op_name[id], {}, events.name[id], places_.place_of(id), facts_.classes.of[id]};
    if (op.has_value()) key.operator_name = trace_.ops.name[op];
    if (op.has_value()) key.shapes = trace_.ops.shapes[op];
    const auto [at, is_new] = numbers_.try_emplace(key, static_cast<std::uint32_t>(rows_.size()));
    if (is_new) rows_.push_back({key, facts_.classes.tensor_cores_of(trace_, id)});
    return at->second;
  }

  // Costliest first; by name where they cost the same, so that ties do not depend on the order of the file.
  [[nodiscard]] bool is_before(std::uint32_t a, std::uint32_t b) const {
    const Row &left = rows_[a], &right = rows_[b];
    const auto numbers = [](const Row& row) { return std::tuple(-row.busy_ns, -row.gpu_sum_ns, -row.count); };
    if (numbers(left) != numbers(right)) return numbers(left) < numbers(right);
    const auto names = [&](const Row& row) {
      return std::tuple(trace_.text(row.key.kernel), trace_.text(row.key.operator_name), trace_.text(row.key.shapes),
                        row.key.kernel_class);
    };
    if (names(left) != names(right)) return names(left) < names(right);
    return places_.text(left.key.place) < places_.text(right.key.place);
  }

  [[nodiscard]] SummaryWork named_row(const Row& row) const {
    SummaryWork work;
    work.operator_name = trace_.text(row.key.operator_name);
    work.shapes = trace_.text(row.key.shapes);
    work.kernel = trace_.text(row.key.kernel);
    work.place = places_.text(row.key.place);
    work.kernel_class = row.key.kernel_class;
    work.tensor_cores = row.tensor_cores;
    return work;
  }

  [[nodiscard]] std::vector<std::uint32_t> costliest_first() const {
    std::vector<std::uint32_t> order(rows_.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::uint32_t>(i);
    std::sort(order.begin(), order.end(), [this](auto a, auto b) { return is_before(a, b); });
    return order;
  }

  // Makes the rows of the summary and says for each of rows_ which of them it goes to.
  std::vector<std::size_t> make_rows(std::vector<SummaryWork>& work) const {
    std::vector<std::size_t> slots(rows_.size(), kRest);
    for (const std::uint32_t row : costliest_first()) {
      if (work.size() == request_.most_rows) break;
      if (trace_.text(rows_[row].key.kernel).empty()) continue;
      slots[row] = work.size();
      work.push_back(named_row(rows_[row]));
    }
    for (std::size_t i = 0; i < kKernelClassCount; ++i) {
      const auto kernel_class = static_cast<KernelClass>(i);
      bool is_needed = false;
      for (std::size_t row = 0; row < rows_.size(); ++row) {
        if (slots[row] != kRest || rows_[row].key.kernel_class != kernel_class) continue;
        slots[row] = work.size();
        is_needed = true;
      }
      if (!is_needed) continue;
      work.emplace_back();
      work.back().kernel_class = kernel_class;
    }
    return slots;
  }

  [[nodiscard]] std::vector<SummaryWork> summarize() const {
    std::vector<SummaryWork> work;
    const std::vector<std::size_t> slots = make_rows(work);
    for (SummaryWork& row : work) row.busy_by_step_ns.assign(request_.kept_step_count, 0);
    for (std::size_t row = 0; row < rows_.size(); ++row) {
      work[slots[row]].count += rows_[row].count;
      add_bounded(work[slots[row]].gpu_sum_ns, rows_[row].gpu_sum_ns);
    }
    for (const Piece& piece : pieces_) {
      if (piece.step >= request_.kept_step_count) continue;
      work[slots[piece.row]].busy_by_step_ns[piece.step] += piece.length_ns;
    }
    return work;
  }

  static constexpr std::size_t kRest = std::numeric_limits<std::size_t>::max();
  const Trace& trace_;
  const Facts& facts_;
  const WorkRequest& request_;
  LaunchPlaces places_;
  BusyShare share_;
  std::size_t unrecorded_at_ = 0, stretch_at_ = 0;
  tsl::robin_map<RowKey, std::uint32_t, RowKeyHash> numbers_;
  std::vector<Row> rows_;
  std::vector<Piece> pieces_;
};

void add_row(SummaryWork& into, const SummaryWork& row) {
  into.count += row.count;
  add_bounded(into.gpu_sum_ns, row.gpu_sum_ns);
  for (std::size_t i = 0; i < row.busy_by_step_ns.size(); ++i) into.busy_by_step_ns[i] += row.busy_by_step_ns[i];
}

}  // namespace

void add_bounded(std::int64_t& sum, std::int64_t number) {
  if (__builtin_add_overflow(sum, number, &sum)) sum = std::numeric_limits<std::int64_t>::max();
}

void limit_work_rows(std::vector<SummaryWork>& work, std::size_t most_rows) {
  std::vector<SummaryWork> kept;
  std::array<SummaryWork, kKernelClassCount> rest;
  std::array<bool, kKernelClassCount> has_rest{};
  for (SummaryWork& row : work) {
    if (!row.kernel.empty() && kept.size() < most_rows) {
      kept.push_back(std::move(row));
      continue;
    }
    const auto at = static_cast<std::size_t>(row.kernel_class);
    if (!has_rest[at]) {
      rest[at].kernel_class = row.kernel_class;
      rest[at].busy_by_step_ns.assign(row.busy_by_step_ns.size(), 0);
      has_rest[at] = true;
    }
    add_row(rest[at], row);
  }
  for (std::size_t i = 0; i < kKernelClassCount; ++i) {
    if (has_rest[i]) kept.push_back(std::move(rest[i]));
  }
  work = std::move(kept);
}

std::vector<SummaryWork> compute_work_rows(const Trace& trace, const Facts& facts, const WorkRequest& request) {
  return WorkTable(trace, facts, request).build();
}

}  // namespace stepscope

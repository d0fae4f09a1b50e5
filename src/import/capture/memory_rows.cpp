// Sums by device over calls in order of time: see memory_rows.h.
#include "import/capture/memory_rows.h"

#include <tsl/robin_map.h>

#include <algorithm>
#include <map>
#include <optional>

#include "base/hash.h"
#include "trace/memory_counters.h"

namespace stepscope::capture_format {
namespace {

constexpr std::int32_t kCpu = 0;
constexpr std::int32_t kCuda = 1;
// No machine has so many; a damaged file must not cost a map for each number it holds.
constexpr std::size_t kMostDevices = 256;

std::int64_t add_wrapping(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
std::int64_t negated(std::int64_t a) {
  return static_cast<std::int64_t>(std::uint64_t{0} - static_cast<std::uint64_t>(a));
}

// What is allocated on one device.
class Live {
 public:
  void allocate(std::uint64_t address, std::int64_t bytes) {
    auto [at, is_new] = pieces_.try_emplace(address, bytes);
    if (!is_new) {  // its release was lost
      total_ = add_wrapping(total_, negated(at->second));
      at->second = bytes;
    }
    total_ = add_wrapping(total_, bytes);
  }
  // Bytes that it had; missing: it was not seen being allocated. A range that was mapped piece by piece may be given
  // back at once: `bytes` of it.
  std::optional<std::int64_t> release(std::uint64_t address, std::int64_t bytes) {
    auto at = pieces_.find(address);
    if (at == pieces_.end()) return std::nullopt;
    std::int64_t released = 0;
    const auto end = address + static_cast<std::uint64_t>(std::max<std::int64_t>(bytes, 1));
    while (at != pieces_.end() && at->first >= address && at->first < end) {
      released = add_wrapping(released, at->second);
      at = pieces_.erase(at);
    }
    total_ = add_wrapping(total_, negated(released));
    return released;
  }
  [[nodiscard]] bool has(std::uint64_t address) const { return pieces_.contains(address); }
  // Freed and never seen allocated: it was there before.
  void found_older(std::int64_t bytes) { older_ = add_wrapping(older_, bytes); }
  void begin_totals() {
    pieces_.clear();
    total_ = older_;
  }
  void release_older(std::int64_t bytes) { total_ = add_wrapping(total_, negated(bytes)); }
  [[nodiscard]] std::int64_t total() const { return total_; }

 private:
  std::map<std::uint64_t, std::int64_t> pieces_;
  std::int64_t total_ = 0, older_ = 0;
};

class Devices {
 public:
  // nullptr: more than there can be.
  Live* of(std::int32_t number) {
    if (const auto at = live_.find(number); at != live_.end()) return &at->second;
    return live_.size() < kMostDevices ? &live_[number] : nullptr;
  }
  // A release that does not say where.
  [[nodiscard]] std::int32_t device_of(std::uint64_t address) const {
    for (const auto& [number, live] : live_) {
      if (live.has(address)) return number;
    }
    return -1;
  }
  void begin_totals() {
    for (auto& [number, live] : live_) live.begin_totals();
  }

 private:
  std::map<std::int32_t, Live> live_;
};

// Device and bytes as found out, with the total after it.
struct Change {
  std::int32_t device;
  std::int64_t bytes;
  std::optional<std::int64_t> total;
};

Change apply(const WireMemory& record, Devices& devices, bool sums_totals) {
  Change change{record.device_number, record.bytes, std::nullopt};
  if (record.device_type == kCpu) return change;
  const bool is_release = record.bytes < 0 || (record.bytes == 0 && record.kind != WireMemoryKind::kUnknown);
  if (change.device < 0) change.device = devices.device_of(record.address);
  if (change.device < 0) return change;
  Live* const live = devices.of(change.device);
  if (live == nullptr) return change;
  if (!is_release) {
    live->allocate(record.address, record.bytes);
  } else if (const auto released = live->release(record.address, negated(record.bytes))) {
    change.bytes = negated(*released);
  } else if (sums_totals) {
    live->release_older(negated(record.bytes));
  } else {
    live->found_older(negated(record.bytes));
  }
  if (sums_totals) change.total = live->total();
  return change;
}

}  // namespace

void MemoryRows::find_threads(const Fragment& fragment) {
  thread_of_call_.assign(calls_.size(), ThreadId());
  tsl::robin_map<std::int64_t, ThreadId, MixedHash> threads;
  for (const auto& told : calls_) {
    if (told.record.correlation != 0) threads.try_emplace(std::int64_t{told.record.correlation}, ThreadId());
  }
  for (const CallId id : fragment.calls.ids().ids()) {
    const MaybeInt correlation = fragment.calls.correlation[id];
    if (!correlation.has_value()) continue;
    if (const auto at = threads.find(correlation.value()); at != threads.end()) at.value() = fragment.calls.thread[id];
  }
  for (std::size_t i = 0; i < calls_.size(); ++i) {
    if (calls_[i].record.correlation == 0) continue;
    thread_of_call_[i] = threads.find(std::int64_t{calls_[i].record.correlation})->second;
  }
}

void MemoryRows::add_calls(Fragment& fragment, const Conversions& convert) {
  std::stable_sort(calls_.begin(), calls_.end(),
                   [](const auto& a, const auto& b) { return a.record.time_ns < b.record.time_ns; });
  find_threads(fragment);
  Devices devices;
  for (const auto& told : calls_) (void)apply(told.record, devices, false);
  devices.begin_totals();
  const bool has_totals = !has_allocator_levels();
  for (std::size_t i = 0; i < calls_.size(); ++i) {
    const WireMemory& record = calls_[i].record;
    const Change change = apply(record, devices, true);
    MemoryEvents::Row row;
    row.time_ns = convert.time(record.time_ns);
    row.thread = thread_of_call_[i].has_value() ? thread_of_call_[i] : convert.thread(record.thread_id);
    row.address = static_cast<std::int64_t>(record.address);
    row.bytes = change.bytes;
    if (change.total && has_totals) row.total_allocated_bytes = row.total_reserved_bytes = *change.total;
    row.device_type = record.device_type;
    row.device_number = record.device_type == kCpu ? -1 : change.device;
    row.file_order = calls_[i].file_order;
    fragment.memory_events.push_back(row);
  }
}

bool MemoryRows::has_allocator_levels() const {
  return std::any_of(levels_.begin(), levels_.end(),
                     [](const auto& told) { return told.record.source == WireMemoryLevelSource::kPyTorch; });
}

void MemoryRows::add_levels(Fragment& fragment, const Conversions& convert) const {
  for (const auto& [level, file_order] : levels_) {
    if (level.source == WireMemoryLevelSource::kNvml) {
      add_counters(level, fragment, convert);
      continue;
    }
    MemoryEvents::Row row;
    row.thread = convert.thread(level.thread_id);
    row.bytes = 0;
    row.device_type = kCuda;
    row.device_number = level.device_number;
    row.file_order = file_order;
    row.time_ns = convert.time(level.time_ns) - 1;
    row.total_allocated_bytes = level.allocated_peak_bytes;
    row.total_reserved_bytes = level.reserved_peak_bytes;
    if (level.allocated_peak_bytes.has_value() || level.reserved_peak_bytes.has_value())
      fragment.memory_events.push_back(row);
    row.time_ns += 1;
    row.total_allocated_bytes = level.allocated_bytes;
    row.total_reserved_bytes = level.reserved_bytes;
    fragment.memory_events.push_back(row);
  }
}

void MemoryRows::add_counters(const WireMemoryLevel& level, Fragment& fragment, const Conversions& convert) const {
  const auto add = [&](const std::string& name, MaybeInt bytes) {
    if (!bytes.has_value()) return;
    Counters::Row row;
    row.time_ns = convert.time(level.time_ns);
    row.process_key = convert.process_key;
    row.name = fragment.strings.intern(name);
    row.series = fragment.strings.intern(kMemoryCounterSeries);
    row.value = static_cast<double>(bytes.value());
    fragment.counters.push_back(row);
  };
  add(process_memory_counter(level.device_number), level.process_bytes);
  add(device_memory_counter(level.device_number), level.device_used_bytes);
}

void MemoryRows::finish(Fragment& fragment, const Conversions& convert) {
  add_calls(fragment, convert);
  add_levels(fragment, convert);
}

}  // namespace stepscope::capture_format

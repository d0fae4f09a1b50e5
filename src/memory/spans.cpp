// Spans nest but may also cross (a thread's END among another's), so an END closes the latest open span of its name,
// and the innermost open span is the latest that is not closed. Amortized O(1) each, whatever a file makes of it.
#include "memory/spans.h"

#include <tsl/robin_map.h>

#include <algorithm>

#include "base/hash.h"

namespace stepscope {
namespace {

// PyTorch numbers devices in a signed byte. A file that names more is no recorder's, and each of its devices would walk
// all annotations.
constexpr std::uint32_t kMostDevices = 128;

class OpenSpans {
 public:
  explicit OpenSpans(const MemorySnapshot& snapshot) : snapshot_(snapshot) {}

  void apply(SnapshotAnnotationId annotation) {
    std::vector<SnapshotAnnotationId>& same = by_name_[snapshot_.annotations.name[annotation].value];
    if (snapshot_.annotations.is_start[annotation] != 0) {
      same.push_back(annotation);
      open_.push_back({annotation, false});
      place_[annotation.value] = open_.size() - 1;
    } else if (!same.empty()) {
      open_[place_[same.back().value]].is_closed = true;
      same.pop_back();
      while (!open_.empty() && open_.back().is_closed) open_.pop_back();
    }
  }
  [[nodiscard]] SnapshotAnnotationId innermost() const {
    return open_.empty() ? SnapshotAnnotationId{} : open_.back().annotation;
  }

 private:
  struct Open {
    SnapshotAnnotationId annotation;
    bool is_closed = false;
  };
  const MemorySnapshot& snapshot_;
  std::vector<Open> open_;
  tsl::robin_map<std::uint32_t, std::vector<SnapshotAnnotationId>, MixedHash> by_name_;
  tsl::robin_map<std::uint32_t, std::size_t, MixedHash> place_;  // in open_
};

}  // namespace

DeviceAnnotations::DeviceAnnotations(const MemorySnapshot& snapshot) {
  const std::vector<std::int64_t>& numbers = snapshot.devices.number.raw();  // in order
  own_.raw().resize(numbers.size());
  for (const SnapshotAnnotationId annotation : snapshot.annotations.ids().ids()) {
    if (!snapshot.annotations.time_us[annotation].has_value()) continue;
    all_.push_back(annotation);
    const std::int64_t number = snapshot.annotations.device_number[annotation];
    const auto at = std::ranges::lower_bound(numbers, number) - numbers.begin();
    const SnapshotDeviceId device(static_cast<std::size_t>(at));
    if (device.value < own_.size() && numbers[device.value] == number) own_[device].push_back(annotation);
  }
}

const std::vector<SnapshotAnnotationId>& DeviceAnnotations::of(SnapshotDeviceId device) const {
  const bool is_borrowing = own_[device].empty() && device.value < kMostDevices;
  return is_borrowing ? all_ : own_[device];
}

std::vector<std::size_t> find_annotation_moments(const MemorySnapshot& snapshot, SnapshotDeviceId device,
                                                 const std::vector<SnapshotAnnotationId>& annotations) {
  const IdRange<SnapshotEntryId> entries = snapshot.devices.entries[device];
  std::vector<std::size_t> moments;
  moments.reserve(annotations.size());
  std::uint32_t next = entries.begin;
  for (const SnapshotAnnotationId annotation : annotations) {
    const std::int64_t time = snapshot.annotations.time_us[annotation].value();
    while (next < entries.end && snapshot.entries.time_us[SnapshotEntryId(next)].value_or(time) <= time) ++next;
    moments.push_back(next - entries.begin);
  }
  return moments;
}

void assign_spans(const MemorySnapshot& snapshot, SnapshotDeviceId device,
                  const std::vector<SnapshotAnnotationId>& annotations, const std::vector<std::size_t>& moments,
                  IdRange<AllocationId> rows, Allocations& allocations) {
  if (annotations.empty()) return;
  const std::uint32_t first_entry = snapshot.devices.entries[device].begin;
  OpenSpans open(snapshot);
  std::size_t next = 0;
  for (const AllocationId row : rows.ids()) {
    const SnapshotEntryId made = allocations.alloc_entry[row];
    if (!made.has_value()) continue;
    while (next < annotations.size() && moments[next] <= made.value - first_entry) open.apply(annotations[next++]);
    allocations.span[row] = open.innermost();
  }
}

}  // namespace stepscope

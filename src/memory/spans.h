// Annotations as spans: which one an allocation was made in, and where steps begin.
//
// Annotations have a time and no place among the entries, so both are merged by time. One microsecond is coarse: an
// entry with the very time of an annotation counts as done before it, since an END is recorded after what it encloses.
#pragma once

#include <string>
#include <vector>

#include "memory/facts.h"

namespace stepscope {

// Annotations by the device that they name, in order of time; one look at all of them, however many devices there are.
class DeviceAnnotations {
 public:
  explicit DeviceAnnotations(const MemorySnapshot& snapshot);
  // The device's own annotations, or all where none names the device (a model on several devices is driven from one).
  [[nodiscard]] const std::vector<SnapshotAnnotationId>& of(SnapshotDeviceId device) const;

 private:
  std::vector<SnapshotAnnotationId> all_;
  Column<SnapshotDeviceId, std::vector<SnapshotAnnotationId>> own_;
};

// The moment of the device at which each of `annotations` happened: entries done until then.
[[nodiscard]] std::vector<std::size_t> find_annotation_moments(const MemorySnapshot& snapshot, SnapshotDeviceId device,
                                                               const std::vector<SnapshotAnnotationId>& annotations);

// Fills the span column of the device's rows.
void assign_spans(const MemorySnapshot& snapshot, SnapshotDeviceId device,
                  const std::vector<SnapshotAnnotationId>& annotations, const std::vector<std::size_t>& moments,
                  IdRange<AllocationId> rows, Allocations& allocations);

// Steps by the annotation called `wanted` ("step" also finds "step#3"), or by the best there is: see docs/memory.md.
// Without peaks.
[[nodiscard]] MemorySteps find_memory_steps(const MemorySnapshot& snapshot, SnapshotDeviceId device,
                                            const std::vector<SnapshotAnnotationId>& annotations,
                                            const std::vector<std::size_t>& moments, const std::string& wanted);

// Fills the peaks from the allocated level.
void measure_steps(const MemorySnapshot& snapshot, SnapshotDeviceId device, const std::vector<std::int64_t>& allocated,
                   MemorySteps& steps);

}  // namespace stepscope

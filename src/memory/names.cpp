// The words of the memory room, each spelled once: in outputs, JSON and docs they are these.
#include "memory/facts.h"
#include "memory/snapshot.h"

namespace stepscope {

std::string_view allocator_action_name(AllocatorAction action) {
  switch (action) {
    case AllocatorAction::kAlloc:
      return "alloc";
    case AllocatorAction::kFreeRequested:
      return "free_requested";
    case AllocatorAction::kFreeCompleted:
      return "free_completed";
    case AllocatorAction::kSegmentAlloc:
      return "segment_alloc";
    case AllocatorAction::kSegmentFree:
      return "segment_free";
    case AllocatorAction::kSegmentMap:
      return "segment_map";
    case AllocatorAction::kSegmentUnmap:
      return "segment_unmap";
    case AllocatorAction::kOom:
      return "oom";
    case AllocatorAction::kSnapshot:
      return "snapshot";
    case AllocatorAction::kAnnotate:
      return "user_defined";
    case AllocatorAction::kUnknown:
      break;
  }
  return "unknown";
}

std::string_view memory_category_name(MemoryCategory category) {
  switch (category) {
    case MemoryCategory::kParameter:
      return "parameter";
    case MemoryCategory::kOptimizerState:
      return "optimizer state";
    case MemoryCategory::kInput:
      return "input";
    case MemoryCategory::kTemporary:
      return "temporary";
    case MemoryCategory::kActivation:
      return "activation";
    case MemoryCategory::kGradient:
      return "gradient";
    case MemoryCategory::kAutogradDetail:
      return "autograd detail";
    case MemoryCategory::kUnknown:
      break;
  }
  return "unknown";
}

std::string_view memory_level_name(MemoryLevelKind kind) {
  switch (kind) {
    case MemoryLevelKind::kRequested:
      return "requested";
    case MemoryLevelKind::kAllocated:
      return "allocated";
    case MemoryLevelKind::kActive:
      return "active";
    case MemoryLevelKind::kReserved:
      return "reserved";
  }
  return "unknown";
}

}  // namespace stepscope

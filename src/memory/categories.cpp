// The history is cut into phases: a phase begins where an allocation's role is forward, backward or optimizer and the
// one before was another. An allocation is then judged by its role and by whether it outlived its phase.
#include "memory/categories.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "memory/stack_roles.h"

namespace stepscope {
namespace {

constexpr std::string_view kOptimizerSpan = "Optimizer.step#";
constexpr std::string_view kDataLoaderSpan = "enumerate(DataLoader)#";

struct Phase {
  SnapshotEntryId first;
  StackRole role = StackRole::kNone;  // of the first phase, before any is known
};

class Categories {
 public:
  Categories(const MemorySnapshot& snapshot, SnapshotDeviceId device, IdRange<AllocationId> rows,
             Allocations& allocations)
      : snapshot_(snapshot),
        rows_(rows),
        allocations_(allocations),
        stack_roles_(find_stack_roles(snapshot)),
        span_roles_(find_span_roles()),
        has_stacks_(has_python_stacks(device)) {}

  void run() {
    find_phases();
    for (const AllocationId row : rows_.ids()) judge(row);
  }

 private:
  [[nodiscard]] std::vector<StackRole> find_span_roles() const {
    std::vector<StackRole> roles;
    for (const SnapshotAnnotationId span : snapshot_.annotations.ids().ids()) {
      const std::string_view name = snapshot_.text(snapshot_.annotations.name[span]);
      roles.push_back(name.starts_with(kOptimizerSpan)    ? StackRole::kOptimizer
                      : name.starts_with(kDataLoaderSpan) ? StackRole::kDataLoader
                                                          : StackRole::kNone);
    }
    return roles;
  }

  // Were stacks recorded? Then an allocation without one was made by a thread without Python: the autograd engine.
  [[nodiscard]] bool has_python_stacks(SnapshotDeviceId device) const {
    for (const SnapshotEntryId entry : snapshot_.devices.entries[device].ids()) {
      if (snapshot_.entries.action[entry] == AllocatorAction::kAlloc && snapshot_.entries.stack[entry].has_value()) {
        return true;
      }
    }
    return false;
  }

  [[nodiscard]] StackRole role_of(AllocationId row) const {
    const SnapshotAnnotationId span = allocations_.span[row];
    if (span.has_value() && span_roles_[span.value] != StackRole::kNone) return span_roles_[span.value];
    const SnapshotEntryId made = allocations_.alloc_entry[row];
    if (made.has_value() && snapshot_.entries.forward_stack[made].has_value()) return StackRole::kBackward;
    const SnapshotStackId stack = allocations_.stack[row];
    if (stack.has_value()) return stack_roles_[stack];
    return has_stacks_ && made.has_value() ? StackRole::kBackward : StackRole::kNone;
  }

  void find_phases() {
    phases_.push_back({});
    for (const AllocationId row : rows_.ids()) {
      const SnapshotEntryId made = allocations_.alloc_entry[row];
      if (!made.has_value()) continue;
      const StackRole role = role_of(row);
      const bool makes_phase =
          role == StackRole::kForward || role == StackRole::kBackward || role == StackRole::kOptimizer;
      if (makes_phase && phases_.back().role != role) phases_.push_back({made, role});
    }
  }

  // The number of the phase in which an entry lies.
  [[nodiscard]] std::size_t phase_of(SnapshotEntryId entry) const {
    const auto after =
        std::upper_bound(phases_.begin() + 1, phases_.end(), entry,
                         [](SnapshotEntryId wanted, const Phase& phase) { return wanted.value < phase.first.value; });
    return static_cast<std::size_t>(after - phases_.begin()) - 1;
  }

  // When the program let go of it; never: after all phases.
  [[nodiscard]] std::size_t last_phase(AllocationId row) const {
    SnapshotEntryId gone = allocations_.free_requested_entry[row];
    if (!gone.has_value()) gone = allocations_.free_completed_entry[row];
    return gone.has_value() ? phase_of(gone) : std::numeric_limits<std::size_t>::max();
  }

  void judge(AllocationId row) {
    const SnapshotEntryId made = allocations_.alloc_entry[row];
    MemoryCategory category = made.has_value() ? snapshot_.entries.category[made] : MemoryCategory::kUnknown;
    CategorySource source = CategorySource::kRecorded;
    if (category == MemoryCategory::kUnknown) {
      category = made.has_value() ? infer(row, made) : infer_older(row);
      source = category == MemoryCategory::kUnknown ? CategorySource::kNone : CategorySource::kInferred;
    }
    allocations_.category[row] = category;
    allocations_.category_source[row] = source;
  }

  [[nodiscard]] MemoryCategory infer(AllocationId row, SnapshotEntryId made) const {
    const std::size_t first = phase_of(made);
    const std::size_t last = last_phase(row);
    const bool is_brief = last == first;
    switch (role_of(row)) {
      case StackRole::kOptimizer:
        return is_brief ? MemoryCategory::kTemporary : MemoryCategory::kOptimizerState;
      case StackRole::kBackward:
        return is_brief ? MemoryCategory::kAutogradDetail : MemoryCategory::kGradient;
      case StackRole::kForward:
        return is_brief ? MemoryCategory::kTemporary : MemoryCategory::kActivation;
      case StackRole::kDataLoader:
        return MemoryCategory::kInput;
      case StackRole::kBuild:
        return is_forever(last) ? MemoryCategory::kParameter : MemoryCategory::kUnknown;
      case StackRole::kCommunication:
        return is_brief ? MemoryCategory::kTemporary : MemoryCategory::kUnknown;
      case StackRole::kUser:
        return infer_of_user(first, last);
      case StackRole::kLibrary:
      case StackRole::kNone:
        break;
    }
    return MemoryCategory::kUnknown;
  }

  // Made by a line of the loop itself: between steps it is what the step works on; within forward (a loss written out)
  // it is forward's.
  [[nodiscard]] MemoryCategory infer_of_user(std::size_t first, std::size_t last) const {
    if (is_forever(last)) return MemoryCategory::kUnknown;
    if (phases_[first].role == StackRole::kForward) {
      return last == first ? MemoryCategory::kTemporary : MemoryCategory::kActivation;
    }
    return last == first ? MemoryCategory::kTemporary : MemoryCategory::kInput;
  }

  // Older than the history. What is never freed in it is a parameter, unless its block's stack says otherwise; what
  // backward frees was an activation.
  [[nodiscard]] MemoryCategory infer_older(AllocationId row) const {
    const std::size_t last = last_phase(row);
    switch (role_of(row)) {
      case StackRole::kOptimizer:
        return MemoryCategory::kOptimizerState;
      case StackRole::kBackward:
        return MemoryCategory::kGradient;
      case StackRole::kForward:
        return MemoryCategory::kActivation;
      case StackRole::kDataLoader:
        return MemoryCategory::kInput;
      case StackRole::kBuild:
        return MemoryCategory::kParameter;
      case StackRole::kNone:
        if (is_forever(last)) return MemoryCategory::kParameter;
        return phases_[last].role == StackRole::kBackward ? MemoryCategory::kActivation : MemoryCategory::kUnknown;
      default:
        return MemoryCategory::kUnknown;
    }
  }

  [[nodiscard]] static bool is_forever(std::size_t last_phase) {
    return last_phase == std::numeric_limits<std::size_t>::max();
  }

  const MemorySnapshot& snapshot_;
  const IdRange<AllocationId> rows_;
  Allocations& allocations_;
  const Column<SnapshotStackId, StackRole> stack_roles_;
  const std::vector<StackRole> span_roles_;  // by annotation
  const bool has_stacks_;
  std::vector<Phase> phases_;  // the first is what lies before any
};

}  // namespace

void infer_categories(const MemorySnapshot& snapshot, SnapshotDeviceId device, IdRange<AllocationId> rows,
                      Allocations& allocations) {
  Categories(snapshot, device, rows, allocations).run();
}

}  // namespace stepscope

// What several memory rules say alike: sizes as allocators count them, places in the program, settings to type.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rules/memory_rules.h"

namespace stepscope {

// "1.5 GiB", "12.0 MiB": powers of 1024, as torch.cuda.memory_summary prints them; three figures.
[[nodiscard]] std::string format_memory(std::int64_t bytes);
// "#1234", and " (2.31 s)" when the entries have times: seconds since the device's first entry.
[[nodiscard]] std::string describe_event(const MemoryRuleInput& input, std::size_t event);
// "train.py:41 forward": the user's line of a stack, without folders; or that there is none.
[[nodiscard]] std::string describe_place(const MemoryRuleInput& input, SnapshotStackId stack);
// The last component of the path in "DIR/train.py:41 forward".
[[nodiscard]] std::string without_folders(const std::string& line);

// "the tensors of model.py:120 forward", or of what has no line: "the tensors without recorded frames".
[[nodiscard]] std::string tensors_of(const std::string& line);

// "1.2 GiB of model.py:120 forward, 300 MiB of loss.py:8 step": at most `most`.
[[nodiscard]] std::string list_lines(const std::vector<LiveGroup>& lines, std::size_t most);

[[nodiscard]] std::string times_words(std::int64_t count);  // "once", "3 times"

// kUnknown where nothing decided it.
[[nodiscard]] MemoryCategory category_of(const Allocations& allocations, AllocationId id);

// The setting that holds least among those that serve every request, or one with fewer options that holds little more;
// null if none was run or none does.
[[nodiscard]] const AllocatorWhatIf* best_setting(const MemoryRuleInput& input);
// "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True".
[[nodiscard]] std::string setting_to_type(const AllocatorWhatIf& what_if);

}  // namespace stepscope

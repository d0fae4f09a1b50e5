// The ranks of a process group, from the text that profilers write.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace stepscope {

// More ranks than any machine has GPUs; a longer list is taken for damage.
inline constexpr std::size_t kMostListedRanks = std::size_t{1} << 20;

// "[0, 1, 2]" -> 0, 1, 2, ascending. Empty when the text is none of a whole list: torch cuts those of more than 30
// ("[0, 1, ..., 63]").
[[nodiscard]] std::vector<std::int64_t> read_group_ranks(std::string_view json);

// 0, 1, 2 -> "[0, 1, 2]"
[[nodiscard]] std::string write_group_ranks(const std::vector<std::int64_t>& ranks);

}  // namespace stepscope

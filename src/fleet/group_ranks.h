// The ranks of a process group, from the text that profilers write.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace stepscope {

// "[0, 1, 2]" -> 0, 1, 2, ascending. Empty when the text is none of a whole list: torch cuts long ones ("[0, 1, ...").
[[nodiscard]] std::vector<std::int64_t> read_group_ranks(std::string_view json);

}  // namespace stepscope

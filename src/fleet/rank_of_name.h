// The rank that a file's name says, for recordings that do not carry their own.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace stepscope {

// "rank3", "rank_3", "Rank-03" in the file's name or, if that says none, in the folder's; not inside a longer word
// ("lowrank16"), and not a rank within one machine ("local_rank3").
[[nodiscard]] std::optional<std::int64_t> rank_of_name(std::string_view path);

}  // namespace stepscope

// Reads the arguments that a profiler recorded for an operator, from the JSON text that the trace keeps.
//
// `Input Dims` is a list with one entry an argument: a tensor's sizes, [] for what is no tensor (and for a tensor
// of no dimensions), or a list of such entries for a list of tensors. `Concrete Inputs` and `Input type` are lists
// of strings. The text comes from files, so anything may stand there: these readers accept exactly this grammar
// and otherwise say "nothing". A general JSON reader was rejected: it would bring a dependency into a room
// of arithmetic, to parse a few hundred distinct short texts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stepscope {

using Sizes = std::vector<std::int64_t>;

struct ArgumentSizes {
  Sizes sizes;               // of a tensor; empty for scalars, missing tensors and lists
  std::vector<Sizes> items;  // of a list of tensors; empty for everything else
};

// Missing when the text is no such list, holds a negative size or more than 100,000 numbers and lists (an
// operator has a few; a foreach operator of a large model some thousands).
[[nodiscard]] std::optional<std::vector<ArgumentSizes>> parse_argument_sizes(std::string_view text);

// ["", "[2, 2]", "1"]. Missing when the text is no list of strings.
[[nodiscard]] std::optional<std::vector<std::string>> parse_argument_texts(std::string_view text);

// "[2, 2]" or "2". Missing when it is neither.
[[nodiscard]] std::optional<std::vector<std::int64_t>> parse_integers(std::string_view text);

// "True" or "[True, False]" (also true, false). Missing when it is neither.
[[nodiscard]] std::optional<std::vector<bool>> parse_booleans(std::string_view text);

// The text that PyTorch's tables show: [[32, 3], []], with [] for a list of tensors. "[]" when nothing was recorded,
// and for text that cannot be read.
[[nodiscard]] std::string torch_shapes_text(std::string_view input_dims);

}  // namespace stepscope

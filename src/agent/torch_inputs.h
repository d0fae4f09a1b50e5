// What an operator was called with, as text in the words of PyTorch's own traces.
#pragma once

#include <string>

#include "agent/torch_layout.h"

namespace stepscope::agent {

// Three lines of JSON: `Input Dims` ([[64, 128], [], [[3], [4]]]), `Input type` (["float", "Scalar", "TensorList"]) and
// `Concrete Inputs` (["", "1", "[1, 1]"]). Empty when the record has no inputs or the layout has no shapes.
// Call it inside the start callback of a record: the inputs are gone afterwards.
void describe_inputs(const TorchRecord& record, const TorchLayout& layout, std::string& text);

}  // namespace stepscope::agent

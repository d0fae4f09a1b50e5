// Sentences about steps that Stepscope itself stopped; the same in each output.
#pragma once

#include <string>
#include <vector>

#include "analyze/steps.h"

namespace stepscope {

// One sentence a cause, without a full stop: "1 step left out: Stepscope wrote a memory snapshot in it (#40)".
[[nodiscard]] std::vector<std::string> disturbed_words(const std::vector<DisturbedStep>& steps);

}  // namespace stepscope

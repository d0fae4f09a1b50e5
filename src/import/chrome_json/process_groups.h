// The process groups that a file of torch.distributed lists: their ranks and what they are for, which the arguments of
// a collective say in part only.
#pragma once

#include <vector>

#include "import/chrome_json/tokens.h"
#include "trace/trace.h"

namespace stepscope::chrome_json {

// Takes the value of `pg_config`: a list of objects, or a string that holds one. What cannot be is noted and taken for
// unknown; no value makes it fail.
void take_process_groups(Token value, std::vector<ProcessGroup>& groups, Notes& notes);

}  // namespace stepscope::chrome_json

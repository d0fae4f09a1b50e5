// What stands beside the list of events: the device, the rank, the recording's options.
#pragma once

#include <string_view>

#include "import/chrome_json/tokens.h"
#include "trace/builder.h"

namespace stepscope::chrome_json {

// Takes one member of the top-level object. Unknown keys are ignored.
void take_document_field(std::string_view key, Token value, Builder& builder);

}  // namespace stepscope::chrome_json

// What stands beside the list of events: the device, the rank, the recording's options.
#pragma once

#include <string>
#include <string_view>

#include "import/chrome_json/tokens.h"
#include "trace/builder.h"

namespace stepscope::chrome_json {

// The text of a string, its escapes decoded, or of a number or word as it stands; empty for what is no text.
[[nodiscard]] std::string text_of(Token token);

// Takes one member of the top-level object. Unknown keys are ignored. `carried` gets the notes of the recording from
// which a file of ours was converted.
void take_document_field(std::string_view key, Token value, Builder& builder, Notes& carried);

// The notes of a converted file: what was wrong with its source, and what is wrong with itself. What the source's
// damage left in the rows is found again when they are read (duplicates, unknown categories): it counts once.
[[nodiscard]] Notes join_notes(const Notes& carried, const Notes& found);

}  // namespace stepscope::chrome_json

// Are two traces the same? Every column of every table, strings by their text, and what is known of the recording.
#pragma once

#include <string>

#include "trace/trace.h"

namespace stepscope {

// Empty when they are; else where they differ first: "ops.shapes[17]: [[2, 3]] / [[2, 4]]". Left out: the places of
// rows in their files (file_order), and the file's own path, size and number of metadata events.
[[nodiscard]] std::string find_difference(const Trace& a, const Trace& b);
// The tables and the recording's facts alone, without notes and the importer's name: for a trace that no importer made.
[[nodiscard]] std::string find_table_difference(const Trace& a, const Trace& b);

}  // namespace stepscope

// Names that the writer of a trace's tables (src/export) and their reader (src/import) share.
#pragma once

#include <string_view>

namespace stepscope::wire {

// What is about the trace as a whole: rows of a key and its text or number, see export/capture_trace.cpp.
inline constexpr std::string_view kTraceInfoTable = "trace_info";
// What was wrong with the trace as it was read: kind, severity, count, first_offset, example.
inline constexpr std::string_view kNotesTable = "notes";
// Columns that linking computes anew begin their description so, and are not written.
inline constexpr std::string_view kLinkedColumn = "linked:";

}  // namespace stepscope::wire

// The tables of a trace as comma-separated values: every column of the model, for pandas, DuckDB or a spreadsheet.
//
// The columns are those that the model declares, so a new one appears here by itself. The first is `row`; a column that
// names another table's row (`thread`, `op`, `call`) has its number, which is what joins are made of. Missing is an
// empty field. RFC 4180: fields with commas, quotes or line breaks are quoted. docs/formats/csv.md.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "export/text_sink.h"
#include "trace/trace.h"

namespace stepscope {

// "ops", "gpu_events", ... in the order of the model.
[[nodiscard]] std::vector<std::string_view> csv_table_names();
// Error kNotFound for a name that is none.
[[nodiscard]] Status write_csv_table(const Trace& trace, std::string_view table, const TextSink& sink);

}  // namespace stepscope

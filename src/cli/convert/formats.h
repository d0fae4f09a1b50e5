// The formats that `stepscope convert` writes, as a list: name, endings of file names, writer.
//
// A new format is one row here and one writer in its room.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "export/text_sink.h"
#include "trace/trace.h"

namespace stepscope {

struct ConvertRequest {
  std::string source;                  // name of the file read, for titles
  std::optional<std::int64_t> device;  // of memory timelines
  std::string steps_name;              // span that is a step, of the table of steps
};

struct ConvertFormat {
  std::string_view name;     // as --to has it
  std::string_view endings;  // of file names, separated by spaces; each also with .gz
  std::string_view help;
  Status (*write)(const Trace& trace, const ConvertRequest& request, const TextSink& sink);
};
[[nodiscard]] std::span<const ConvertFormat> convert_formats();
// By name; by the longest ending that the path has. Null for none.
[[nodiscard]] const ConvertFormat* find_format(std::string_view name);
[[nodiscard]] const ConvertFormat* format_of_path(std::string_view path);

// Tables as CSV: those of the model (export/csv_tables.h), and `operators`, `kernels`, `steps` as the commands have
// them.
[[nodiscard]] std::vector<std::string_view> csv_tables();
[[nodiscard]] Status write_csv(const Trace& trace, std::string_view table, const ConvertRequest& request,
                               const TextSink& sink);

}  // namespace stepscope

// Fields keep their characters, line breaks and control characters too, as docs/formats/csv.md promises and as the
// tables of `convert` have them; names were cleaned as for a terminal at first, and a join with those tables lost rows.
// Only what no reader of UTF-8 takes is replaced: broken sequences, and NUL.
#include "report/csv.h"

#include <string_view>

#include "export/json_text.h"

namespace stepscope {
namespace {

std::string csv_field(const std::string& raw) {
  std::string field;
  append_valid_utf8(raw, field);
  constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
  for (std::size_t at = field.find('\0'); at != std::string::npos; at = field.find('\0', at)) {
    field.replace(at, 1, kReplacement);
  }
  if (field.find_first_of(",\"\r\n") == std::string::npos) return field;
  std::string out = "\"";
  for (const char c : field) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + '"';
}

}  // namespace

std::string csv_row(const std::vector<std::string>& fields) {
  std::string row;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (i > 0) row += ',';
    row += csv_field(fields[i]);
  }
  return row + '\n';
}

}  // namespace stepscope

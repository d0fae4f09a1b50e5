// Names are cleaned of control characters first, so a field never spans lines.
#include "report/csv.h"

#include "report/text.h"

namespace stepscope {
namespace {

std::string csv_field(const std::string& raw) {
  std::string field = clean_text(raw);
  if (field.find_first_of(",\"") == std::string::npos) return field;
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

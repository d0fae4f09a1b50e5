// The container of a page's tables.
#include "report/html/page_container.h"

#include "report/html/page_data.h"

namespace stepscope {

std::string write_page_container(const nlohmann::ordered_json& head, const std::vector<PageTable>& tables) {
  nlohmann::ordered_json directory = {{"format", "stepscope-page"}, {"version", kPageFormatVersion}};
  directory.update(head);
  std::size_t offset = 0;
  for (const PageTable& table : tables) {
    nlohmann::ordered_json columns = nlohmann::ordered_json::object();
    for (const auto& column : table.columns()) {
      columns[column.name] = {column.encoding, offset, column.bytes.size()};
      offset += column.bytes.size();
    }
    directory["tables"][table.name()] = {{"rows", table.row_count()}, {"columns", std::move(columns)}};
  }
  const std::string text = directory.dump();
  std::string bytes;
  bytes.reserve(4 + text.size() + offset);
  for (unsigned shift = 0; shift < 32; shift += 8) bytes += static_cast<char>(text.size() >> shift & 255);
  bytes += text;
  for (const PageTable& table : tables) {
    for (const auto& column : table.columns()) bytes += column.bytes;
  }
  return bytes;
}

}  // namespace stepscope

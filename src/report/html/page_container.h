// Tables of a page as one piece: the length of a directory in JSON, the directory, then the bytes of all columns.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "report/html/page_columns.h"

namespace stepscope {

// `head`: what the directory says beside its tables; format and version are added.
[[nodiscard]] std::string write_page_container(const nlohmann::ordered_json& head,
                                               const std::vector<PageTable>& tables);

}  // namespace stepscope

// One row of comma-separated values as RFC 4180 has them: quoted where needed (commas, quotes, line breaks), quotes
// doubled; valid UTF-8.
#pragma once

#include <string>
#include <vector>

namespace stepscope {

[[nodiscard]] std::string csv_row(const std::vector<std::string>& fields);

}  // namespace stepscope

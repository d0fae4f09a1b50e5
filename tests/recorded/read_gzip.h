// A whole file of tests/data, unpacked.
#pragma once

#include <string>

namespace stepscope {

// Fails the test and returns nothing when the file cannot be opened.
[[nodiscard]] std::string read_gzip(const std::string& path);

}  // namespace stepscope

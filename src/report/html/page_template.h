// The page without data, as web/ builds it; its bytes are put into the program by cmake/page.cmake.
#pragma once

#include <string_view>

namespace stepscope {

[[nodiscard]] std::string_view page_template();

}  // namespace stepscope

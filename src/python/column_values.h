// A column as a list of Python's own objects, for those who have no data frame at hand.
#pragma once

#include <nanobind/nanobind.h>

#include "export/arrow_table.h"

namespace stepscope::python {

// int, float, str or None a row; each word of a dictionary is made once.
[[nodiscard]] nanobind::list column_values(const ArrowColumn& column);

}  // namespace stepscope::python

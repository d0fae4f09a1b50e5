// Which cells of a table chunk hold a column of the trace model: one answer for the writer and the reader, which have
// to agree. A row id of any table is kRow; so is every type that is none of the others.
#pragma once

#include <type_traits>

#include "base/id.h"
#include "base/string_pool.h"
#include "wire/table.h"

namespace stepscope::wire {

template <class T>
constexpr CellType cell_type_of() {
  if constexpr (std::is_same_v<T, MaybeInt>) {
    return CellType::kMaybeInteger;
  } else if constexpr (std::is_same_v<T, StringId>) {
    return CellType::kString;
  } else if constexpr (std::is_floating_point_v<T>) {
    return CellType::kReal;
  } else if constexpr (std::is_integral_v<T> || std::is_enum_v<T>) {
    return CellType::kInteger;
  } else {
    return CellType::kRow;
  }
}

}  // namespace stepscope::wire

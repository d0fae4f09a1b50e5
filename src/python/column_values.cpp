// By Arrow's format letter, as any other receiver would read it.
#include "python/column_values.h"

#include <vector>

namespace nb = nanobind;

namespace stepscope::python {
namespace {

bool is_null(const ArrowColumn& column, std::int64_t row) {
  if (column.validity == nullptr) return false;
  const auto* bits = static_cast<const std::uint8_t*>(column.validity);
  return (bits[row / 8] >> (row % 8) & 1) == 0;
}

template <class Offset>
nb::object text_at(const ArrowColumn& column, std::int64_t row) {
  const auto* offsets = static_cast<const Offset*>(column.values);
  const auto* text = static_cast<const char*>(column.text);
  return nb::str(text + offsets[row], static_cast<std::size_t>(offsets[row + 1] - offsets[row]));
}

template <class T>
T number_at(const ArrowColumn& column, std::int64_t row) {
  return static_cast<const T*>(column.values)[row];
}

std::uint64_t index_at(const ArrowColumn& column, std::int64_t row) {
  return column.format == "C" ? number_at<std::uint8_t>(column, row) : number_at<std::uint32_t>(column, row);
}

nb::object value_at(const ArrowColumn& column, std::int64_t row) {
  switch (column.format.front()) {
    case 'u':
      return text_at<std::int32_t>(column, row);
    case 'U':
      return text_at<std::int64_t>(column, row);
    case 'g':
      return nb::float_(number_at<double>(column, row));
    case 'l':
      return nb::int_(number_at<std::int64_t>(column, row));
    case 'L':
      return nb::int_(number_at<std::uint64_t>(column, row));
    case 'i':
      return nb::int_(number_at<std::int32_t>(column, row));
    case 'I':
      return nb::int_(number_at<std::uint32_t>(column, row));
    case 's':
      return nb::int_(number_at<std::int16_t>(column, row));
    default:
      return nb::int_(static_cast<int>(number_at<std::uint8_t>(column, row)));
  }
}

}  // namespace

nb::list column_values(const ArrowColumn& column) {
  std::vector<nb::object> words(column.dictionary != nullptr ? static_cast<std::size_t>(column.dictionary->length) : 0);
  nb::list values;
  for (std::int64_t row = 0; row < column.length; ++row) {
    if (is_null(column, row)) {
      values.append(nb::none());
    } else if (column.dictionary == nullptr) {
      values.append(value_at(column, row));
    } else {
      const std::uint64_t index = index_at(column, row);
      nb::object& word = words[index];
      if (!word.is_valid()) word = value_at(*column.dictionary, static_cast<std::int64_t>(index));
      values.append(word);
    }
  }
  return values;
}

}  // namespace stepscope::python

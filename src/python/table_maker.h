// A table for Python from rows of any kind: a column is its name, what it means, and how a row gives its cell.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "export/arrow_table.h"
#include "export/json_text.h"

namespace stepscope::python {

using TablePointer = std::shared_ptr<const ArrowTable>;

// A number that is not known: a null of the table.
inline constexpr std::int64_t kMissing = std::numeric_limits<std::int64_t>::min();

// Distinct words of a column, numbered as they come; 0 is the empty word. Each is there once as valid UTF-8: pandas
// refuses a dictionary that says a word twice.
class Words {
 public:
  std::uint32_t find(std::string_view word) {
    std::string valid;
    append_valid_utf8(word, valid);
    const auto [at, is_new] = numbers_.try_emplace(valid, static_cast<std::uint32_t>(words_.size()));
    if (is_new) words_.push_back(std::move(valid));
    return at->second;
  }
  [[nodiscard]] std::shared_ptr<const ArrowColumn> column() const {
    const std::vector<std::string_view> views(words_.begin(), words_.end());
    return std::make_shared<const ArrowColumn>(own_text("", "", views));
  }

 private:
  std::vector<std::string> words_ = {""};
  std::unordered_map<std::string, std::uint32_t> numbers_ = {{"", 0}};
};

class TableMaker {
 public:
  void numbers(std::string name, std::string doc, std::vector<std::int64_t> values) {
    auto kept = std::make_shared<const std::vector<std::int64_t>>(std::move(values));
    const std::span<const std::int64_t> view(*kept);
    table_.columns.push_back(
        view_numbers_or_null<std::int64_t>(std::move(name), std::move(doc), view, kMissing, std::move(kept)));
  }
  void texts(std::string name, std::string doc, const std::vector<std::string_view>& values) {
    table_.columns.push_back(own_text(std::move(name), std::move(doc), values));
  }
  // Text that repeats: numbers into `dictionary`.
  void words(std::string name, std::string doc, std::vector<std::uint32_t> indexes,
             std::shared_ptr<const ArrowColumn> dictionary) {
    auto kept = std::make_shared<const std::vector<std::uint32_t>>(std::move(indexes));
    const std::span<const std::uint32_t> view(*kept);
    table_.columns.push_back(
        view_words<std::uint32_t>(std::move(name), std::move(doc), view, std::move(dictionary), std::move(kept)));
  }
  // One cell of each row.
  template <class Rows, class Get>
  void numbers_of(std::string name, std::string doc, const Rows& rows, Get get) {
    std::vector<std::int64_t> values;
    values.reserve(rows.size());
    for (const auto& row : rows) values.push_back(get(row));
    numbers(std::move(name), std::move(doc), std::move(values));
  }
  template <class Rows, class Get>
  void texts_of(std::string name, std::string doc, const Rows& rows, Get get) {
    std::vector<std::string_view> values;
    values.reserve(rows.size());
    for (const auto& row : rows) values.push_back(get(row));
    texts(std::move(name), std::move(doc), values);
  }
  template <class Rows, class Get>
  void words_of(std::string name, std::string doc, const Rows& rows, std::shared_ptr<const ArrowColumn> dictionary,
                Get get) {
    std::vector<std::uint32_t> indexes;
    indexes.reserve(rows.size());
    for (const auto& row : rows) indexes.push_back(get(row));
    words(std::move(name), std::move(doc), std::move(indexes), std::move(dictionary));
  }
  [[nodiscard]] TablePointer take() { return std::make_shared<const ArrowTable>(std::move(table_)); }

 private:
  ArrowTable table_;
};

}  // namespace stepscope::python

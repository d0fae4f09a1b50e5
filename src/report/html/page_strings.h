// The texts of a page, each once and each safe: valid UTF-8, no control characters, of bounded length.
//
// A trace holds names of any bytes and any length (10 MB were seen in a damaged one). What is longer than a page can
// show is cut, and says so with the length it had.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "report/html/page_columns.h"
#include "trace/trace.h"

namespace stepscope {

// Clean text of at most about kMostPageTextBytes; what is longer ends in "… (10,485,760 bytes)".
[[nodiscard]] std::string page_text(std::string_view raw);

// The longest kernel names of recorded traces (nested templates of CUTLASS) have 3,000 bytes.
inline constexpr std::size_t kMostPageTextBytes = 4096;

class PageStrings {
 public:
  explicit PageStrings(const Trace& trace) : trace_(trace), number_(trace.strings.size(), 0) { texts_.emplace_back(); }

  // Row of the text in the page's table of strings; 0 is the empty text.
  [[nodiscard]] std::uint32_t number(StringId id) {
    if (id.empty()) return 0;
    std::uint32_t& number = number_[id.value];
    if (number == 0) {
      number = static_cast<std::uint32_t>(texts_.size());
      texts_.push_back(page_text(trace_.text(id)));
    }
    return number;
  }
  [[nodiscard]] PageTable table() const {
    PageTable table("strings", texts_.size());
    table.add_text("text", [&](std::size_t i) -> std::string_view { return texts_[i]; });
    return table;
  }

 private:
  const Trace& trace_;
  std::vector<std::uint32_t> number_;  // by StringId::value; 0: not used yet
  std::vector<std::string> texts_;
};

// The same for texts that no trace holds.
class PageTexts {
 public:
  PageTexts() { texts_.emplace_back(); }
  [[nodiscard]] std::uint32_t number(std::string_view text);
  [[nodiscard]] PageTable table() const {
    PageTable table("strings", texts_.size());
    table.add_text("text", [&](std::size_t i) -> std::string_view { return texts_[i]; });
    return table;
  }

 private:
  std::unordered_map<std::string, std::uint32_t> number_;
  std::vector<std::string> texts_;
};

}  // namespace stepscope

// Causes are few: names that the agent gives. A file from elsewhere may give any, so they are cleaned and bounded here.
#include "report/disturbed_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "report/numbers.h"
#include "report/text.h"
#include "rules/wording.h"

namespace stepscope {
namespace {

constexpr std::size_t kMostCauses = 4;
constexpr std::size_t kMostNumbers = 8;

}  // namespace

std::vector<std::string> disturbed_words(const std::vector<DisturbedStep>& steps) {
  std::vector<std::pair<std::string, std::vector<std::int64_t>>> causes;  // in order of appearance
  for (const DisturbedStep& each : steps) {
    auto known =
        std::find_if(causes.begin(), causes.end(), [&](const auto& cause) { return cause.first == each.cause; });
    if (known == causes.end()) {
      // What is one too many joins the last.
      if (causes.size() < kMostCauses) causes.push_back({each.cause, {}});
      known = causes.end() - 1;
    }
    known->second.push_back(each.step.number);
  }
  std::vector<std::string> sentences;
  for (const auto& [cause, numbers] : causes) {
    std::string list;
    for (std::size_t i = 0; i < std::min(kMostNumbers, numbers.size()); ++i) {
      list += fmt::format("{}#{}", list.empty() ? "" : ", ", numbers[i]);
    }
    if (numbers.size() > kMostNumbers) list += ", …";
    sentences.push_back(fmt::format("{} left out: {} in {} ({})",
                                    show_counted(static_cast<std::int64_t>(numbers.size()), "step"),
                                    clean_text(shortened(cause, 80)), numbers.size() == 1 ? "it" : "them", list));
  }
  return sentences;
}

}  // namespace stepscope

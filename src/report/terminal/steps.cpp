// The steps one by one, while they are few; many are left to `stepscope steps`.
#include <fmt/format.h>

#include <algorithm>

#include "report/disturbed_words.h"
#include "report/missing_words.h"
#include "report/numbers.h"
#include "report/terminal/sections.h"

namespace stepscope {
namespace {

// More than this is a table, and `stepscope steps` prints it.
constexpr std::size_t kMostStepsInline = 12;

std::string left_out_words(const Steps& steps) {
  if (steps.left_out.empty()) return "";
  std::string text = "left out, not recorded whole:";
  constexpr std::size_t kMostNamed = 8;
  for (std::size_t i = 0; i < std::min(kMostNamed, steps.left_out.size()); ++i) {
    text += fmt::format(" {}", steps.left_out[i]);
  }
  if (steps.left_out.size() > kMostNamed) text += " …";
  return text;
}

std::string few_steps_words(const Steps& steps, const DurationFormat& format) {
  std::string text;
  for (const Step& step : steps.steps) {
    text += fmt::format("{}#{} {}", text.empty() ? "" : ", ", step.number, format.number(step.duration_ns()));
  }
  return text + " " + format.unit;
}

std::string many_steps_words(const Steps& steps, const DurationFormat& format) {
  const auto longest = std::max_element(steps.steps.begin(), steps.steps.end(),
                                        [](const Step& a, const Step& b) { return a.duration_ns() < b.duration_ns(); });
  return fmt::format("{}: median {}, p10 {}, p90 {}, longest {} {} (#{})",
                     show_counted(static_cast<std::int64_t>(steps.steps.size()), "step"),
                     format.number(*steps.median_ns), format.number(steps.p10_ns.value_or(0)),
                     format.number(steps.p90_ns.value_or(0)), format.number(longest->duration_ns()), format.unit,
                     longest->number);
}

}  // namespace

void add_steps(const Report& report, Page& page) {
  const Steps& steps = report.steps;
  if (steps.steps.empty() || !steps.median_ns || !report.has_headline()) return;
  page.blank();
  Line title = page.line();
  page.add(title.add("Steps", Ink::kBold).add(", from " + steps.source_detail, Ink::kDim));
  const auto format = DurationFormat::pick(*steps.median_ns);
  const bool few = steps.steps.size() <= kMostStepsInline;
  page.paragraph(few ? few_steps_words(steps, format) : many_steps_words(steps, format), kLabelColumn);
  const std::string left_out = left_out_words(steps);
  if (!left_out.empty()) page.paragraph(left_out, kLabelColumn);
  if (!steps.missing.empty()) page.paragraph(missing_words(steps.missing), kLabelColumn);
  for (const std::string& sentence : disturbed_words(steps.disturbed)) page.paragraph(sentence, kLabelColumn);
}

}  // namespace stepscope

// Cutting and cleaning of texts for a page.
#include "report/html/page_strings.h"

#include "report/numbers.h"
#include "report/text.h"

namespace stepscope {

std::string page_text(std::string_view raw) {
  if (raw.size() <= kMostPageTextBytes) return clean_text(raw);
  std::size_t cut = kMostPageTextBytes;
  // Not in the middle of a character: continuation bytes are 10xxxxxx.
  while (cut > kMostPageTextBytes - 4 && (static_cast<unsigned char>(raw[cut]) & 0xC0U) == 0x80U) --cut;
  return clean_text(raw.substr(0, cut)) + "… (" + show_count(static_cast<std::int64_t>(raw.size())) + " bytes)";
}

std::uint32_t PageTexts::number(std::string_view text) {
  if (text.empty()) return 0;
  const auto [at, is_new] = number_.try_emplace(page_text(text), static_cast<std::uint32_t>(texts_.size()));
  if (is_new) texts_.push_back(at->first);
  return at->second;
}

}  // namespace stepscope

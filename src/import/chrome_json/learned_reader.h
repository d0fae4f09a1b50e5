// The fast reader's short cut: what stands between the values of an event is the same in thousands of events.
//
// Reading key after key is one long chain of dependent steps (load, find the quote, only then the next load): 150 ns
// an event, however wide the registers. So the texts between values, `, "pid": ` and the like, are learned as a
// tree. Then only values are looked for; the text between them is compared with the branch last taken,
// which the processor predicts, so the next value's place is known before the comparison is done. Every byte is
// still compared: what is not exactly as learned goes to read_event(), whose answer is always the same.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "import/chrome_json/event_reader.h"

namespace stepscope::chrome_json {

class LearnedReader {
 public:
  LearnedReader() { nodes_.emplace_back(); }

  // As read_event().
  [[nodiscard]] const char* read(const char* at, const char* end, Event& event, Remarks& remarks);

 private:
  static constexpr std::size_t kLongestText = 48;
  static constexpr std::uint32_t kNone = 0;  // the root is nobody's child

  // A text between two values and what the value behind it is.
  struct Node {
    std::array<char, kLongestText> text{};
    std::uint8_t size = 0;
    std::uint8_t args_begin = kNowhere;  // where in the text the arguments start (their `{`)
    std::uint8_t args_end = kNowhere;    // ... and end (behind their `}`)
    bool is_end = false;                 // the event ends with the text
    bool in_args = false;
    Field field = Field::kCount;
    Arg arg = Arg::kCount;
    std::uint32_t last_child = kNone;  // the one taken last
    std::uint32_t first_child = kNone;
    std::uint32_t sibling = kNone;
  };
  static constexpr std::uint8_t kNowhere = 255;

  [[nodiscard]] static bool matches(const Node& node, const char* at);
  std::uint32_t find_child(Node& parent, const char* at) const;
  const char* follow(const char* at, const char* end, Event& event, Remarks& remarks);
  void learn(const char* at, const char* end);
  std::uint32_t add_child(std::uint32_t parent, const Node& node);

  std::vector<Node> nodes_;
};

}  // namespace stepscope::chrome_json

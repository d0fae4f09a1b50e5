// Strings of a trace as JSON, each looked at once.
//
// A trace has thousands of distinct strings and millions of uses of them; nearly all can be written as they are.
// Whether one can is remembered in a byte for each, so that a use costs a load and a copy. Keeping the escaped texts
// was rejected: those that need escapes are few, and a second pool of strings is memory that follows the trace.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/string_pool.h"
#include "export/text_buffer.h"

namespace stepscope {

class TraceStrings {
 public:
  TraceStrings(const StringPool& strings, TextBuffer& out)
      : strings_(strings), out_(out), known_(strings.size(), std::uint8_t{0}) {}

  // As a JSON string.
  void put_quoted(StringId id);
  // A pid, tid or number kept as text: a number where the text is a whole number, else a string. Both read back the
  // same.
  void put_key(StringId id);
  // JSON text (`Input Dims`): as it is, or as a string where it is no sound JSON, so that it cannot break the file.
  void put_json(StringId id);

 private:
  enum Knowledge : std::uint8_t {
    kPlainKnown = 1,
    kPlain = 2,
    kIntegerKnown = 4,
    kInteger = 8,
    kJsonKnown = 16,
    kJson = 32
  };
  // The `yes` bit of a string, found out by `test` the first time.
  template <class Test>
  bool is(StringId id, std::uint8_t known, std::uint8_t yes, Test test);

  const StringPool& strings_;
  TextBuffer& out_;
  std::vector<std::uint8_t> known_;
  std::string scratch_;
};

}  // namespace stepscope

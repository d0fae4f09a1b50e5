// Skipping lists ("Input Dims", "Concrete Inputs", ...): two thirds of the text of a trace with shapes.
//
// 64 bytes at a time: bit masks of quotes and brackets, strings by the parity of quotes. Chosen once at run time by
// what the processor can do (AVX-512, AVX2); the plain walk of scan.h is the fallback and the judge: whatever is
// unusual (backslashes, braces, a list that does not end) is left to it, so both give the same answer.
#pragma once

#include <span>

namespace stepscope::chrome_json {

// `at` stands at `[`. Returns the place behind the matching bracket, or nullptr if there is none or something is
// unusual. As skip_container does.
using SkipList = const char* (*)(const char* at, const char* end, bool& met_end);
extern const SkipList skip_list;

struct NamedSkipList {
  const char* name;
  SkipList skip;
};
// All that this processor can run, the plain one first: for tests.
[[nodiscard]] std::span<const NamedSkipList> all_skip_lists();

}  // namespace stepscope::chrome_json

// Words of a difference that its outputs share.
#pragma once

#include <string>
#include <string_view>

#include "fleet/difference.h"

namespace stepscope {

[[nodiscard]] std::string_view compare_verdict_name(CompareVerdict verdict);        // "slower", "no_difference", ...
[[nodiscard]] std::string_view diff_verdict_name(const RunDifference& difference);  // the same, or "withheld"
[[nodiscard]] std::string_view compare_unit_name(CompareUnit unit);                 // "steps", "runs", "pairs"

// "B is 3.1 % slower: a step takes 44.9 ms instead of 43.5 (2.8 to 3.4 %)." The answer, one or two sentences.
[[nodiscard]] std::string diff_answer(const RunDifference& difference);
// What noise the interval knows of: "3 steps of one run a side; 1.2 % between runs assumed".
[[nodiscard]] std::string noise_words(const RankDifference& rank);

// "+1.41 ms", "-48.7 ms"; "0 ms".
[[nodiscard]] std::string signed_duration(DurationNs difference_ns);
// In ms with the decimals that fit the step: "+1.41".
[[nodiscard]] std::string signed_ms(DurationNs difference_ns, int decimals);
[[nodiscard]] int ms_decimals(const PartChange& whole);

// Which of a row's two names is shown: that of B, of A where it is gone.
[[nodiscard]] const WorkIdentity& shown_identity(const WorkDifference& row);
[[nodiscard]] KernelClass class_of(const WorkDifference& row);
// "3.1 % longer a call", "12 calls instead of 24", "new", "gone"; with the match where it is a guess.
[[nodiscard]] std::string work_change_words(const WorkDifference& row);
// "aten::mm, gemm_128x128" with at most `width` columns.
[[nodiscard]] std::string work_name(const WorkIdentity& identity, std::size_t width);

// The largest row of a class that goes the same way as the class; null when there is none.
[[nodiscard]] const WorkDifference* largest_row_of(const RankDifference& rank, const ClassDifference& of);

}  // namespace stepscope

// A finding: one named cause, what it costs, the proof, what to do, what that would bring.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analyze/facts.h"

namespace stepscope {

enum class Severity : std::uint8_t { kFault, kNote, kInformation };
[[nodiscard]] std::string_view severity_name(Severity severity);

struct Evidence {
  std::string text;            // one sentence with its numbers
  std::optional<Interval> at;  // where on the timeline to look
};

struct Finding {
  std::string id;  // = file, case folder and docs page: "data-loader-stall"
  Severity severity = Severity::kNote;
  std::optional<Estimate> saving;      // ns a step, without the profiler; missing for information
  std::optional<double> saving_ratio;  // saving.mid / step without the profiler
  // Saving and ratio are as recorded, the profiler's cost in both: outlier-step (of the mean recorded step) and the
  // straggler over several ranks (of the slowest rank's step), for which no step without the profiler is estimated.
  bool saving_as_recorded = false;
  std::string title;  // one sentence: what is wrong, with the user's own names
  std::vector<Evidence> evidence;
  std::vector<std::string> advice;  // each a thing to type or change
  std::string gain;                 // "the step would take about 45 ms, 2.1 times faster"; empty if not predicted
};

struct RuleInput {
  const Trace& trace;
  const Facts& facts;
  // Findings made before this rule ran, in the order of the list: a general cause (host-overhead) claims only what
  // the specific ones leave, and none names a cost twice.
  std::span<const Finding> found = {};
};

}  // namespace stepscope

// outlier-step: one step takes far longer than its neighbours, and why.
//
// Symptom: the average step is slower than the median. Evidence: a step of at least 1.5 times the median of the
// others; its cause (outlier_cause.h) is the part of its time (idle by cause, busy) that exceeds the others' most, or a
// compilation or collection that covers half of the excess. Threshold: that of stats/outliers.h (1.38 on a healthy
// recording with a noisy host; planted ones 10 and more). The first recorded step is one only when a checkpoint
// explains it: the profiler itself distorts it. A fault when the outliers cost 5 % of all recorded time, lie further
// from the others than steps that merely scatter would, and nothing else found explains them, else a note: one
// checkpoint in a thousand steps is good practice, and of 2.5, 4.6 and 6.3 ms nobody can say what is usual. The cost is
// as recorded, an average over the recorded steps, and no re-simulation. False alarm: batches of very different sizes;
// the text then says that the GPU itself worked longer.
#include <algorithm>
#include <array>
#include <numeric>

#include "rules/costs.h"
#include "rules/grown_event.h"
#include "rules/outlier_cause.h"
#include "rules/rule_list.h"
#include "rules/wording.h"
#include "stats/outliers.h"
#include "stats/quantiles.h"

namespace stepscope {
namespace {

constexpr double kFault = 0.05;

struct OutlierSteps {
  std::size_t worst = 0;
  std::vector<std::size_t> steps;  // ascending; `worst` among them
  DurationNs least_ns = 0;         // the shortest of them
  // The others: all but these, and but a first recorded step that is as long.
  std::vector<DurationNs> others_ns;  // ascending; never empty
  bool first_is_apart = false;
  DurationNs typical_ns = 0;  // median of the others
  DurationNs excess_ns = 0;   // of all outliers, beyond typical_ns
  DurationNs total_ns = 0;    // of all steps
};

// The profiler distorts the first recorded step, but it writes no checkpoint: one that takes half of that step's extra
// time is the program's own.
bool first_writes_checkpoint(const RuleInput& input, DurationNs excess_ns) {
  const DeviceIdle* idle = input.facts.main_idle();
  if (idle == nullptr || idle->blame_by_step_ns.empty()) return false;
  return idle->blame_by_step_ns.front()[static_cast<std::size_t>(HostLabel::kCheckpoint)] * 2 >= excess_ns;
}

DurationNs median_without(std::vector<std::int64_t> lengths, std::size_t left_out) {
  lengths.erase(lengths.begin() + static_cast<std::ptrdiff_t>(left_out));
  return median_ns(lengths).value_or(0);
}

std::optional<OutlierSteps> find_outlier_steps(const RuleInput& input) {
  const std::vector<Step>& steps = input.facts.steps.steps;
  if (steps.size() < kFewestForOutliers) return std::nullopt;
  std::vector<std::int64_t> lengths;
  lengths.reserve(steps.size());
  for (const Step& step : steps) lengths.push_back(step.duration_ns());
  const bool count_first = first_writes_checkpoint(input, lengths[0] - median_without(lengths, 0));
  Outliers found = find_outliers(lengths, count_first ? 0 : 1);
  if (found.indices.empty()) return std::nullopt;
  OutlierSteps out;
  out.worst = found.longest;
  out.steps = std::move(found.indices);
  out.least_ns = lengths[found.longest];
  for (std::size_t step = 0; step < lengths.size(); ++step) {
    if (std::binary_search(out.steps.begin(), out.steps.end(), step)) {
      out.least_ns = std::min(out.least_ns, lengths[step]);
    } else if (step == 0 && static_cast<double>(lengths[0]) >= kOutlierRatio * static_cast<double>(found.typical_ns)) {
      out.first_is_apart = true;
    } else {
      out.others_ns.push_back(lengths[step]);
    }
  }
  std::sort(out.others_ns.begin(), out.others_ns.end());
  out.typical_ns = median_ns(out.others_ns).value_or(0);
  for (const std::size_t step : out.steps) out.excess_ns += lengths[step] - out.typical_ns;
  out.total_ns = std::accumulate(lengths.begin(), lengths.end(), DurationNs{0});
  return out;
}

// "2.47 to 4.57 ms"
std::string format_range(DurationNs least_ns, DurationNs most_ns) {
  std::string least = format_duration(least_ns);
  const std::string most = format_duration(most_ns);
  if (least == most) return most;
  const std::size_t unit = most.rfind(' ');
  if (unit != std::string::npos && least.ends_with(most.substr(unit))) least.resize(least.rfind(' '));
  return least + " to " + most;
}

// "the others 10.0 ms", "the others 3.52 ms (2.47 to 4.57)": one number only of steps that it is true of, "about" where
// what they differ by is nothing beside the outlier.
std::string describe_others(const OutlierSteps& outliers, DurationNs extra_ns) {
  const DurationNs least = outliers.others_ns.front(), most = outliers.others_ns.back();
  const std::string others = outliers.first_is_apart ? "the others after the first " : "the others ";
  const std::string typical = format_duration(outliers.typical_ns);
  // A tenth is what nobody would call another length, a twentieth of the extra time no doubt of it.
  if (most - least <= outliers.typical_ns / 10) return others + typical;
  if (most - least <= extra_ns / 20) return others + "about " + typical;
  std::string range = format_range(least, most);
  const std::string unit = typical.substr(typical.rfind(' '));
  const bool has_one_unit = std::count(range.begin(), range.end(), ' ') == 3;
  if (has_one_unit && range.ends_with(unit)) range.resize(range.size() - unit.size());
  return others + typical + " (" + range + ")";
}

// "Step 28 takes 8.00 ms, the others 2.00 ms: a checkpoint is written", or of several what the longest is.
std::string write_title(const OutlierSteps& outliers, const std::vector<Step>& steps, const std::string& cause,
                        bool is_of_all) {
  const Step& worst = steps[outliers.worst];
  const std::string longest = "tep " + std::to_string(worst.number);
  const std::string others = describe_others(outliers, worst.duration_ns() - outliers.typical_ns);
  if (outliers.steps.size() == 1) {
    return "S" + longest + " takes " + format_duration(worst.duration_ns()) + ", " + others + ": " + cause;
  }
  return format_count(static_cast<double>(outliers.steps.size())) + " of " +
         format_count(static_cast<double>(steps.size())) + " steps take " +
         format_range(outliers.least_ns, worst.duration_ns()) + ", " + others +
         (is_of_all ? "" : "; s" + longest + " takes longest") + ": " + cause;
}

// Dixon's ratio: how much of the range of all steps the distance between the outliers (their mean: one of several may
// lie close) and the longest of the others is. 1: the others are all alike.
double distance_ratio(const OutlierSteps& outliers) {
  const double mean = static_cast<double>(outliers.typical_ns) +
                      static_cast<double>(outliers.excess_ns) / static_cast<double>(outliers.steps.size());
  const double range = mean - static_cast<double>(outliers.others_ns.front());
  return range <= 0 ? 0 : (mean - static_cast<double>(outliers.others_ns.back())) / range;
}

// Would steps that merely scatter have one so far away in less than one recording of ten? Dixon's critical values at
// 90 %, for one outlier among 3, 4, ... 10 steps; the last also for more, where the ratio of 1.5 asks for more anyway.
bool is_beyond_scatter(const OutlierSteps& outliers) {
  constexpr std::array<double, 8> kCritical = {0.941, 0.765, 0.642, 0.560, 0.507, 0.468, 0.437, 0.412};
  const std::size_t steps = std::max<std::size_t>(3, outliers.others_ns.size() + 1);
  return distance_ratio(outliers) >= kCritical[std::min(steps - 3, kCritical.size() - 1)];
}

// "the GPU is busy for 107 ms longer", "in 60.0 ms the host waits for the GPU"
std::string describe_part(const OutlierCause& part, bool beside_checkpoint) {
  if (!part.is_busy) return "in " + format_duration(part.excess_ns) + " " + part.what;
  return "the GPU is busy for " + format_duration(part.excess_ns) + " longer" +
         (beside_checkpoint ? ", copies to the host among it" : "");
}

// "Of its extra 402 ms, 295 ms are this cause; in 60.0 ms the host waits for the GPU; 47.0 ms are not explained."
std::string describe_extra(const RuleInput& input, std::size_t step, DurationNs extra_ns, const OutlierCause& cause,
                           bool is_one_of_several) {
  const std::size_t most_shown = cause.is_sum ? 4 : 2;
  const DurationNs small_ns = extra_ns / 20;  // under 5 % of it nobody asks
  std::string text = is_one_of_several ? "Of step " + std::to_string(input.facts.steps.steps[step].number) + "'s extra "
                                       : "Of its extra ";
  text += format_duration(extra_ns);
  DurationNs rest_ns = extra_ns;
  std::string separator = ", ";
  const auto add = [&](const std::string& part, DurationNs part_ns) {
    text += separator + part;
    separator = "; ";
    rest_ns -= part_ns;
  };
  std::vector<OutlierCause> parts;
  if (!cause.is_sum) {
    const DurationNs named_ns = std::min(cause.excess_ns, extra_ns);
    if (named_ns > 0) add(format_duration(named_ns) + " are this cause", named_ns);
  }
  // A compilation or collection lies over the parts, so only a cause that is itself a part leaves others beside it.
  if (cause.is_part) parts = find_grown_parts(input, step);
  if (!cause.is_sum && !parts.empty()) parts.erase(parts.begin());
  std::size_t shown = 0;
  for (const OutlierCause& part : parts) {
    // Medians of parts need not add up to the median of the whole.
    if (part.excess_ns < small_ns || part.excess_ns > rest_ns + small_ns || shown++ == most_shown) break;
    add(describe_part(part, cause.is_checkpoint), part.excess_ns);
  }
  if (rest_ns >= small_ns && rest_ns > 0) text += separator + format_duration(rest_ns) + " are not explained";
  return text + "." + (cause.detail.empty() ? "" : " " + cause.detail);
}

// "The longest first: #28 8.00 ms, #3 6.00 ms, and 8 more."
std::string list_steps(const OutlierSteps& outliers, const std::vector<Step>& steps) {
  constexpr std::size_t kNamed = 10;
  std::vector<std::size_t> longest = outliers.steps;
  std::stable_sort(longest.begin(), longest.end(),
                   [&](std::size_t a, std::size_t b) { return steps[a].duration_ns() > steps[b].duration_ns(); });
  std::string text = "The longest first:";
  const std::size_t named = std::min(kNamed, longest.size());
  for (std::size_t at = 0; at < named; ++at) {
    const Step& step = steps[longest[at]];
    text += (at == 0 ? " #" : ", #") + std::to_string(step.number) + " " + format_duration(step.duration_ns());
  }
  if (named < longest.size()) text += ", and " + format_count(static_cast<double>(longest.size() - named)) + " more";
  return text + ". Each takes at least 1.5 times as long as the median of the others.";
}

// Why it is a note: nobody can tell an exception from a step that merely scatters.
std::string describe_doubt(const OutlierSteps& outliers) {
  const std::size_t count = outliers.others_ns.size();
  std::string text = "It may be chance: the other " + format_count(static_cast<double>(count)) + " steps take ";
  if (count == 1) text = "It may be chance: the one other step takes ";
  return text + format_range(outliers.others_ns.front(), outliers.others_ns.back()) +
         ", which is too few or too scattered to say what is usual. More recorded steps tell.";
}

// Does the finding of that name promise at least half of what these steps took more? One of a millisecond a step says
// nothing of 400 ms in one of them.
bool is_covered(const RuleInput& input, std::string_view id, DurationNs excess_a_step_ns) {
  const Finding* found = id.empty() ? nullptr : find_found(input, id);
  return found != nullptr && (!found->saving || found->saving->mid_ns * 2 >= excess_a_step_ns);
}

// The outliers are the steps in which the optimizer runs, and all of them (the first recorded one aside): every Nth, as
// meant. What a step writes or compiles besides is a matter of its own.
std::optional<std::size_t> find_accumulated_steps(const RuleInput& input, const OutlierSteps& outliers,
                                                  const OutlierCause& cause) {
  if (cause.is_checkpoint || !cause.is_part) return std::nullopt;
  auto accumulation = find_accumulation(input);
  if (!accumulation) return std::nullopt;
  std::erase(accumulation->steps, 0U);
  const bool are_the_same = accumulation->steps == outliers.steps;
  return are_the_same ? std::optional(accumulation->every) : std::nullopt;
}

// "the optimizer runs in every 4th step (gradient accumulation)"
std::string describe_accumulation(std::size_t every) {
  const std::string number = std::to_string(every);
  const bool is_teen = every % 100 >= 11 && every % 100 <= 13;
  const std::string_view ending = is_teen           ? "th"
                                  : every % 10 == 1 ? "st"
                                  : every % 10 == 2 ? "nd"
                                  : every % 10 == 3 ? "rd"
                                                    : "th";
  return "the optimizer runs in every " + number + std::string(ending) + " step (gradient accumulation)";
}

}  // namespace

std::optional<Finding> find_outlier_step(const RuleInput& input) {
  const Steps& steps = input.facts.steps;
  const auto outliers = find_outlier_steps(input);
  if (!outliers) return std::nullopt;
  const Step& worst = steps.steps[outliers->worst];
  const DurationNs extra = worst.duration_ns() - outliers->typical_ns;
  const OutlierCause cause = find_outlier_cause(input, outliers->worst, extra);
  const double ratio =
      static_cast<double>(outliers->excess_ns) / static_cast<double>(std::max<DurationNs>(1, outliers->total_ns));
  const bool explained = is_covered(input, cause.explained_by, per_step(input, outliers->excess_ns));

  const bool several = outliers->steps.size() > 1;

  Finding finding;
  finding.id = "outlier-step";
  const bool beyond_scatter = is_beyond_scatter(*outliers);
  finding.severity = ratio >= kFault && !explained && beyond_scatter ? Severity::kFault : Severity::kNote;
  const auto accumulated = find_accumulated_steps(input, *outliers, cause);
  finding.title = write_title(*outliers, steps.steps, accumulated ? describe_accumulation(*accumulated) : cause.what,
                              accumulated.has_value());
  finding.evidence.push_back(
      {describe_extra(input, outliers->worst, extra, cause, several), cause.at ? cause.at : std::optional(worst.gpu)});
  if (several) finding.evidence.push_back({list_steps(*outliers, steps.steps), std::nullopt});
  if (accumulated) {
    finding.severity = Severity::kInformation;
    finding.evidence.push_back({"Of the step that takes longest: " + cause.what + ".", std::nullopt});
    finding.advice = {"Compare whole cycles: the mean over " + std::to_string(*accumulated) + " steps is what counts"};
    return finding;
  }
  if (!beyond_scatter) finding.evidence.push_back({describe_doubt(*outliers), std::nullopt});
  if (explained) {
    finding.evidence.push_back({"It is part of " + std::string(cause.explained_by) + " above.", std::nullopt});
  }
  finding.advice = cause.advice;
  const DurationNs saving = per_step(input, outliers->excess_ns);
  // At least what the cause itself took in the longest, the only one it was looked for in; at most all that these
  // steps took beyond the others.
  finding.saving = Estimate{per_step(input, std::min(cause.excess_ns, extra)), saving, saving};
  finding.saving_ratio = ratio;
  finding.saving_as_recorded = true;
  finding.gain = (several ? "Without what they take more, the recorded steps would take "
                          : "Without it the recorded steps would take ") +
                 format_duration(per_step(input, outliers->total_ns) - saving) + " on average instead of " +
                 format_duration(per_step(input, outliers->total_ns)) + ".";
  return finding;
}

}  // namespace stepscope

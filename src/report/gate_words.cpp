// The sentences of the gate, the same for every output.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/gate_report.h"
#include "report/numbers.h"
#include "report/text.h"
#include "stats/bootstrap.h"

namespace stepscope {
namespace {

bool is_time(const GateCheck& check) { return check.quantity == GateQuantity::kStepTime; }

std::string signed_percent(double ratio) {
  const std::string text = show_decimal((ratio - 1) * 100, 1);
  return text.starts_with('-') ? text : "+" + text;
}

// "3 steps; 8 are needed to tell anything" stands behind "too few steps to tell: ".
std::string too_few_words(const GateCheck& check) {
  std::string reason = check.reason;
  constexpr std::string_view kEnd = " to tell anything";
  if (reason.ends_with(kEnd)) reason.resize(reason.size() - kEnd.size());
  const char* unit = check.comparison.unit == CompareUnit::kSteps ? "steps" : "runs";
  return fmt::format("too few {} to tell: {}", unit, reason);
}

std::string doubt_words(const GateCheck& check, const GateResult& result) {
  switch (check.doubt) {
    case GateDoubt::kTooFew:
      return too_few_words(check);
    case GateDoubt::kMissing:
      return check.reason;
    case GateDoubt::kWithheld:
      return "the step times cannot be trusted: " + check.reason;
    case GateDoubt::kNotProven:
      return "not shown to be within the limit" + (check.tail.empty() ? "" : ": " + check.tail);
    case GateDoubt::kNotComparable:
      return result.not_comparable.value_or("");
    case GateDoubt::kLost:
      return "data are missing: " + (result.losses.empty() ? std::string() : result.losses.front());
    default:
      return "";
  }
}

// Why no more is known than is.
std::string noise_words(const GateReport& report) {
  const GateCheck& check = report.result.checks.front();
  if (!is_time(check) || !check.comparison.interval || !check.limit_ratio) return "";
  const double high = check.comparison.interval->high - 1;
  if (check.verdict == GateVerdict::kFailed || high <= *check.limit_ratio) return "";
  std::string text = fmt::format("Noise leaves room for a slowdown of {} %", show_decimal(high * 100, 1));
  const auto needed = units_to_tell(check.comparison, *check.limit_ratio, report.options.confidence_ratio);
  if (!needed || *needed <= std::min(check.comparison.base_count, check.comparison.other_count)) return text + ".";
  const char* unit = check.comparison.unit == CompareUnit::kSteps ? "step" : "run";
  return text + fmt::format("; {} a side would tell one of the limit.", show_counted(*needed, unit));
}

std::string between_runs_words(const GateReport& report) {
  const GateCheck& check = report.result.checks.front();
  if (!is_time(check) || !check.comparison.interval || check.comparison.sees_noise_between_runs) return "";
  return "One run a side: how much runs differ from each other is not known, and not in the interval. Several runs of "
         "BASE, or --between-runs 1%, put it in.";
}

std::string small_base_words(const GateReport& report) {
  const std::size_t needed = least_sample_count(report.options.confidence_ratio);
  for (const GateRun& run : report.other.runs) {
    if (run.kind == GateTimeKind::kCommandRuns || run.steps_ns.size() >= needed) continue;
    return fmt::format("A run of it has {}; at least {} are needed to tell anything later.",
                       show_counted(static_cast<std::int64_t>(run.steps_ns.size()), "step"), needed);
  }
  return "";
}

std::string runs_of(const std::vector<GateRun>& runs) {
  std::size_t least = runs.front().steps_ns.size(), most = least;
  for (const GateRun& run : runs) {
    least = std::min(least, run.steps_ns.size());
    most = std::max(most, run.steps_ns.size());
  }
  const std::string count = show_counted(static_cast<std::int64_t>(runs.size()), "run");
  if (runs.front().kind == GateTimeKind::kCommandRuns) return count + " of a command";
  if (runs.front().kind == GateTimeKind::kNone) {
    return show_counted(static_cast<std::int64_t>(runs.size()), "memory snapshot");
  }
  if (least != most)
    return fmt::format("{} of {} to {} steps", count, show_count(static_cast<std::int64_t>(least)),
                       show_count(static_cast<std::int64_t>(most)));
  return fmt::format("{} of {}", count, show_counted(static_cast<std::int64_t>(least), "step"));
}

}  // namespace

GateOutcome gate_outcome(const GateReport& report) {
  if (!report.has_base) return GateOutcome::kNoBase;
  switch (report.result.verdict) {
    case GateVerdict::kPassed:
      return GateOutcome::kPassed;
    case GateVerdict::kFailed:
      return GateOutcome::kFailed;
    default:
      return report.allow_few && report.result.only_too_few() ? GateOutcome::kCannotTellAllowed
                                                              : GateOutcome::kCannotTell;
  }
}

std::string gate_quantity_words(GateQuantity quantity) {
  switch (quantity) {
    case GateQuantity::kAllocatedPeak:
      return "allocated peak";
    case GateQuantity::kReservedPeak:
      return "reserved peak";
    default:
      return "step";
  }
}

std::string gate_limit_words(const GateCheck& check) {
  if (!check.limit) return "no limit";
  if (check.limit->ratio) return fmt::format("{:.4g} %", *check.limit->ratio * 100);
  const std::int64_t size = check.limit->absolute.value_or(0);
  return is_time(check) ? show_duration(size) : show_bytes(size);
}

std::string gate_values_words(const GateCheck& check) {
  if (!is_time(check)) {
    const auto words = [](const std::optional<double>& bytes) {
      return bytes ? show_bytes(std::llround(*bytes)) : std::string("?");
    };
    return words(check.base) + " -> " + words(check.other);
  }
  const double base = check.base.value_or(check.other.value_or(0));
  const double difference = check.base && check.other ? std::abs(*check.other - *check.base) : 0;
  const DurationFormat format = DurationFormat::pick(std::llround(base), std::llround(difference));
  const auto words = [&format](const std::optional<double>& ns) {
    return ns ? format.number(std::llround(*ns)) : std::string("?");
  };
  return fmt::format("{} -> {} {}", words(check.base), words(check.other), format.unit);
}

std::string gate_difference_words(const GateCheck& check) {
  if (!check.ratio) return "";
  std::string text = signed_percent(*check.ratio) + " %";
  if (const auto& interval = check.comparison.interval; is_time(check) && interval) {
    text += fmt::format(" ({} to {})", show_decimal((interval->low - 1) * 100, 1),
                        show_decimal((interval->high - 1) * 100, 1));
  }
  return text;
}

std::string gate_check_sentence(const GateCheck& check, const GateResult& result) {
  std::string text;
  if (check.base && check.other) {
    text = gate_quantity_words(check.quantity) + " " + gate_values_words(check);
    if (const std::string difference = gate_difference_words(check); !difference.empty()) text += ", " + difference;
    if (check.limit) text += ", limit " + gate_limit_words(check);
  }
  if (check.verdict != GateVerdict::kCannotTell) return clean_text(text);
  const std::string doubt = doubt_words(check, result);
  return clean_text(text.empty() ? doubt : doubt + " (" + text + ")");
}

std::string gate_sentence(const GateReport& report) {
  const GateOutcome outcome = gate_outcome(report);
  if (outcome == GateOutcome::kNoBase) return clean_text("gate: there was no base yet; " + report.update);
  // Of a failure what failed, of a doubt what is in doubt: the rest stands below.
  std::string text;
  std::vector<std::string> said;
  for (const GateCheck& check : report.result.checks) {
    if (check.verdict != report.result.verdict) continue;
    const std::string sentence = gate_check_sentence(check, report.result);
    if (std::find(said.begin(), said.end(), sentence) != said.end()) continue;
    said.push_back(sentence);
    text += (text.empty() ? "" : "; ") + sentence;
  }
  if (text.empty()) text = "nothing was asked that these files could answer";
  switch (outcome) {
    case GateOutcome::kPassed:
      return "gate passed: " + text;
    case GateOutcome::kFailed:
      return "gate failed: " + text +
             (report.result.explanation.empty() ? "" : "; " + clean_text(report.result.explanation));
    case GateOutcome::kCannotTellAllowed:
      return "gate cannot tell, which is allowed: " + text;
    default:
      return "gate cannot tell: " + text;
  }
}

std::vector<std::string> gate_remarks(const GateReport& report) {
  std::vector<std::string> remarks;
  const auto add = [&remarks](const std::string& remark) {
    if (!remark.empty()) remarks.push_back(clean_text(remark));
  };
  if (report.has_base && !report.result.checks.empty()) {
    add(noise_words(report));
    add(between_runs_words(report));
    if (report.result.checks.front().is_geometric_mean) {
      add("Of so few runs the times are geometric means of the runs' medians; the percentage is their ratio.");
    }
  }
  if (!report.has_base) add(small_base_words(report));
  // The sentence of a failure says what failed; that something else is in doubt must not be lost.
  for (const GateCheck& check : report.result.checks) {
    if (report.result.verdict != GateVerdict::kFailed || check.verdict != GateVerdict::kCannotTell) continue;
    const std::string remark = "Not told: " + gate_check_sentence(check, report.result);
    if (std::find(remarks.begin(), remarks.end(), remark) == remarks.end()) remarks.push_back(remark);
  }
  for (const std::string& loss : report.result.losses) add("Missing data: " + loss);
  for (const std::string& warning : report.result.warnings) add("Note: " + warning);
  return remarks;
}

std::string gate_side_words(const GateSide& side) {
  if (side.runs.empty()) return "nothing";
  std::string text = runs_of(side.runs);
  std::int64_t most = 0, least = side.runs.front().rank_count;
  const GateRun* last = nullptr;
  for (const GateRun& run : side.runs) {
    least = std::min(least, run.rank_count);
    if (run.rank_count < most) continue;
    most = run.rank_count;
    last = &run;
  }
  if (most > 1 && side.runs.size() == 1 && last->rank) {
    text += fmt::format(", slowest of {} ranks: {}", most, *last->rank);
  } else if (most > 1) {
    // What is true of one run only is not said of each.
    text += least == most ? fmt::format(", each the slowest of {} ranks", most)
                          : fmt::format(", the slowest of {} to {} ranks", least, most);
  } else if (last->rank && side.runs.size() == 1) {
    text += fmt::format(", rank {}", *last->rank);
  }
  return clean_text(text + (last->device_name.empty() ? "" : ", " + last->device_name));
}

}  // namespace stepscope

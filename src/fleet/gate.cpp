// One function a check; what makes two sides two different things is looked for first.
#include "fleet/gate.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include "stats/quantiles.h"

namespace stepscope {
namespace {

// A ratio that no change of a program makes: more likely ms are compared with us.
constexpr double kOtherUnitRatio = 100;

std::set<std::string> devices_of(const GateSide& side) {
  std::set<std::string> devices;
  for (const GateRun& run : side.runs) {
    if (!run.device_name.empty()) devices.insert(run.device_name);
  }
  return devices;
}

std::set<GateTimeKind> kinds_of(const GateSide& side) {
  std::set<GateTimeKind> kinds;
  for (const GateRun& run : side.runs) {
    if (run.kind != GateTimeKind::kNone) kinds.insert(run.kind);
  }
  return kinds;
}

std::string joined(const std::set<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

const char* kind_words(GateTimeKind kind) {
  switch (kind) {
    case GateTimeKind::kGpuSteps:
      return "steps of a recording, on the GPU's clock";
    case GateTimeKind::kHostSteps:
      return "steps of a recording without a GPU";
    case GateTimeKind::kListedSteps:
      return "listed step times";
    case GateTimeKind::kCommandRuns:
      return "times of whole commands";
    default:
      return "memory";
  }
}

std::string joined(const std::set<GateTimeKind>& kinds) {
  std::set<std::string> words;
  for (const GateTimeKind kind : kinds) words.insert(kind_words(kind));
  return joined(words);
}

std::int64_t most_ranks(const GateSide& side) {
  std::int64_t most = 0;
  for (const GateRun& run : side.runs) most = std::max(most, run.rank_count);
  return most;
}

std::set<std::int64_t> world_sizes_of(const GateSide& side) {
  std::set<std::int64_t> sizes;
  for (const GateRun& run : side.runs) {
    if (run.world_size) sizes.insert(*run.world_size);
  }
  return sizes;
}

// Each sentence says why base and new are two different things.
std::vector<std::string> find_mixed(const GateSide& base, const GateSide& other) {
  std::vector<std::string> mixed;
  const auto base_devices = devices_of(base), other_devices = devices_of(other);
  if (!base_devices.empty() && !other_devices.empty() && base_devices != other_devices) {
    mixed.push_back("another GPU: base " + joined(base_devices) + ", new " + joined(other_devices));
  }
  const auto base_kinds = kinds_of(base), other_kinds = kinds_of(other);
  if (base_kinds.size() + other_kinds.size() > 0 && !base_kinds.empty() && !other_kinds.empty() &&
      base_kinds != other_kinds) {
    mixed.push_back("another kind of time: base " + joined(base_kinds) + ", new " + joined(other_kinds));
  }
  const auto base_sizes = world_sizes_of(base), other_sizes = world_sizes_of(other);
  if (base_sizes.size() == 1 && other_sizes.size() == 1 && base_sizes != other_sizes) {
    mixed.push_back("another number of ranks: base " + std::to_string(*base_sizes.begin()) + ", new " +
                    std::to_string(*other_sizes.begin()));
  }
  return mixed;
}

void compare_setups(const GateSide& base, const GateSide& other, const GateOptions& options, GateResult& result) {
  const std::vector<std::string> mixed = find_mixed(base, other);
  if (options.allow_mixed) {
    result.warnings.insert(result.warnings.end(), mixed.begin(), mixed.end());
  } else if (!mixed.empty()) {
    result.not_comparable = mixed.front();
    for (std::size_t i = 1; i < mixed.size(); ++i) *result.not_comparable += "; " + mixed[i];
  }
  const auto base_devices = devices_of(base), other_devices = devices_of(other);
  if (base_devices.empty() != other_devices.empty()) {
    result.warnings.push_back(std::string("the GPU of ") + (base_devices.empty() ? "base" : "new") +
                              " is not known, so it may be another one");
  }
  const std::int64_t base_ranks = most_ranks(base), other_ranks = most_ranks(other);
  const auto base_sizes = world_sizes_of(base), other_sizes = world_sizes_of(other);
  if (mixed.empty() && base_ranks != other_ranks && base_ranks > 0 && other_ranks > 0) {
    result.losses.push_back("base has " + std::to_string(base_ranks) + (base_ranks == 1 ? " rank" : " ranks") +
                            ", new has " + std::to_string(other_ranks) + ": the slowest may be missing");
  } else if (base_sizes.size() == 1 && base_sizes == other_sizes && base_ranks < *base_sizes.begin()) {
    // One rank may stand for all, as training keeps them in step; who wants all of them must see that they are not
    // there.
    result.warnings.push_back(std::to_string(base_ranks) + " of " + std::to_string(*base_sizes.begin()) +
                              " ranks are compared: the slowest may be another");
  }
}

std::vector<RunTimes> times_of(const GateSide& side) {
  std::vector<RunTimes> times;
  for (const GateRun& run : side.runs) {
    if (!run.steps_ns.empty()) times.push_back(run.steps_ns);
  }
  return times;
}

// As a share of the base.
std::optional<double> limit_ratio(const GateLimit& limit, const std::optional<double>& base) {
  if (limit.ratio) return limit.ratio;
  if (!limit.absolute || !base || !(*base > 0)) return std::nullopt;
  return static_cast<double>(*limit.absolute) / *base;
}

GateCheck doubtful(GateCheck check, GateDoubt doubt, std::string reason) {
  check.verdict = GateVerdict::kCannotTell;
  check.doubt = doubt;
  check.reason = std::move(reason);
  return check;
}

std::string missing_words(bool base, bool other, const std::string& what) {
  return std::string(base && other ? "base and new have" : base ? "base has" : "new has") + " no " + what;
}

GateCheck check_step_time(const GateSide& base, const GateSide& other, const GateOptions& options) {
  GateCheck check;
  check.quantity = GateQuantity::kStepTime;
  check.limit = options.slower;
  const std::vector<RunTimes> base_times = times_of(base), other_times = times_of(other);
  CompareOptions compare;
  compare.confidence_ratio = options.confidence_ratio;
  compare.between_runs_ratio = options.between_runs_ratio;
  compare.seed = options.seed;
  const std::optional<double> base_median = compare_samples(base_times, {}, compare).base_median;
  check.limit_ratio = limit_ratio(options.slower, base_median);
  compare.tolerance_ratio = check.limit_ratio.value_or(0);
  check.comparison = compare_samples(base_times, other_times, compare);
  check.base = check.comparison.base_median;
  check.other = check.comparison.other_median;
  check.ratio = check.comparison.ratio;
  if (base_times.empty() || other_times.empty()) {
    return doubtful(check, GateDoubt::kMissing, missing_words(base_times.empty(), other_times.empty(), "steps"));
  }
  const auto& withheld = base.steps_withheld ? base.steps_withheld : other.steps_withheld;
  if (withheld) return doubtful(check, GateDoubt::kWithheld, *withheld);
  if (check.comparison.verdict == CompareVerdict::kTooFew) {
    return doubtful(check, GateDoubt::kTooFew, check.comparison.reason);
  }
  check.verdict = check.comparison.verdict == CompareVerdict::kSlower ? GateVerdict::kFailed : GateVerdict::kPassed;
  if (check.verdict == GateVerdict::kPassed && options.strict &&
      check.comparison.interval->high > 1 + *check.limit_ratio) {
    return doubtful(check, GateDoubt::kNotProven, "");
  }
  return check;
}

using PeakOf = std::function<std::optional<std::int64_t>(const GateRun&)>;

std::vector<double> peaks_of(const GateSide& side, const PeakOf& peak_of) {
  std::vector<double> peaks;
  for (const GateRun& run : side.runs) {
    if (const auto peak = peak_of(run)) peaks.push_back(static_cast<double>(*peak));
  }
  return peaks;
}

GateCheck check_peak(GateQuantity quantity, const GateSide& base, const GateSide& other, const GateOptions& options) {
  const bool is_allocated = quantity == GateQuantity::kAllocatedPeak;
  const PeakOf peak_of = [is_allocated](const GateRun& run) {
    return is_allocated ? run.allocated_peak_bytes : run.reserved_peak_bytes;
  };
  GateCheck check;
  check.quantity = quantity;
  const std::vector<double> base_peaks = peaks_of(base, peak_of), other_peaks = peaks_of(other, peak_of);
  check.base = quantile(base_peaks, 0.5);
  check.other = quantile(other_peaks, 0.5);
  if (check.base && check.other && *check.base > 0) check.ratio = *check.other / *check.base;
  if (!options.memory) return check;
  check.limit = options.memory;
  check.limit_ratio = limit_ratio(*options.memory, check.base);
  if (!check.base || !check.other) {
    return doubtful(check, GateDoubt::kMissing,
                    missing_words(!check.base, !check.other, is_allocated ? "allocated memory" : "reserved memory"));
  }
  if (!check.limit_ratio || !check.ratio) {
    return doubtful(check, GateDoubt::kMissing, "base has a peak of 0 bytes");
  }
  const bool all_above = *std::min_element(other_peaks.begin(), other_peaks.end()) >
                         *std::max_element(base_peaks.begin(), base_peaks.end());
  check.verdict = *check.ratio > 1 + *check.limit_ratio && all_above ? GateVerdict::kFailed : GateVerdict::kPassed;
  return check;
}

bool is_missing(const GateCheck& check) { return check.doubt == GateDoubt::kMissing; }

// One level of memory decides where the other was not recorded; that is said, and no doubt.
void add_memory(const GateSide& base, const GateSide& other, const GateOptions& options, GateResult& result) {
  GateCheck allocated = check_peak(GateQuantity::kAllocatedPeak, base, other, options);
  GateCheck reserved = check_peak(GateQuantity::kReservedPeak, base, other, options);
  if (is_missing(allocated) != is_missing(reserved)) {
    GateCheck& missing = is_missing(allocated) ? allocated : reserved;
    result.warnings.push_back(missing.reason + ": only " + (is_missing(allocated) ? "reserved" : "allocated") +
                              " memory was compared");
    missing.verdict = GateVerdict::kNotAsked;
    missing.doubt = GateDoubt::kNone;
  } else if (is_missing(allocated)) {
    const bool base_has = allocated.base || reserved.base, other_has = allocated.other || reserved.other;
    if (!base_has || !other_has) {
      allocated.reason = missing_words(!base_has, !other_has, "memory peaks");
      reserved.reason = allocated.reason;
    }
  }
  for (GateCheck& check : {std::ref(allocated), std::ref(reserved)}) {
    if (options.memory || (check.base && check.other)) result.checks.push_back(std::move(check));
  }
}

void warn_of_units(const GateCheck& step, GateResult& result) {
  if (step.ratio && (*step.ratio > kOtherUnitRatio || *step.ratio < 1 / kOtherUnitRatio)) {
    result.warnings.push_back("new is more than 100 times base, or less than a hundredth: are both in the same unit?");
  }
}

// What passes on data that are not whole, or between two different things, has not passed.
void apply_doubts(GateResult& result) {
  for (GateCheck& check : result.checks) {
    if (check.verdict == GateVerdict::kNotAsked) continue;
    if (result.not_comparable) {
      check.verdict = GateVerdict::kCannotTell;
      check.doubt = GateDoubt::kNotComparable;
    } else if (check.verdict == GateVerdict::kPassed && !result.losses.empty()) {
      check.verdict = GateVerdict::kCannotTell;
      check.doubt = GateDoubt::kLost;
    }
  }
  const auto has = [&result](GateVerdict verdict) {
    return std::any_of(result.checks.begin(), result.checks.end(),
                       [verdict](const GateCheck& check) { return check.verdict == verdict; });
  };
  result.verdict = has(GateVerdict::kFailed)       ? GateVerdict::kFailed
                   : has(GateVerdict::kCannotTell) ? GateVerdict::kCannotTell
                   : has(GateVerdict::kPassed)     ? GateVerdict::kPassed
                                                   : GateVerdict::kCannotTell;
}

void take_remarks(const GateSide& side, const char* name, GateResult& result) {
  for (const std::string& loss : side.losses) result.losses.push_back(std::string(name) + ": " + loss);
  for (const std::string& warning : side.warnings) result.warnings.push_back(std::string(name) + ": " + warning);
}

bool is_memory_alone(const GateSide& side) {
  return !side.runs.empty() && std::all_of(side.runs.begin(), side.runs.end(),
                                           [](const GateRun& run) { return run.kind == GateTimeKind::kNone; });
}

}  // namespace

std::string_view gate_time_kind_name(GateTimeKind kind) {
  switch (kind) {
    case GateTimeKind::kGpuSteps:
      return "gpu_steps";
    case GateTimeKind::kHostSteps:
      return "host_steps";
    case GateTimeKind::kListedSteps:
      return "listed_steps";
    case GateTimeKind::kCommandRuns:
      return "command_runs";
    default:
      return "none";
  }
}

std::string_view gate_verdict_name(GateVerdict verdict) {
  switch (verdict) {
    case GateVerdict::kPassed:
      return "passed";
    case GateVerdict::kFailed:
      return "failed";
    case GateVerdict::kCannotTell:
      return "cannot_tell";
    default:
      return "not_asked";
  }
}

std::string_view gate_quantity_name(GateQuantity quantity) {
  switch (quantity) {
    case GateQuantity::kAllocatedPeak:
      return "allocated_peak";
    case GateQuantity::kReservedPeak:
      return "reserved_peak";
    default:
      return "step_time";
  }
}

std::string_view gate_doubt_name(GateDoubt doubt) {
  switch (doubt) {
    case GateDoubt::kTooFew:
      return "too_few";
    case GateDoubt::kMissing:
      return "missing";
    case GateDoubt::kWithheld:
      return "withheld";
    case GateDoubt::kNotProven:
      return "not_proven";
    case GateDoubt::kNotComparable:
      return "not_comparable";
    case GateDoubt::kLost:
      return "lost";
    default:
      return "none";
  }
}

bool GateResult::only_too_few() const {
  return verdict == GateVerdict::kCannotTell && losses.empty() &&
         std::all_of(checks.begin(), checks.end(), [](const GateCheck& check) {
           return check.verdict != GateVerdict::kCannotTell || check.doubt == GateDoubt::kTooFew;
         });
}

GateResult judge_gate(const GateSide& base, const GateSide& other, const GateOptions& options) {
  GateResult result;
  take_remarks(base, "base", result);
  take_remarks(other, "new", result);
  compare_setups(base, other, options, result);
  if (!is_memory_alone(base) || !is_memory_alone(other)) {
    result.checks.push_back(check_step_time(base, other, options));
    warn_of_units(result.checks.front(), result);
  }
  add_memory(base, other, options, result);
  apply_doubts(result);
  return result;
}

}  // namespace stepscope

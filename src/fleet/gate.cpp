// One function a check; what makes two sides two different things is looked for first.
#include "fleet/gate.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <set>

#include "stats/bootstrap.h"
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

std::set<std::string> backends_of(const GateSide& side) {
  std::set<std::string> backends;
  for (const GateRun& run : side.runs) {
    if (!run.backend.empty()) backends.insert(run.backend);
  }
  return backends;
}

std::set<std::string> words_of(const std::set<std::int64_t>& numbers) {
  std::set<std::string> words;
  for (const std::int64_t number : numbers) words.insert(std::to_string(number));
  return words;
}

// Runs of one side that are strangers to each other: their scatter would be taken for noise.
void find_mixed_within(const GateSide& side, const std::string& name, std::vector<std::string>& mixed) {
  if (const auto sizes = world_sizes_of(side); sizes.size() > 1) {
    mixed.push_back(name + " has runs of several programs, with world sizes " + joined(words_of(sizes)));
  }
  if (const auto backends = backends_of(side); backends.size() > 1) {
    mixed.push_back(name + " has runs of several programs, with backends " + joined(backends));
  }
}

// Each sentence says why base and new are two different things.
std::vector<std::string> find_mixed(const GateSide& base, const GateSide& other) {
  std::vector<std::string> mixed;
  find_mixed_within(base, "base", mixed);
  find_mixed_within(other, "new", mixed);
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

// Where compare_samples takes Student's t: its ratio is one of geometric means, and so must the times be.
bool are_few_runs(const std::vector<RunTimes>& base, const std::vector<RunTimes>& other, const GateOptions& options) {
  const std::size_t fewest = std::min(base.size(), other.size());
  return fewest > 0 && std::max(base.size(), other.size()) > 1 && fewest < least_sample_count(options.confidence_ratio);
}

std::optional<double> geometric_mean_of_medians(const std::vector<RunTimes>& runs) {
  double sum = 0, count = 0;
  for (const RunTimes& run : runs) {
    RunTimes times;
    std::copy_if(run.begin(), run.end(), std::back_inserter(times), [](double ns) { return ns > 0; });
    const auto median = quantile(times, 0.5);
    if (!median) continue;
    sum += std::log(*median);
    ++count;
  }
  return count > 0 ? std::optional(std::exp(sum / count)) : std::nullopt;
}

// All steps of a side together.
struct Pool {
  std::vector<double> steps_ns;
  double count = 0, mean = 0, error = 0;  // standard error of the mean
};

Pool pool_of(const std::vector<RunTimes>& runs) {
  Pool pool;
  for (const RunTimes& run : runs) pool.steps_ns.insert(pool.steps_ns.end(), run.begin(), run.end());
  pool.count = static_cast<double>(pool.steps_ns.size());
  double squares = 0;
  for (const double step : pool.steps_ns) pool.mean += step / pool.count;
  for (const double step : pool.steps_ns) squares += (step - pool.mean) * (step - pool.mean);
  if (pool.count > 1) pool.error = std::sqrt(squares / (pool.count - 1) / pool.count);
  return pool;
}

// The median of steps of which four in ten take ten times as long is as it was. What a job pays is the mean, so that a
// rise of it, or of the 90th percentile, is said. It does not fail the gate: both are far noisier than the median. Of
// noise alone three standard errors say so once in 700 comparisons where steps are independent.
std::string tail_words(const std::vector<RunTimes>& base_runs, const std::vector<RunTimes>& other_runs, double limit) {
  constexpr double kErrors = 3, kRank = 0.9;
  const Pool base = pool_of(base_runs), other = pool_of(other_runs);
  const auto words = [](const char* what, double ratio) {
    const auto tenths = std::llround((ratio - 1) * 1000);
    return std::string(what) + " step is " + std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " %";
  };
  std::string text;
  const double limit_ratio = 1 + limit;
  if (other.mean > base.mean * limit_ratio && other.mean - base.mean > kErrors * std::hypot(base.error, other.error)) {
    text = words("the mean", other.mean / base.mean);
  }
  const double base_high = quantile(base.steps_ns, kRank).value_or(0);
  const double other_high = quantile(other.steps_ns, kRank).value_or(0);
  if (base_high > 0 && other_high > base_high * limit_ratio) {
    // How many of new's steps lie above base's percentile: a tenth, if nothing has changed.
    const auto above = static_cast<double>(std::count_if(other.steps_ns.begin(), other.steps_ns.end(),
                                                         [base_high](double step) { return step > base_high; }));
    const double error = std::sqrt(kRank * (1 - kRank) * (1 / base.count + 1 / other.count));
    if (above / other.count - (1 - kRank) > kErrors * error) {
      text += (text.empty() ? "" : " and ") + words("the 90th percentile of the", other_high / base_high);
    }
  }
  return text.empty() ? "" : text + " slower, beyond the limit, while the median is not: some steps take much longer";
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
  const bool is_few = are_few_runs(base_times, other_times, options);
  const auto base_middle =
      is_few ? geometric_mean_of_medians(base_times) : compare_samples(base_times, {}, compare).base_median;
  check.limit_ratio = limit_ratio(options.slower, base_middle);
  compare.tolerance_ratio = check.limit_ratio.value_or(0);
  check.comparison = compare_samples(base_times, other_times, compare);
  check.base = check.comparison.base_median;
  check.other = check.comparison.other_median;
  check.ratio = check.comparison.ratio;
  if (is_few && check.comparison.interval) {
    check.is_geometric_mean = true;
    check.base = base_middle;
    check.other = geometric_mean_of_medians(other_times);
  }
  if (base_times.empty() || other_times.empty()) {
    return doubtful(check, GateDoubt::kMissing, missing_words(base_times.empty(), other_times.empty(), "steps"));
  }
  const auto& withheld = base.steps_withheld ? base.steps_withheld : other.steps_withheld;
  if (withheld) return doubtful(check, GateDoubt::kWithheld, *withheld);
  if (check.comparison.verdict == CompareVerdict::kTooFew) {
    return doubtful(check, GateDoubt::kTooFew, check.comparison.reason);
  }
  check.verdict = check.comparison.verdict == CompareVerdict::kSlower ? GateVerdict::kFailed : GateVerdict::kPassed;
  if (check.verdict == GateVerdict::kFailed) return check;
  if (*check.ratio <= 1 + *check.limit_ratio) check.tail = tail_words(base_times, other_times, *check.limit_ratio);
  if (options.strict && (check.comparison.interval->high > 1 + *check.limit_ratio || !check.tail.empty())) {
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

void warn_of_same_times(const GateSide& base, const GateSide& other, GateResult& result) {
  for (const GateRun& run : other.runs) {
    const auto same = std::find_if(base.runs.begin(), base.runs.end(), [&run](const GateRun& candidate) {
      return run.steps_ns.size() > 1 && candidate.steps_ns == run.steps_ns;
    });
    if (same == base.runs.end()) continue;
    result.warnings.push_back(same->source == run.source
                                  ? run.source + " is on both sides: it is compared with itself"
                                  : "base's " + same->source + " and new's " + run.source +
                                        " have the very same steps: is one a copy of the other?");
    return;
  }
}

// What passes on data that are not whole, or between two different things, has not passed.
void apply_doubts(const GateSide& base, const GateSide& other, GateResult& result) {
  // Of a base that is not whole the peak, and the slowest of its ranks, are lower bounds: they prove no failure.
  const bool misses_ranks = most_ranks(base) < most_ranks(other) && most_ranks(base) > 0 && !result.losses.empty();
  for (GateCheck& check : result.checks) {
    if (check.verdict == GateVerdict::kNotAsked) continue;
    const bool is_memory = check.quantity != GateQuantity::kStepTime;
    const bool is_lower_bound = misses_ranks || (is_memory && !base.losses.empty());
    if (result.not_comparable) {
      check.verdict = GateVerdict::kCannotTell;
      check.doubt = GateDoubt::kNotComparable;
    } else if ((check.verdict == GateVerdict::kPassed && !result.losses.empty()) ||
               (check.verdict == GateVerdict::kFailed && is_lower_bound)) {
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
  const auto add = [name](const std::vector<std::string>& from, std::vector<std::string>& into) {
    for (const std::string& remark : from) {
      std::string named = std::string(name) + ": " + remark;
      if (std::find(into.begin(), into.end(), named) == into.end()) into.push_back(std::move(named));
    }
  };
  add(side.losses, result.losses);
  add(side.warnings, result.warnings);
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
    warn_of_same_times(base, other, result);
    if (!result.checks.front().tail.empty()) result.warnings.push_back(result.checks.front().tail);
  }
  add_memory(base, other, options, result);
  apply_doubts(base, other, result);
  return result;
}

}  // namespace stepscope

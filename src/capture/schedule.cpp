// Which action a step has, and what lies between two actions.
//
// `repeat > 0 and s / n >= repeat` is meant with a real quotient; for whole numbers the truncated quotient says the
// same and needs no double. Sums of counts get 128 bits, since a cycle of three counts near the largest int64 is
// allowed and a refusal would be one more rule to know. The transitions are a table, because it is read against the
// definition row by row.
#include "stepscope/schedule.h"

#include <array>
#include <charconv>
#include <utility>

namespace stepscope {
namespace {

__extension__ using Wide = __int128;

struct Count {
  std::string_view key;
  std::int64_t ScheduleParameters::*field;
};
// In the order in which to_string() writes them.
constexpr std::array<Count, 5> kCounts = {{{"skip", &ScheduleParameters::skip_first},
                                           {"wait", &ScheduleParameters::wait},
                                           {"warmup", &ScheduleParameters::warmup},
                                           {"active", &ScheduleParameters::active},
                                           {"repeat", &ScheduleParameters::repeat}}};

Error invalid(std::string message) { return {ErrorCode::kInvalidArgument, std::move(message), {}, {}}; }

ProfilerAction cycle_action(const ScheduleParameters& p, std::int64_t step) {
  if (step < p.skip_first) return ProfilerAction::kNone;
  Wide s = Wide{step} - p.skip_first;
  if (p.skip_first_wait) s += p.wait;
  const Wide cycle = Wide{p.wait} + p.warmup + p.active;
  if (p.repeat > 0 && s / cycle >= p.repeat) return ProfilerAction::kNone;
  const Wide m = s % cycle;
  if (m < p.wait) return ProfilerAction::kNone;
  if (m < Wide{p.wait} + p.warmup) return ProfilerAction::kWarmup;
  return m < cycle - 1 ? ProfilerAction::kRecord : ProfilerAction::kRecordAndSave;
}

}  // namespace

std::string_view action_name(ProfilerAction action) {
  switch (action) {
    case ProfilerAction::kNone:
      return "NONE";
    case ProfilerAction::kWarmup:
      return "WARMUP";
    case ProfilerAction::kRecord:
      return "RECORD";
    case ProfilerAction::kRecordAndSave:
      return "RECORD_AND_SAVE";
  }
  return "NONE";
}

Schedule Schedule::from_function(Function function) {
  Schedule made;
  made.function_ = std::move(function);
  return made;
}

ProfilerAction Schedule::action(std::int64_t step) const {
  if (step < 0) return ProfilerAction::kNone;
  if (function_) return function_(step);
  return parameters_ ? cycle_action(*parameters_, step) : ProfilerAction::kRecord;
}

std::vector<std::string> Schedule::warnings() const {
  std::vector<std::string> found;
  if (!parameters_) return found;
  if (parameters_->warmup == 0) {
    found.emplace_back("warmup is 0: the first recorded step of each cycle also pays for switching the tracing on");
  }
  if (parameters_->skip_first_wait && parameters_->wait == 0) {
    found.emplace_back("skip_first_wait changes nothing, since wait is 0");
  }
  return found;
}

std::string Schedule::to_string() const {
  if (!parameters_) return function_ ? "function" : "always";
  std::string text;
  for (const auto& [key, field] : kCounts) {
    if (!text.empty()) text += ',';
    text.append(key).append("=").append(std::to_string(*parameters_.*field));
  }
  if (parameters_->skip_first_wait) text += ",skip_first_wait=1";
  return text;
}

Result<Schedule> make_schedule(const ScheduleParameters& parameters) {
  for (const auto& [key, field] : kCounts) {
    const std::int64_t count = parameters.*field;
    if (count < 0) {
      return invalid("schedule: " + std::string(key) + " is " + std::to_string(count) + "; it counts steps, 0 or more");
    }
  }
  if (parameters.active == 0) return invalid("schedule: active is 0; at least one step of a cycle has to be recorded");
  Schedule made;
  made.parameters_ = parameters;
  return made;
}

namespace {

// Reads one "key=count" into `parameters`; `seen` has a bit a key.
Status parse_pair(std::string_view pair, ScheduleParameters& parameters, unsigned& seen) {
  const std::size_t equals = pair.find('=');
  if (equals == std::string_view::npos) {
    return invalid("schedule: '" + std::string(pair) + "' is no key=count, as in wait=5");
  }
  const std::string_view typed = pair.substr(0, equals);
  const std::string_view digits = pair.substr(equals + 1);
  const std::string_view key = typed == "skip_first" ? "skip" : typed;

  std::size_t which = 0;
  while (which < kCounts.size() && kCounts[which].key != key) ++which;
  if (which == kCounts.size() && key != "skip_first_wait") {
    return invalid("schedule: unknown key '" + std::string(typed) +
                   "'; the keys are skip, wait, warmup, active, repeat, skip_first_wait");
  }
  if ((seen >> which & 1U) != 0) return invalid("schedule: " + std::string(key) + " is given twice");
  seen |= 1U << which;

  std::int64_t count = 0;
  const auto [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), count);
  if (failure == std::errc::result_out_of_range) {
    return invalid("schedule: " + std::string(pair) + " is too large");
  }
  if (failure != std::errc{} || end != digits.data() + digits.size()) {
    return invalid("schedule: " + std::string(key) + " is '" + std::string(digits) + "', not a whole number");
  }
  if (which < kCounts.size()) {
    parameters.*kCounts[which].field = count;
  } else if (count == 0 || count == 1) {
    parameters.skip_first_wait = count == 1;
  } else {
    return invalid("schedule: skip_first_wait is " + std::string(digits) + "; it is 0 or 1");
  }
  return Done{};
}

}  // namespace

Result<Schedule> parse_schedule(std::string_view text) {
  if (text == "always") return Schedule{};
  ScheduleParameters parameters;
  unsigned seen = 0;
  for (std::string_view rest = text;;) {
    const std::size_t comma = rest.find(',');
    if (Status pair = parse_pair(rest.substr(0, comma), parameters, seen); !pair) return pair.error();
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  if ((seen >> 3 & 1U) == 0) {
    return invalid("schedule: active is missing; it says how many steps of a cycle to record");
  }
  return make_schedule(parameters);
}

namespace {

constexpr ProfilerOperation kWarn = ProfilerOperation::kWarn;
constexpr ProfilerOperation kPrepare = ProfilerOperation::kPrepare;
constexpr ProfilerOperation kStart = ProfilerOperation::kStart;
constexpr ProfilerOperation kStop = ProfilerOperation::kStop;
constexpr ProfilerOperation kReady = ProfilerOperation::kTraceReady;

struct Operations {
  std::array<ProfilerOperation, 4> list;
  std::size_t count;
};
template <class... Each>
constexpr Operations operations(Each... each) {
  return {{each...}, sizeof...(each)};
}

// Rows: the action before. Columns: NONE, WARMUP, RECORD or RECORD_AND_SAVE, end of session.
constexpr Operations kTransitions[4][4] = {
    // NONE
    {operations(), operations(kPrepare), operations(kPrepare, kStart), operations()},
    // WARMUP
    {operations(kWarn, kStart, kStop), operations(), operations(kStart), operations(kStart, kStop)},
    // RECORD
    {operations(kWarn, kStop), operations(kWarn, kStop), operations(), operations(kStop, kReady)},
    // RECORD_AND_SAVE
    {operations(kStop, kReady), operations(kStop, kReady, kPrepare), operations(kStop, kReady, kPrepare, kStart),
     operations(kStop, kReady)},
};

std::size_t column_of(std::optional<ProfilerAction> next) {
  if (!next) return 3;
  return *next == ProfilerAction::kRecordAndSave ? 2 : static_cast<std::size_t>(*next);
}

// A number that was cast to an action and is none (a foreign language's, a damaged file's).
bool is_action(ProfilerAction action) { return static_cast<std::size_t>(action) < std::size(kTransitions); }

}  // namespace

std::span<const ProfilerOperation> transition(ProfilerAction previous, std::optional<ProfilerAction> next) {
  if (!is_action(previous) || (next && !is_action(*next))) return {};
  const Operations& found = kTransitions[static_cast<std::size_t>(previous)][column_of(next)];
  return std::span(found.list).first(found.count);
}

std::string transition_warning(ProfilerAction previous, std::optional<ProfilerAction> next) {
  const auto found = transition(previous, next);
  if (found.empty() || found.front() != kWarn) return {};
  std::string text(action_name(previous));
  text.append(" is followed by ").append(action_name(*next));
  return text + (previous == ProfilerAction::kWarmup ? ": the warm-up was for nothing"
                                                     : ": what was recorded is thrown away; the last recorded step "
                                                       "of a cycle has to be RECORD_AND_SAVE");
}

}  // namespace stepscope

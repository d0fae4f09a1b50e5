// Dispatch by phase and category, and the rows of the host.
#include "import/chrome_json/row_writer.h"

#include <algorithm>

#include "import/chrome_json/decimal.h"
#include "import/chrome_json/escapes.h"
#include "import/chrome_json/scan.h"

namespace stepscope::chrome_json {
namespace {

// A duration beyond this is no measurement: profilers write 2^63 - 1 or 2^64 - 1 ns (292 and 584 years) for events
// whose end they never saw, less the start in some versions. No process runs for a year under a profiler.
constexpr DurationNs kLongestDuration = 365LL * 86400 * 1'000'000'000;
// Times lie within 142 years of zero (the year 2112 for times since 1970), so that no difference of two overflows.
constexpr TimeNs kFarthestTime = 4'500'000'000'000'000'000;

// A letter or sign, as the format has them; a byte of anything else is damage.
bool is_phase(std::string_view text) {
  return text.size() == 1 && text[0] > ' ' && text[0] < '\x7f' && text[0] != '"' && text[0] != '\\';
}

}  // namespace

MaybeInt integer_of(Token token) { return token.may_be_number() ? integer_in_block(token.text()) : MaybeInt(); }

void DeferredEvents::push_back(const Event& event, std::uint64_t file_order) {
  const auto size = static_cast<std::size_t>(event.end - event.begin);
  entries.push_back({file_order, text.size(), size});
  text.append(event.begin, size);
  text.push_back('\0');  // so that no value runs into the next event
}

void DeferredEvents::seal() {
  if (!entries.empty()) text.append(kTextPadding, '\0');
}

void RowWriter::note(NoteKind kind, NoteSeverity severity, std::string_view example) {
  fragment_.notes.add(kind, severity, file_order_, example);
}

std::string_view RowWriter::decode(std::string_view text) {
  const std::size_t invalid = decode_escapes(text, scratch_);
  if (invalid > 0) {
    fragment_.notes.add(NoteKind::kInvalidEscape, NoteSeverity::kRecovered, file_order_, text, invalid);
  }
  return scratch_;
}

std::string_view RowWriter::text_of(Token token) {
  switch (token.kind) {
    case TokenKind::kMissing:
    case TokenKind::kNoValue:
      return {};
    case TokenKind::kEscapedString:
      return decode(token.text());
    default:
      return token.text();
  }
}

StringId RowWriter::intern_text(std::string_view text, std::string_view as_written) {
  const StringId id = fragment_.strings.intern(text);
  // Each string is looked at once, when it is new in this block: a few hundred of thousands.
  for (; looked_at_ < fragment_.strings.size(); ++looked_at_) {
    const StringId added{static_cast<std::uint32_t>(looked_at_)};
    if (has_forbidden_bytes(fragment_.strings.view(added))) forbidden_.push_back(added);
  }
  if (!forbidden_.empty() && std::binary_search(forbidden_.begin(), forbidden_.end(), id) &&
      has_forbidden_bytes(as_written)) {  // a control character that was escaped is no damage
    note(NoteKind::kControlCharacter, NoteSeverity::kRecovered, text);
  }
  return id;
}

StringId RowWriter::intern(Token token) { return intern_text(text_of(token), token.text()); }

StringId RowWriter::intern_list(Token token) {
  if (token.is_string()) return intern(token);
  return token.kind == TokenKind::kContainer ? fragment_.strings.intern(token.text()) : StringId{};
}

std::optional<TimeNs> RowWriter::time_of(const Event& event) {
  const Token token = event.fields[Field::kTime];
  std::optional<TimeNs> time;
  if (token.may_be_number()) time = nanoseconds_in_block(token.text());
  if (time && (*time > kFarthestTime || *time < -kFarthestTime)) time.reset();
  if (!time) note(NoteKind::kMissingField, NoteSeverity::kLost, "an event without a readable `ts`");
  return time;
}

std::optional<EventTime> RowWriter::times_of(const Event& event) {
  const std::optional<TimeNs> start = time_of(event);
  if (!start) return std::nullopt;
  EventTime time{*start, *start, false};
  const Token token = event.fields[Field::kDuration];
  if (token.kind == TokenKind::kMissing) {
    note(NoteKind::kMissingField, NoteSeverity::kRecovered, "a complete event without `dur`, taken as 0");
    return time;
  }
  std::optional<DurationNs> duration;
  if (token.may_be_number()) duration = nanoseconds_in_block(token.text());
  TimeNs end = 0;
  if (!duration || *duration < 0 || *duration > kLongestDuration || __builtin_add_overflow(*start, *duration, &end)) {
    note(NoteKind::kBadDuration, NoteSeverity::kLost,
         std::string(text_of(event.fields[Field::kName])) + ": dur " + std::string(token.text()));
    time.is_bad = true;
    return time;
  }
  time.end_ns = end;
  return time;
}

ThreadId RowWriter::thread_of(const Event& event) {
  const Token pid = event.fields[Field::kPid];
  const Token tid = event.fields[Field::kTid];
  if (pid.text() != last_pid_ || tid.text() != last_tid_ || !last_thread_.has_value()) {
    const std::string pid_text(text_of(pid));
    last_thread_ = fragment_.thread(pid_text, text_of(tid));
    last_pid_ = pid.text();
    last_tid_ = tid.text();
  }
  return last_thread_;
}

void RowWriter::write(const Event& event, std::uint64_t file_order) {
  file_order_ = file_order;
  const std::string_view phase = event.fields[Field::kPhase].text();
  if (!is_phase(phase)) {
    if (event.end - event.begin <= 2 || *skip_space(event.begin + 1) == '}') {
      note(NoteKind::kEmptyObject, NoteSeverity::kInfo, "{}");
    } else {
      note(NoteKind::kMissingField, NoteSeverity::kLost, "an event without `ph`");
    }
    return;
  }
  switch (phase[0]) {
    case 'X':
      if (!event.fields.has(Field::kCategory)) return rows_.deferred.push_back(event, file_order);
      if (const std::optional<EventTime> time = times_of(event)) write_complete(event, *time);
      return;
    case 's':
    case 't':
    case 'f':
      return write_flow(event);
    case 'i':
    case 'I':
      return write_instant(event);
    case 'M':
      return write_metadata(event);
    case 'C':
      return write_counter(event);
    case 'B':
    case 'E':
    case 'b':
    case 'e':
    case 'S':
    case 'F':
      return rows_.deferred.push_back(event, file_order);
    default:
      if (const std::optional<TimeNs> time = time_of(event)) write_other(event, {*time, *time, false});
  }
}

void RowWriter::write_complete(const Event& event, EventTime time) {
  if (!event.fields.has(Field::kName))
    note(NoteKind::kMissingField, NoteSeverity::kRecovered, "an event without `name`");
  switch (category_of(event.fields[Field::kCategory].text())) {
    case Category::kOp:
      return write_op(event, time);
    case Category::kSpan:
      return write_span(event, time, false);
    case Category::kFrame:
      return write_frame(event, time);
    case Category::kCall:
      return write_call(event, time);
    case Category::kKernel:
      return write_gpu_event(event, time, GpuEventKind::kKernel);
    case Category::kCopy:
      return write_gpu_event(event, time, GpuEventKind::kCopy);
    case Category::kSet:
      return write_gpu_event(event, time, GpuEventKind::kSet);
    case Category::kGpuSpan:
      return write_gpu_span(event, time);
    case Category::kNone:
    case Category::kUnknown:
      note(NoteKind::kUnknownCategory, NoteSeverity::kInfo, text_of(event.fields[Field::kCategory]));
      [[fallthrough]];
    case Category::kMemory:
    case Category::kKnownOther:
      return write_other(event, time);
  }
}

void RowWriter::write_pair(const Event& begin, const Event& end, std::uint64_t file_order) {
  file_order_ = file_order;
  const std::optional<TimeNs> start = time_of(begin);
  const std::optional<TimeNs> stop = time_of(end);
  if (!start || !stop) return;
  EventTime time{*start, *stop, false};
  if (*stop < *start) {
    note(NoteKind::kBadDuration, NoteSeverity::kLost, text_of(begin.fields[Field::kName]));
    time = {*start, *start, true};
  }
  write_complete(begin, time);
}

void RowWriter::write_async_pair(const Event& begin, const Event& end, std::uint64_t file_order) {
  file_order_ = file_order;
  const std::optional<TimeNs> start = time_of(begin);
  const std::optional<TimeNs> stop = time_of(end);
  if (!start || !stop) return;
  if (*stop < *start) note(NoteKind::kBadDuration, NoteSeverity::kLost, text_of(begin.fields[Field::kName]));
  write_span(begin, {*start, std::max(*start, *stop), *stop < *start}, true);
}

void RowWriter::write_op(const Event& event, EventTime time) {
  Ops::Row row;
  row.start_ns = time.start_ns;
  row.end_ns = time.end_ns;
  row.thread = thread_of(event);
  row.name = intern(event.fields[Field::kName]);
  row.external_id = integer_of(event.args[Arg::kExternalId]);
  if (event.args.has(Arg::kSequence)) row.sequence = integer_of(event.args[Arg::kSequence]);
  if (event.args.has(Arg::kForwardThread)) {
    const MaybeInt forward = integer_of(event.args[Arg::kForwardThread]);
    if (forward.value_or(0) > 0) row.forward_thread = forward;
  }
  if (event.args.has(Arg::kInputDims)) row.shapes = intern_list(event.args[Arg::kInputDims]);
  if (event.args.has(Arg::kInputTypes)) row.types = intern_list(event.args[Arg::kInputTypes]);
  if (event.args.has(Arg::kConcreteInputs)) row.concrete_inputs = intern_list(event.args[Arg::kConcreteInputs]);
  if (event.args.has(Arg::kCallStack)) row.call_stack = intern(event.args[Arg::kCallStack]);
  if (event.args.has(Arg::kFlops)) {
    const MaybeInt flops = integer_of(event.args[Arg::kFlops]);
    if (flops.value_or(-1) >= 0) row.flops = flops;
  }
  row.file_order = file_order_;
  fragment_.ops.push_back(row);
}

void RowWriter::write_span(const Event& event, EventTime time, bool is_async) {
  Spans::Row row;
  row.start_ns = time.start_ns;
  row.end_ns = time.end_ns;
  row.thread = thread_of(event);
  row.name = intern(event.fields[Field::kName]);
  row.external_id = integer_of(event.args[Arg::kExternalId]);
  row.step_number = integer_of(event.args[Arg::kStepNumber]);
  row.is_async = is_async ? 1 : 0;
  if (event.args.has(Arg::kCallStack)) row.call_stack = intern(event.args[Arg::kCallStack]);
  row.file_order = file_order_;
  fragment_.spans.push_back(row);
}

void RowWriter::write_frame(const Event& event, EventTime time) {
  Frames::Row row;
  row.start_ns = time.start_ns;
  row.end_ns = time.end_ns;
  row.thread = thread_of(event);
  row.name = intern(event.fields[Field::kName]);
  row.python_id = integer_of(event.args[Arg::kPythonId]);
  row.python_parent_id = integer_of(event.args[Arg::kPythonParentId]);
  row.file_order = file_order_;
  fragment_.frames.push_back(row);
}

void RowWriter::write_call(const Event& event, EventTime time) {
  Calls::Row row;
  row.start_ns = time.start_ns;
  row.end_ns = time.end_ns;
  row.thread = thread_of(event);
  row.name = intern(event.fields[Field::kName]);
  row.correlation = integer_of(event.args[Arg::kCorrelation]);
  row.external_id = integer_of(event.args[Arg::kExternalId]);
  row.file_order = file_order_;
  fragment_.calls.push_back(row);
}

}  // namespace stepscope::chrome_json

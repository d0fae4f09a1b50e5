// Rows of GPUs: kernels, copies, sets, collectives, and the marks beside them.
//
// A GPU row is (device, stream) by the arguments of the event; pid and tid say the same in PyTorch's files and
// stand in where the arguments are missing (annotations). They are never mixed with host rows of the same numbers.
#include <algorithm>
#include <cmath>
#include <limits>

#include "import/chrome_json/decimal.h"
#include "import/chrome_json/row_writer.h"
#include "import/chrome_json/scan.h"

namespace stepscope::chrome_json {
namespace {

std::int32_t small_integer(MaybeInt number) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  return static_cast<std::int32_t>(std::clamp<std::int64_t>(number.value_or(0), 0, kMost));
}

// "[132, 1, 1]" to its numbers; 0 where there is none.
std::array<std::int32_t, 3> triple_of(Token token) {
  std::array<std::int32_t, 3> numbers{};
  if (token.kind != TokenKind::kContainer) return numbers;
  const char* at = token.data + 1;
  const char* const end = token.data + token.size;
  for (std::int32_t& number : numbers) {
    while (at < end && !is_digit(*at)) ++at;
    const char* const begin = at;
    while (at < end && is_digit(*at)) ++at;
    number = small_integer(integer_from({begin, static_cast<std::size_t>(at - begin)}));
  }
  return numbers;
}

// Percent as an integer or a real; -1 for none.
std::int16_t percent_of(Token token) {
  constexpr double kMost = 1000;
  const std::optional<double> number = token.may_be_number() ? real_from(token.text()) : std::nullopt;
  if (!number || !(*number >= 0) || *number > kMost) return -1;
  return static_cast<std::int16_t>(std::lround(*number));
}

}  // namespace

StreamId RowWriter::stream_of(const Event& event) {
  MaybeInt device = integer_of(event.args[Arg::kDevice]);
  if (!device.has_value()) device = integer_of(event.fields[Field::kPid]);
  const Token stream = event.args[Arg::kStream];
  const std::string_view key = stream.may_be_number() ? text_of(stream) : text_of(event.fields[Field::kTid]);
  return fragment_.stream(device.value_or(-1), key);
}

void RowWriter::write_gpu_event(const Event& event, EventTime time, GpuEventKind kind) {
  GpuEvents::Row row;
  row.start_ns = time.start_ns;
  row.end_ns = time.end_ns;
  const bool was_bad = event.args[Arg::kFault].text() == "bad_duration";
  row.fault = time.is_bad || was_bad ? TimeFault::kBadDuration : TimeFault::kNone;
  row.stream = stream_of(event);
  row.device = fragment_.streams.device[row.stream];
  row.name = intern(event.fields[Field::kName]);
  row.kind = kind;
  row.correlation = integer_of(event.args[Arg::kCorrelation]);
  row.external_id = integer_of(event.args[Arg::kExternalId]);
  row.process_hint = integer_of(event.args[Arg::kProcess]);
  row.graph_id = integer_of(event.args[Arg::kGraphId]);
  if (event.args.has(Arg::kOperatorName)) row.op_name = intern(event.args[Arg::kOperatorName]);
  if (event.args.has(Arg::kGraphCallStack)) row.call_stack = intern(event.args[Arg::kGraphCallStack]);
  row.bytes = integer_of(event.args[Arg::kBytes]);
  const auto grid = triple_of(event.args[Arg::kGrid]);
  const auto block = triple_of(event.args[Arg::kBlock]);
  row.grid_x = grid[0];
  row.grid_y = grid[1];
  row.grid_z = grid[2];
  row.block_x = block[0];
  row.block_y = block[1];
  row.block_z = block[2];
  row.registers_count = small_integer(integer_of(event.args[Arg::kRegisters]));
  row.shared_bytes = small_integer(integer_of(event.args[Arg::kSharedMemory]));
  row.occupancy_percent = percent_of(event.args[Arg::kOccupancy]);
  if (event.args.has(Arg::kCollectiveName)) row.collective = write_collective(event);
  row.file_order = file_order_;
  fragment_.gpu_events.push_back(row);
}

CollectiveId RowWriter::write_collective(const Event& event) {
  Collectives::Row row;
  row.name = intern(event.args[Arg::kCollectiveName]);
  row.dtype = intern(event.args[Arg::kDataType]);
  row.in_count = integer_of(event.args[Arg::kInCount]);
  row.out_count = integer_of(event.args[Arg::kOutCount]);
  row.group_size = integer_of(event.args[Arg::kGroupSize]);
  row.group_name = intern(event.args[Arg::kGroupName]);
  row.group_ranks = intern_list(event.args[Arg::kGroupRanks]);
  return fragment_.collectives.push_back(row);
}

void RowWriter::write_gpu_span(const Event& event, EventTime time) {
  GpuSpans::Row row;
  row.start_ns = time.start_ns;
  row.end_ns = time.end_ns;
  row.stream = stream_of(event);
  row.device = fragment_.streams.device[row.stream];
  row.category =
      intern(event.args.has(Arg::kSpanCategory) ? event.args[Arg::kSpanCategory] : event.fields[Field::kCategory]);
  row.name = intern(event.fields[Field::kName]);
  row.correlation = integer_of(event.args[Arg::kCorrelation]);
  row.external_id = integer_of(event.args[Arg::kExternalId]);
  row.file_order = file_order_;
  fragment_.gpu_spans.push_back(row);
}

}  // namespace stepscope::chrome_json

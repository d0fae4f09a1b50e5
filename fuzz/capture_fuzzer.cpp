// Any bytes as a capture file: no crash, no hang, no blown memory, and a trace that keeps its invariants.
//
// A fuzzer does not guess 64-bit checksums, so half of the inputs are taken as payloads: `kind, size (2 bytes), bytes`,
// each put into a sound chunk. The other half are files as they are. What was read is written and read again: it must
// be the same.
#include <cstdlib>
#include <string>

#include "export/capture_trace.h"
#include "export/same_trace.h"
#include "import/bytes/byte_source.h"
#include "import/capture/capture.h"
#include "wire/chunk.h"

namespace {

using namespace stepscope;

std::string file_of_payloads(std::string_view input) {
  std::string file = wire::file_header();
  wire::ChunkEncoder encoder;
  while (input.size() >= 3) {
    const auto kind = static_cast<wire::ChunkKind>(static_cast<unsigned char>(input[0]) % 2);
    const std::size_t size = static_cast<unsigned char>(input[1]) + 256 * static_cast<unsigned char>(input[2]);
    input.remove_prefix(3);
    const std::string_view payload = input.substr(0, size);
    file += encoder.encode(kind, payload, 1);
    input.remove_prefix(payload.size());
  }
  return file;
}

void check(bool is_sound) {
  if (!is_sound) std::abort();
}

template <class Table>
void check_times(const Table& rows) {
  for (const auto id : rows.ids().ids()) check(rows.start_ns[id] <= rows.end_ns[id]);
}

void check_trace(const Trace& trace) {
  check_times(trace.ops);
  check_times(trace.spans);
  check_times(trace.frames);
  check_times(trace.calls);
  check_times(trace.gpu_events);
  check_times(trace.gpu_spans);
  for (const GpuEventId id : trace.gpu_events.ids().ids()) {
    check(trace.gpu_events.stream[id].value < trace.streams.size());
    check(trace.gpu_events.device[id] == trace.streams.device[trace.gpu_events.stream[id]]);
    check(!trace.gpu_events.call[id].has_value() || trace.gpu_events.call[id].value < trace.calls.size());
    check(!trace.gpu_events.op[id].has_value() || trace.gpu_events.op[id].value < trace.ops.size());
    check(!trace.gpu_events.collective[id].has_value() ||
          trace.gpu_events.collective[id].value < trace.collectives.size());
  }
  for (const FrameId id : trace.frames.ids().ids()) {
    const FrameId parent = trace.frames.parent[id];
    check(!parent.has_value() || parent.value < id.value);
  }
}

Result<std::vector<Trace>> read(std::string file) {
  const auto source = bytes_of(std::move(file));
  return capture_format::read(*source, "fuzz", {.threads = 1, .progress = {}});
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string input(reinterpret_cast<const char*>(data), size);
  if (!input.empty() && input[0] == 'P') input = file_of_payloads(std::string_view(input).substr(1));
  const auto traces = read(std::move(input));
  if (!traces) return 0;
  const Trace& trace = traces->front();
  check_trace(trace);
  std::string written;
  const Status status = write_capture(trace, [&](std::string_view piece) -> Status {
    written += piece;
    return Done{};
  });
  check(status.has_value());
  const auto again = read(std::move(written));
  check(again.has_value());
  if (!find_table_difference(trace, again->front()).empty()) {
    fprintf(stderr, "%s\n", find_table_difference(trace, again->front()).c_str());
    std::abort();
  }
  return 0;
}

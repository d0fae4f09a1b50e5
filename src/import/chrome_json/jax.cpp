// Rows of JAX. Rows of a device that lie on no stream ("XLA Modules", "Steps") repeat the work of others and are
// marks; on a TPU, which has no streams, "XLA Ops" is the work.
#include "import/chrome_json/jax.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "import/chrome_json/decimal.h"
#include "import/chrome_json/row_writer.h"

namespace stepscope::chrome_json {
namespace {

std::int32_t number_behind(std::string_view& text) {
  std::int32_t number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (!text.empty() && text[0] == ',') text.remove_prefix(1);
  return code == std::errc() && number > 0 ? number : 0;
}

void fill_kernel(std::string_view details, GpuEvents::Row& row) {
  std::string_view grid = jax_detail(details, "grid");
  row.grid_x = number_behind(grid);
  row.grid_y = number_behind(grid);
  row.grid_z = number_behind(grid);
  std::string_view block = jax_detail(details, "block");
  row.block_x = number_behind(block);
  row.block_y = number_behind(block);
  row.block_z = number_behind(block);
  std::string_view registers = jax_detail(details, "regs");
  row.registers_count = number_behind(registers);
  const MaybeInt fixed = integer_from(jax_detail(details, "static_shared"));
  const MaybeInt dynamic = integer_from(jax_detail(details, "dynamic_shared"));
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max() / 2;
  row.shared_bytes = static_cast<std::int32_t>(std::clamp<std::int64_t>(fixed.value_or(0), 0, kMost) +
                                               std::clamp<std::int64_t>(dynamic.value_or(0), 0, kMost));
}

// Names of the CUDA and HIP APIs: a lower-case prefix and then a capital.
bool is_api_name(std::string_view name) {
  for (const std::string_view prefix : {"cuda", "cu", "hip"}) {
    if (name.starts_with(prefix) && name.size() > prefix.size() && name[prefix.size()] >= 'A' &&
        name[prefix.size()] <= 'Z') {
      return true;
    }
  }
  return false;
}

}  // namespace

JaxProcess jax_process_of(std::string_view process_name) {
  if (process_name.starts_with("/host:")) return {JaxProcess::Kind::kHost, 0};
  if (!process_name.starts_with("/device:")) return {};
  const std::size_t colon = process_name.rfind(':');
  std::string_view number = process_name.substr(colon + 1);
  number = number.substr(0, number.find_first_not_of("0123456789"));
  return {JaxProcess::Kind::kDevice, integer_from(number).value_or(0)};
}

std::string jax_frame_name(std::string_view name) {
  if (!name.starts_with('$')) return {};
  name.remove_prefix(1);
  const std::size_t space = name.find(' ');
  const std::size_t colon = name.rfind(':', space);
  if (space == std::string_view::npos) return std::string(name);
  if (colon == std::string_view::npos)
    return std::string(name.substr(0, space)) + ": " + std::string(name.substr(space + 1));
  return std::string(name.substr(0, colon)) + "(" + std::string(name.substr(colon + 1, space - colon - 1)) +
         "): " + std::string(name.substr(space + 1));
}

std::string_view jax_detail(std::string_view details, std::string_view key) {
  std::size_t at = 0;
  while ((at = details.find(key, at)) != std::string_view::npos) {
    const std::size_t behind = at + key.size();
    if ((at == 0 || details[at - 1] == ' ') && behind < details.size() && details[behind] == ':') {
      return details.substr(behind + 1, details.find(' ', behind) - behind - 1);
    }
    at = behind;
  }
  return {};
}

void RowWriter::write_jax(const Event& event, std::uint64_t file_order, JaxProcess process,
                          std::string_view thread_name) {
  file_order_ = file_order;
  const std::optional<EventTime> time = times_of(event);
  if (!time) return;
  if (process.kind == JaxProcess::Kind::kHost) return write_jax_host(event, *time);
  const bool is_work = thread_name.empty() || thread_name.starts_with("Stream") || thread_name == "XLA Ops";
  if (is_work)
    write_jax_work(event, *time, process.device_number, thread_name);
  else
    write_jax_mark(event, *time, process.device_number, thread_name);
}

// The builder names streams by the number of their device, where JAX's metadata have the pid.
StreamId RowWriter::jax_stream(const Event& event, std::int64_t device, std::string_view thread_name) {
  const std::size_t before = fragment_.streams.size();
  const std::string key(text_of(event.fields[Field::kTid]));
  const StreamId stream = fragment_.stream(device, key);
  if (fragment_.streams.size() != before && !thread_name.empty()) {
    rows_.place_names.push_back({std::to_string(device), key, std::string(thread_name)});
  }
  return stream;
}

void RowWriter::write_jax_work(const Event& event, EventTime time, std::int64_t device, std::string_view thread_name) {
  GpuEvents::Row row;
  row.start_ns = time.start_ns;
  row.end_ns = time.end_ns;
  row.fault = time.is_bad ? TimeFault::kBadDuration : TimeFault::kNone;
  row.stream = jax_stream(event, device, thread_name);
  row.device = fragment_.streams.device[row.stream];
  row.name = intern(event.fields[Field::kName]);
  const std::string_view name = fragment_.strings.view(row.name);
  row.kind = name.starts_with("Memcpy")   ? GpuEventKind::kCopy
             : name.starts_with("Memset") ? GpuEventKind::kSet
                                          : GpuEventKind::kKernel;
  row.correlation = integer_of(event.args[Arg::kCorrelation]);
  row.graph_id = integer_of(event.args[Arg::kGraphId]);
  if (row.kind == GpuEventKind::kCopy)
    row.bytes = integer_from(jax_detail(text_of(event.args[Arg::kMemcpyDetails]), "size"));
  if (row.kind == GpuEventKind::kSet)
    row.bytes = integer_from(jax_detail(text_of(event.args[Arg::kMemsetDetails]), "num_bytes"));
  if (row.kind == GpuEventKind::kKernel) fill_kernel(text_of(event.args[Arg::kKernelDetails]), row);
  row.occupancy_percent = -1;
  row.file_order = file_order_;
  fragment_.gpu_events.push_back(row);
}

void RowWriter::write_jax_mark(const Event& event, EventTime time, std::int64_t device, std::string_view thread_name) {
  GpuSpans::Row row;
  row.start_ns = time.start_ns;
  row.end_ns = time.end_ns;
  row.stream = jax_stream(event, device, thread_name);
  row.device = fragment_.streams.device[row.stream];
  row.category = intern_text(thread_name);
  row.name = intern(event.fields[Field::kName]);
  row.file_order = file_order_;
  fragment_.gpu_spans.push_back(row);
}

void RowWriter::write_jax_host(const Event& event, EventTime time) {
  if (event.args.has(Arg::kStepNumber)) return write_span(event, time, false);
  const std::string_view name = event.fields[Field::kName].text();
  if (is_api_name(name) || event.args.has(Arg::kCorrelation)) return write_call(event, time);
  const std::string frame = jax_frame_name(text_of(event.fields[Field::kName]));
  if (frame.empty()) return write_op(event, time);
  Frames::Row row;
  row.start_ns = time.start_ns;
  row.end_ns = time.end_ns;
  row.thread = thread_of(event);
  row.name = intern_text(frame);
  row.file_order = file_order_;
  fragment_.frames.push_back(row);
}

}  // namespace stepscope::chrome_json

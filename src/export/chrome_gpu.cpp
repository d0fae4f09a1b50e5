// Device rows: what ran on each stream, with the arguments that tools compute with.
//
// `blocks per SM` and `warps per SM` are no columns of the trace: they follow from grid, block and the device, and
// TensorBoard's plugin takes its SM efficiency from them. They are computed as libkineto does, in single precision.
#include <array>
#include <charconv>
#include <utility>
#include <vector>

#include "export/chrome_parts.h"
#include "export/external_ids.h"

namespace stepscope {
namespace {

class Gpu {
 public:
  explicit Gpu(ChromeText& text) : text_(text), trace_(text.trace), out_(text.out), external_ids_(text.trace) {
    for (const StreamId id : trace_.streams.ids().ids()) {
      const std::string device = std::to_string(trace_.devices.number[trace_.streams.device[id]]);
      const std::string_view stream = trace_.text(trace_.streams.key[id]);
      places_.push_back(place_text(device, stream));
      std::string& arguments = arguments_.emplace_back("\"device\": ");
      arguments += device;
      arguments += ", \"stream\": ";
      arguments += key_text(stream);
    }
  }

  // Both tables are sorted by device and start. Marks stand before the work that starts with them.
  void write() {
    const GpuEvents& events = trace_.gpu_events;
    const GpuSpans& spans = trace_.gpu_spans;
    GpuEventId event(0);
    GpuSpanId span(0);
    while (!out_.failed() && (event.value < events.size() || span.value < spans.size())) {
      const bool is_span = event.value == events.size() ||
                           (span.value < spans.size() && std::pair(spans.device[span], spans.start_ns[span]) <=
                                                             std::pair(events.device[event], events.start_ns[event]));
      text_.begin_event();
      if (is_span)
        write_span(GpuSpanId(span.value++));
      else
        write_event(GpuEventId(event.value++));
      text_.end_event();
    }
  }

 private:
  [[nodiscard]] const std::string& place_of(StreamId id) const { return places_[id.value]; }

  void put_stream(ChromeArgs& args, StreamId id) {
    // The text begins with its first key.
    args.key("").put(arguments_[id.value]);
  }

  void write_event(GpuEventId id) {
    const GpuEvents& events = trace_.gpu_events;
    static constexpr std::string_view kCategories[] = {"\"kernel\"", "\"gpu_memcpy\"", "\"gpu_memset\""};
    text_.put_complete(kCategories[static_cast<std::size_t>(events.kind[id])], events.name[id],
                       place_of(events.stream[id]), events.start_ns[id], events.end_ns[id]);
    ChromeArgs args(out_);
    args.put("\"External id\": ", external_ids_.of(id));
    put_stream(args, events.stream[id]);
    args.put("\"correlation\": ", events.correlation[id]);
    args.put("\"graph id\": ", events.graph_id[id]);
    put_string(args, "\"stepscope operator\": ", events.op_name[id]);
    put_string(args, "\"stepscope call stack\": ", events.call_stack[id]);
    args.put("\"pid\": ", events.process_hint[id]);
    put_size(args, id);
    put_launch(args, id);
    if (events.occupancy_percent[id] >= 0)
      args.key("\"est. achieved occupancy %\": ").put_integer(events.occupancy_percent[id]);
    if (events.collective[id].has_value()) put_collective(args, events.collective[id]);
    if (events.fault[id] == TimeFault::kBadDuration) args.key("\"stepscope fault\": ").put("\"bad_duration\"");
    args.close();
  }

  void put_size(ChromeArgs& args, GpuEventId id) {
    const GpuEvents& events = trace_.gpu_events;
    const MaybeInt bytes = events.bytes[id];
    const DurationNs duration = events.end_ns[id] - events.start_ns[id];
    args.put("\"bytes\": ", bytes);
    if (!bytes.has_value() || duration <= 0) return;
    std::array<char, 32> digits{};  // bytes a nanosecond are GB/s
    const double rate = static_cast<double>(bytes.value()) / static_cast<double>(duration);
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), rate);
    args.key("\"memory bandwidth (GB/s)\": ")
        .put(std::string_view(digits.data(), static_cast<std::size_t>(end.ptr - digits.data())));
  }

  void put_launch(ChromeArgs& args, GpuEventId id) {
    const GpuEvents& events = trace_.gpu_events;
    const bool has_grid = events.grid_x[id] != 0 || events.grid_y[id] != 0 || events.grid_z[id] != 0;
    const bool has_block = events.block_x[id] != 0 || events.block_y[id] != 0 || events.block_z[id] != 0;
    if (!has_grid && !has_block && events.registers_count[id] == 0 && events.shared_bytes[id] == 0) return;
    args.key("\"registers per thread\": ").put_integer(events.registers_count[id]);
    args.key("\"shared memory\": ").put_integer(events.shared_bytes[id]);
    put_load(args, id);
    args.key("\"grid\": ");
    put_triple(events.grid_x[id], events.grid_y[id], events.grid_z[id]);
    args.key("\"block\": ");
    put_triple(events.block_x[id], events.block_y[id], events.block_z[id]);
  }

  void put_load(ChromeArgs& args, GpuEventId id) {
    const GpuEvents& events = trace_.gpu_events;
    const MaybeInt sm_count = trace_.devices.sm_count[events.device[id]];
    if (sm_count.value_or(0) <= 0) return;
    constexpr float kWarpSize = 32;
    auto as_float = [](std::int32_t number) { return static_cast<float>(number); };
    const float blocks = as_float(events.grid_x[id]) * as_float(events.grid_y[id]) * as_float(events.grid_z[id]);
    const float threads = as_float(events.block_x[id]) * as_float(events.block_y[id]) * as_float(events.block_z[id]);
    const float blocks_per_sm = blocks / static_cast<float>(sm_count.value());
    args.key("\"blocks per SM\": ");
    put_float(blocks_per_sm);
    args.key("\"warps per SM\": ");
    put_float(blocks_per_sm * threads / kWarpSize);
  }

  // Six decimals, as C++ prints a float.
  void put_float(float number) {
    std::array<char, 64> digits{};  // a float has at most 39 digits before the point
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number, std::chars_format::fixed, 6);
    out_.put(std::string_view(digits.data(), static_cast<std::size_t>(end.ptr - digits.data())));
  }

  void put_triple(std::int32_t x, std::int32_t y, std::int32_t z) {
    out_.put('[');
    out_.put_integer(x);
    out_.put(", ");
    out_.put_integer(y);
    out_.put(", ");
    out_.put_integer(z);
    out_.put(']');
  }

  void put_collective(ChromeArgs& args, CollectiveId id) {
    const Collectives& all = trace_.collectives;
    args.key("\"Collective name\": ");
    text_.strings.put_quoted(all.name[id]);
    args.put("\"In msg nelems\": ", all.in_count[id]);
    args.put("\"Out msg nelems\": ", all.out_count[id]);
    args.put("\"Group size\": ", all.group_size[id]);
    put_string(args, "\"dtype\": ", all.dtype[id]);
    put_string(args, "\"Process Group Name\": ", all.group_name[id]);
    put_string(args, "\"Process Group Ranks\": ", all.group_ranks[id]);
  }

  template <std::size_t kSize>
  void put_string(ChromeArgs& args, const char (&key)[kSize], StringId id) {
    if (id.empty()) return;
    args.key(key);
    text_.strings.put_quoted(id);
  }

  // Rows of categories that only their device's row made a mark of (JAX's modules) keep their category beside ours.
  void write_span(GpuSpanId id) {
    const GpuSpans& spans = trace_.gpu_spans;
    const std::string_view category = trace_.text(spans.category[id]);
    const bool is_sync = category == "cuda_sync" || category == "cuda_event";
    const std::string_view json = category == "cuda_sync"    ? "\"cuda_sync\""
                                  : category == "cuda_event" ? "\"cuda_event\""
                                                             : "\"gpu_user_annotation\"";
    text_.put_complete(json, spans.name[id], place_of(spans.stream[id]), spans.start_ns[id], spans.end_ns[id]);
    ChromeArgs args(out_);
    args.put("\"External id\": ", spans.external_id[id]);
    if (is_sync) put_stream(args, spans.stream[id]);
    args.put("\"correlation\": ", spans.correlation[id]);
    if (!is_sync && category != "gpu_user_annotation") {
      args.key("\"stepscope category\": ");
      text_.strings.put_quoted(spans.category[id]);
    }
    args.close();
  }

  ChromeText& text_;
  const Trace& trace_;
  TextBuffer& out_;
  const ExternalIds external_ids_;
  std::vector<std::string> places_, arguments_;  // by stream
};

}  // namespace

void write_chrome_gpu(ChromeText& text) { Gpu(text).write(); }

}  // namespace stepscope

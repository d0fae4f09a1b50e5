// Built as importers do, through fragments and the builder.
#include "export/random_trace.h"

#include <array>
#include <limits>
#include <random>
#include <string>
#include <string_view>

#include "trace/builder.h"

namespace stepscope {
namespace {

using namespace std::string_view_literals;

// Valid UTF-8: what broken text becomes is json_text_test's matter.
constexpr std::array kTexts = {"aten::mm"sv,
                               ""sv,
                               "say \"hi\""sv,
                               "C:\\new\\"sv,
                               "a\nb\tc\r\b\f\x01\x1f\x7f"sv,
                               "null\0byte"sv,
                               "</script><!-- -->"sv,
                               "\u2028\u2029"sv,
                               "熱 🔥 ä"sv,
                               "{\"ph\": \"X\", \"name\": \"fake\"},\n"sv,
                               "\", \"pid\": 7, \"tid\": 8, \"ts\": 9"sv,
                               "ProfilerStep#7"sv,
                               "[memory]"sv,
                               "nn.Module: Linear_12"sv,
                               "nn.Module: Linear_"sv,
                               "\\u0041"sv,
                               "123"sv,
                               "null"sv,
                               "\\"sv};
constexpr std::array kLists = {
    ""sv,         "[]"sv,      "[[2, 3], [], \"x\"]"sv, "[inf, nan]"sv, "[[1,"sv, "[\"</script>\"]"sv, "{\"a\": 1}"sv,
    "not json"sv, "[1] [2]"sv, "\"quoted\""sv};
constexpr std::array kKeys = {"4242"sv,   "77"sv, "0x1f"sv, "-1"sv, "Spans"sv, ""sv, "007"sv, "99999999999999999999"sv,
                              "a \"b\""sv};

class Maker {
 public:
  explicit Maker(std::uint32_t seed) : random_(seed) {}

  Trace make() {
    Builder builder;
    builder.info().producer = "chrome-json";  // none of ours, whose calls without a number are judged otherwise
    make_info(builder.info());
    const std::size_t fragments = 1 + below(3);
    for (std::size_t i = 0; i < fragments; ++i) {
      Fragment fragment;
      for (std::size_t rows = below(60); rows > 0; --rows) add_row(fragment);
      builder.add(std::move(fragment));
    }
    Fragment last;
    for (std::size_t rows = below(5); rows > 0; --rows) add_open_begin(last);
    builder.add(std::move(last));
    make_names(builder);
    return builder.finish(1);
  }

 private:
  std::size_t below(std::size_t most) { return random_() % most; }
  bool chance(std::size_t one_in) { return below(one_in) == 0; }
  template <class List>
  std::string_view one_of(const List& list) {
    return list[below(list.size())];
  }

  MaybeInt number() {
    constexpr std::array<std::int64_t, 8> kNumbers = {
        0,    1, -1, 7, 1LL << 40, std::numeric_limits<std::int64_t>::max(), -std::numeric_limits<std::int64_t>::max(),
        12345};
    return chance(3) ? MaybeInt() : MaybeInt(kNumbers[below(kNumbers.size())]);
  }

  // Few times, so that rows meet; sometimes far ones.
  TimeNs time() {
    constexpr std::array<TimeNs, 4> kFar = {1'790'857'026'123'456'789, -1, -4'000'000'000'000'000'000,
                                            4'000'000'000'000'000'000};
    return chance(8) ? kFar[below(kFar.size())] : static_cast<TimeNs>(below(12) * 1001);
  }

  template <class Row>
  void set_times(Row& row) {
    row.start_ns = time();
    row.end_ns = row.start_ns + static_cast<DurationNs>(below(4) * 999);
  }

  ThreadId thread(Fragment& to) { return to.thread(one_of(kKeys), one_of(kKeys)); }
  StringId text(Fragment& to) { return to.strings.intern(one_of(kTexts)); }
  StringId list(Fragment& to) { return to.strings.intern(one_of(kLists)); }
  StringId key(Fragment& to) { return to.strings.intern(one_of(kKeys)); }

  ProcessGroup process_group() {
    ProcessGroup group{"g", std::string(one_of(kTexts)), std::string(one_of(kTexts)), {}, {}};
    group.name += std::to_string(below(3));  // GCC 12 warns of the sum
    for (std::int64_t rank = 0; rank < 3; ++rank) {
      if (chance(2)) group.ranks.push_back(rank);
    }
    if (!group.ranks.empty() && chance(2)) group.size = static_cast<std::int64_t>(group.ranks.size());
    if (group.ranks.empty() && chance(2)) group.size = 64;
    return group;
  }

  void make_info(TraceInfo& info) {
    info.base_ns = chance(2) ? 0 : 1'790'857'026'000'000'000;
    if (chance(2)) info.rank = static_cast<std::int64_t>(below(3));
    if (chance(2)) info.world_size = static_cast<std::int64_t>(1 + below(3));
    for (std::size_t i = below(3); i > 0; --i) info.process_groups.push_back(process_group());
    info.backend = one_of(kTexts);
    info.trace_name = one_of(kTexts);
    info.host_name = one_of(kTexts);
    if (chance(2)) info.cuda_runtime_version = 13000;
    if (chance(2)) info.cuda_driver_version = 0;
    if (chance(2)) info.cupti_version = -1;
    info.record_shapes = chance(2);
    info.profile_memory = chance(2);
    info.with_stack = chance(2);
    info.with_flops = chance(2);
    info.with_modules = chance(2);
    info.command_line = one_of(kTexts);
    info.python_version = one_of(kTexts);
    info.torch_version = one_of(kTexts);
    if (chance(2)) info.process_start_ns = 1'790'857'000'120'000'000;
    for (std::size_t i = below(3); i > 0; --i) info.windows.push_back({time(), time()});
    for (std::size_t i = below(3); i > 0; --i) info.remarks.emplace_back(one_of(kTexts));
  }

  void make_names(Builder& builder) {
    if (chance(2))
      builder.set_device_properties({1, std::string(one_of(kTexts)), number(), number(), number(), number()});
    for (const std::string_view pid : kKeys) {
      if (chance(3)) builder.set_place_name({std::string(pid), "", std::string(one_of(kTexts)), chance(2)});
      for (const std::string_view tid : kKeys) {
        if (chance(3) && !tid.empty())
          builder.set_place_name({std::string(pid), std::string(tid), std::string(one_of(kTexts)), false});
      }
    }
    for (const std::string_view tid : kKeys) {
      if (chance(2) && !tid.empty())
        builder.set_place_name({"0", std::string(tid), std::string(one_of(kTexts)), false});
    }
  }

  void add_row(Fragment& to) {
    switch (below(10)) {
      case 0:
        return add_op(to);
      case 1:
        return add_span(to);
      case 2:
        return add_frame(to);
      case 3:
        return add_call(to);
      case 4:
      case 5:
        return add_gpu_event(to);
      case 6:
        return add_gpu_span(to);
      case 7:
        return add_memory(to);
      case 8:
        return chance(2) ? add_flow(to) : add_counter(to);
      default:
        return add_other(to);
    }
  }

  void add_op(Fragment& to) {
    Ops::Row row;
    set_times(row);
    row.thread = thread(to);
    row.name = text(to);
    row.external_id = number();
    row.sequence = number();
    if (chance(2)) row.forward_thread = 1 + static_cast<std::int64_t>(below(3));
    row.shapes = list(to);
    row.types = list(to);
    row.concrete_inputs = list(to);
    row.call_stack = text(to);
    if (chance(3)) row.flops = static_cast<std::int64_t>(below(1'000'000));
    to.ops.push_back(row);
  }

  void add_span(Fragment& to) {
    Spans::Row row;
    set_times(row);
    row.thread = thread(to);
    row.name = text(to);
    row.external_id = number();
    row.step_number = number();
    row.is_async = chance(2) ? 1 : 0;
    row.call_stack = text(to);
    to.spans.push_back(row);
  }

  void add_frame(Fragment& to) {
    Frames::Row row;
    set_times(row);
    row.thread = thread(to);
    row.name = text(to);
    row.python_id = number();
    row.python_parent_id = number();
    to.frames.push_back(row);
  }

  void add_call(Fragment& to) {
    Calls::Row row;
    set_times(row);
    row.thread = thread(to);
    constexpr std::array kCalls = {"cudaLaunchKernel"sv, "cuLaunchKernel"sv, "hipMemcpyAsync"sv, "cu"sv, ""sv};
    row.name = to.strings.intern(one_of(kCalls));
    row.correlation = number();
    row.external_id = number();
    to.calls.push_back(row);
  }

  std::int32_t size() {
    return chance(3) ? 0 : chance(5) ? std::numeric_limits<std::int32_t>::max() : static_cast<std::int32_t>(below(200));
  }

  void add_gpu_event(Fragment& to) {
    GpuEvents::Row row;
    set_times(row);
    row.stream = to.stream(static_cast<std::int64_t>(below(3)) - 1, one_of(kKeys));
    row.device = to.streams.device[row.stream];
    row.name = text(to);
    row.kind = static_cast<GpuEventKind>(below(3));
    if (row.start_ns == row.end_ns && chance(2)) row.fault = TimeFault::kBadDuration;
    row.correlation = number();
    row.external_id = number();
    row.process_hint = number();
    row.graph_id = number();
    row.op_name = text(to);
    row.call_stack = text(to);
    row.bytes = number();
    for (std::int32_t* each : {&row.grid_x, &row.grid_y, &row.grid_z, &row.block_x, &row.block_y, &row.block_z,
                               &row.registers_count, &row.shared_bytes}) {
      *each = size();
    }
    row.occupancy_percent = static_cast<std::int16_t>(static_cast<int>(below(102)) - 1);
    if (chance(3)) row.collective = add_collective(to);
    to.gpu_events.push_back(row);
  }

  CollectiveId add_collective(Fragment& to) {
    Collectives::Row row;
    row.name = text(to);
    row.dtype = text(to);
    row.in_count = number();
    row.out_count = number();
    row.group_size = number();
    row.group_name = text(to);
    row.group_ranks = list(to);
    return to.collectives.push_back(row);
  }

  void add_gpu_span(Fragment& to) {
    GpuSpans::Row row;
    set_times(row);
    row.stream = to.stream(static_cast<std::int64_t>(below(3)) - 1, one_of(kKeys));
    row.device = to.streams.device[row.stream];
    constexpr std::array kCategories = {"gpu_user_annotation"sv, "cuda_sync"sv, "cuda_event"sv,
                                        "XLA Modules"sv,         ""sv,          "kernel"sv};
    row.category = to.strings.intern(one_of(kCategories));
    row.name = text(to);
    row.correlation = number();
    row.external_id = number();
    to.gpu_spans.push_back(row);
  }

  void add_memory(Fragment& to) {
    MemoryEvents::Row row;
    row.time_ns = time();
    row.thread = thread(to);
    row.address = number();
    row.bytes = number().value_or(0);
    row.total_allocated_bytes = number();
    row.total_reserved_bytes = number();
    row.device_type = static_cast<std::int32_t>(below(3));
    row.device_number = static_cast<std::int32_t>(below(3)) - 1;
    to.memory_events.push_back(row);
  }

  void add_flow(Fragment& to) {
    Flows::Row row;
    row.time_ns = time();
    if (chance(3))
      row.id_text = to.strings.intern(chance(2) ? "0x1f" : "99999999999999999999");
    else
      row.id = static_cast<std::uint64_t>(number().value_or(5));
    row.category = text(to);
    row.name = text(to);
    row.process_key = key(to);
    row.thread_key = key(to);
    row.phase = "stf"[below(3)];
    to.flows.push_back(row);
  }

  void add_counter(Fragment& to) {
    constexpr std::array<double, 7> kValues = {
        0.0, -1.5, 1e300, 5e-324, 0.1, 123456789.0, std::numeric_limits<double>::quiet_NaN()};
    Counters::Row row;
    row.time_ns = time();
    row.process_key = key(to);
    row.name = text(to);
    for (std::size_t series = 1 + below(3); series > 0; --series) {
      row.series = text(to);
      row.value = kValues[below(kValues.size())];
      to.counters.push_back(row);
    }
  }

  void add_other(Fragment& to) {
    OtherEvents::Row row;
    set_times(row);
    constexpr std::array kCategories = {"overhead"sv, "Trace"sv, ""sv, "new \"kind\""sv, "cpu_instant_event"sv};
    row.category = to.strings.intern(one_of(kCategories));
    row.name = text(to);
    row.process_key = key(to);
    row.thread_key = key(to);
    row.phase = "XXXiIRN"[below(7)];
    if (row.phase != 'X') row.end_ns = row.start_ns;
    to.other_events.push_back(row);
  }

  // A begin that no end followed, and complete events without a category that were put off like it.
  void add_open_begin(Fragment& to) {
    OtherEvents::Row row;
    row.start_ns = row.end_ns = time();
    row.category = to.strings.intern(chance(2) ? "" : "cpu_op");
    row.name = text(to);
    row.process_key = to.strings.intern("unnamed");
    row.thread_key = key(to);
    row.phase = "BbS"[below(3)];
    to.other_events.push_back(row);
    if (!chance(2)) return;
    row.phase = 'X';
    row.category = {};
    row.end_ns += 5;
    to.other_events.push_back(row);
  }

  std::mt19937 random_;
};

}  // namespace

Trace random_trace(std::uint32_t seed) { return Maker(seed).make(); }

}  // namespace stepscope

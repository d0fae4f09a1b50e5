// session_like_trace FILE: writes a trace as a session of the C++ library makes it, with numbers that can be checked by
// hand, for the tests with other readers.
//
// Three steps of 1000 us. In each: `linear` launches a kernel of 500 us on stream 7, `copy_` a copy of 100 us on stream
// 13 that runs beside it, so per step the GPU works 500 us. A second thread loads data; allocations, a counter, an
// asynchronous span and a name with quotes are there too.
#include <array>
#include <cstdio>
#include <string>

#include "export/chrome_trace.h"
#include "trace/builder.h"

namespace stepscope {
namespace {

constexpr TimeNs kUs = 1000;
constexpr const char* kProcess = "4242";
constexpr const char* kMain = "4242";
constexpr const char* kLoader = "4250";

class SessionLike {
 public:
  Trace make() {
    fragment_.thread(kProcess, kMain);
    fragment_.thread(kProcess, kLoader);
    for (std::int64_t step = 0; step < 3; ++step) add_step(step);
    add_side_events();
    Builder builder;
    fill(builder);
    builder.add(std::move(fragment_));
    return builder.finish(1);
  }

 private:
  StringId text(std::string_view name) { return fragment_.strings.intern(name); }

  static void fill(Builder& builder) {
    TraceInfo& info = builder.info();
    info.base_ns = 1'790'812'800'000'000'000;
    info.rank = 0;
    info.world_size = 1;
    info.host_name = "node \"7\"";
    info.record_shapes = true;
    info.profile_memory = true;
    builder.set_device_properties({.number = 0,
                                   .name = "NVIDIA H200",
                                   .memory_bytes = 150'109'880'320,
                                   .sm_count = 132,
                                   .compute_major = 9,
                                   .compute_minor = 0});
    builder.set_place_name({.pid = kProcess, .tid = {}, .name = "train_mlp"});
    builder.set_place_name({.pid = kProcess, .tid = {}, .name = "CPU", .is_labels = true});
    builder.set_place_name({.pid = kProcess, .tid = kMain, .name = "main"});
    builder.set_place_name({.pid = kProcess, .tid = kLoader, .name = "loader"});
  }

  void add_step(std::int64_t step) {
    const TimeNs at = 5'000'000 * kUs + step * 1000 * kUs;
    add_span("ProfilerStep#" + std::to_string(3 + step), kMain, at, 1000 * kUs);
    add_span("forward \"mlp\"", kMain, at + 50 * kUs, 400 * kUs);
    add_span("load", kLoader, at + 10 * kUs, 300 * kUs);
    add_op("aten::linear", 2 * step + 1, "[[64, 128], [32, 128], [32]]", at + 100 * kUs, 100 * kUs);
    add_launch("cudaLaunchKernel", 2 * step + 1, at + 110 * kUs);
    GpuEvents::Row kernel;
    kernel.name = text("void gemm<float, 128>(float const*, float*)");
    kernel.grid_x = 264;
    kernel.grid_y = kernel.grid_z = 1;
    kernel.block_x = 256;
    kernel.block_y = kernel.block_z = 1;
    kernel.registers_count = 64;
    kernel.shared_bytes = 1024;
    add_gpu_event(kernel, "7", 2 * step + 1, at + 110 * kUs, at + 150 * kUs, 500 * kUs);
    add_op("aten::copy_", 2 * step + 2, "[[64, 128], [64, 128]]", at + 300 * kUs, 50 * kUs);
    add_launch("cudaMemcpyAsync", 2 * step + 2, at + 310 * kUs);
    GpuEvents::Row copy;
    copy.name = text("Memcpy HtoD (Pinned -> Device)");
    copy.kind = GpuEventKind::kCopy;
    copy.bytes = 32768;
    add_gpu_event(copy, "13", 2 * step + 2, at + 310 * kUs, at + 350 * kUs, 100 * kUs);
    add_allocation(at + 105 * kUs, 4096, 4096 * (step + 1));
  }

  void add_span(const std::string& name, const char* thread, TimeNs start_ns, DurationNs duration_ns,
                bool is_async = false) {
    Spans::Row row;
    row.start_ns = start_ns;
    row.end_ns = start_ns + duration_ns;
    row.thread = fragment_.thread(kProcess, thread);
    row.name = text(name);
    row.is_async = is_async ? 1 : 0;
    fragment_.spans.push_back(row);
  }

  void add_op(std::string_view name, std::int64_t external_id, std::string_view shapes, TimeNs start_ns,
              DurationNs duration_ns) {
    Ops::Row row;
    row.start_ns = start_ns;
    row.end_ns = start_ns + duration_ns;
    row.thread = fragment_.thread(kProcess, kMain);
    row.name = text(name);
    row.external_id = external_id;
    row.shapes = text(shapes);
    fragment_.ops.push_back(row);
  }

  void add_launch(std::string_view name, std::int64_t number, TimeNs start_ns) {
    Calls::Row row;
    row.start_ns = start_ns;
    row.end_ns = start_ns + 10 * kUs;
    row.thread = fragment_.thread(kProcess, kMain);
    row.name = text(name);
    row.correlation = number;
    row.external_id = number;
    fragment_.calls.push_back(row);
  }

  void add_gpu_event(GpuEvents::Row row, const char* stream, std::int64_t number, TimeNs launch_ns, TimeNs start_ns,
                     DurationNs duration_ns) {
    row.start_ns = start_ns;
    row.end_ns = start_ns + duration_ns;
    row.stream = fragment_.stream(0, stream);
    row.device = fragment_.streams.device[row.stream];
    row.correlation = number;
    row.external_id = number;
    row.occupancy_percent = -1;
    fragment_.gpu_events.push_back(row);
    add_arrow('s', number, launch_ns, kProcess, kMain);
    add_arrow('f', number, start_ns, "0", stream);
  }

  void add_arrow(char phase, std::int64_t number, TimeNs time_ns, const char* process, const char* thread) {
    Flows::Row row;
    row.time_ns = time_ns;
    row.id = static_cast<std::uint64_t>(number);
    row.category = row.name = text("ac2g");
    row.process_key = text(process);
    row.thread_key = text(thread);
    row.phase = phase;
    fragment_.flows.push_back(row);
  }

  void add_allocation(TimeNs time_ns, std::int64_t bytes, std::int64_t total_bytes) {
    MemoryEvents::Row row;
    row.time_ns = time_ns;
    row.thread = fragment_.thread(kProcess, kMain);
    row.address = 0x7f00'0000'0000 + total_bytes;
    row.bytes = bytes;
    row.total_allocated_bytes = total_bytes;
    row.total_reserved_bytes = 1 << 20;
    row.device_type = 1;
    row.device_number = 0;
    fragment_.memory_events.push_back(row);
  }

  void add_side_events() {
    add_span("prefetch", kLoader, 5'000'000 * kUs + 200 * kUs, 1500 * kUs, true);
    Counters::Row counter;
    counter.time_ns = 5'000'000 * kUs;
    counter.process_key = text(kProcess);
    counter.name = text("queue");
    counter.series = text("value");
    counter.value = 2.5;
    fragment_.counters.push_back(counter);
    OtherEvents::Row instant;
    instant.start_ns = instant.end_ns = 5'000'500 * kUs;
    instant.category = text("cpu_instant_event");
    instant.name = text("epoch begins");
    instant.process_key = text(kProcess);
    instant.thread_key = text(kMain);
    instant.phase = 'i';
    fragment_.other_events.push_back(instant);
  }

  Fragment fragment_;
};

}  // namespace
}  // namespace stepscope

int main(int count, char** arguments) {
  if (count != 2) {
    std::fputs("usage: session_like_trace FILE\n", stderr);
    return 2;
  }
  const stepscope::Status written = stepscope::write_chrome_trace_file(stepscope::SessionLike().make(), arguments[1]);
  if (written) return 0;
  std::fprintf(stderr, "%s\n", written.error().to_string().c_str());
  return 1;
}

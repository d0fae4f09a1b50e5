// From pieces of a file, read in parallel, to one linked Trace.
//
// An importer's worker fills a Fragment: tables with strings, threads and devices numbered locally. add()
// takes fragments in the order of the file; finish() sorts, renumbers and links. Sorting is adaptive, since
// real files are nearly in order: 1.5 M operators in order cost one pass. Scattering each column once, straight
// from the fragments, keeps the peak at one copy of the trace plus one column.
#pragma once

#include <memory>
#include <vector>

#include "base/hash.h"
#include "trace/trace.h"

namespace stepscope {

// One piece of a file. Ids and strings are valid only inside the fragment; `file_order` is absolute.
// Linked columns (parent, op, call, ...) are left empty.
struct Fragment {
  StringPool strings;
  Notes notes;
  Processes processes;
  Threads threads;
  Devices devices;  // only number is needed; properties go into Builder::set_device_properties
  Streams streams;
  Ops ops;
  Spans spans;
  Frames frames;
  Calls calls;
  GpuEvents gpu_events;
  Collectives collectives;
  GpuSpans gpu_spans;
  MemoryEvents memory_events;
  Flows flows;
  Counters counters;
  OtherEvents other_events;
  std::uint64_t metadata_event_count = 0;

  // Rows of places, added when new. The last one asked for is remembered, since events come in runs.
  ProcessId process(std::string_view pid);
  ThreadId thread(std::string_view pid, std::string_view tid);
  DeviceId device(std::int64_t number);
  StreamId stream(std::int64_t device_number, std::string_view key);

 private:
  tsl::robin_map<std::uint32_t, std::uint32_t, MixedHash> process_rows_;  // StringId of pid -> row
  tsl::robin_map<std::int64_t, std::uint32_t, MixedHash> device_rows_;    // number -> row
  tsl::robin_map<std::uint64_t, std::uint32_t, MixedHash> thread_rows_;   // (process row, StringId of tid) -> row
  tsl::robin_map<std::uint64_t, std::uint32_t, MixedHash> stream_rows_;   // (device row, StringId of the key) -> row
  ProcessId last_process_;
  ThreadId last_thread_;
  DeviceId last_device_;
  StreamId last_stream_;
};

struct DeviceProperties {
  std::int64_t number = 0;
  std::string name;
  MaybeInt memory_bytes, sm_count, compute_major, compute_minor;
};

// Names given by metadata events, which may stand anywhere in the file.
struct PlaceName {
  std::string pid;
  std::string tid;  // empty for a process
  std::string name;
  bool is_labels = false;  // process_labels instead of process_name
};

class Builder {
 public:
  Builder();
  ~Builder();
  Builder(Builder&&) noexcept;
  Builder& operator=(Builder&&) noexcept;

  TraceInfo& info();
  Notes& notes();
  void add(Fragment&& fragment);
  void set_device_properties(DeviceProperties properties);
  void set_place_name(PlaceName name);

  // Sorts, links and hands the trace over; the builder is empty afterwards. `threads` = 0 uses all cores.
  Trace finish(unsigned threads = 0);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace stepscope

// Records of a capture to rows of a Fragment.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "import/capture/definitions.h"
#include "import/capture/memory_rows.h"
#include "import/capture/stack_frames.h"
#include "trace/builder.h"
#include "wire/visitor.h"

namespace stepscope::capture_format {

class RecordsToRows : public WireVisitor {
 public:
  RecordsToRows() : definitions_(fragment_.strings) {}

  // Byte offset in the file that the records to come are told to stand at: their chunk's.
  void set_offset(std::uint64_t offset) { offset_ = offset; }
  // Makes frames, names graph kernels, and hands everything over. Nothing may be added afterwards.
  void finish(Builder& builder);
  [[nodiscard]] bool has_end() const { return has_end_; }
  // Text of a string's number, for the tables beside the records.
  [[nodiscard]] std::string_view text_of(WireString number) { return fragment_.strings[definitions_.text(number)]; }
  // Why nothing was recorded, where the capture says so.
  [[nodiscard]] std::string remarks() const;

  void on(const CaptureInfo&) override;
  void on(const WireStringDefinition& r) override { definitions_.add(r); }
  void on(const WireFrameDefinition& r) override { definitions_.add(r); }
  void on(const WireStackDefinition& r) override { definitions_.add(r); }
  void on(const WireThread&) override;
  void on(const WireDevice&) override;
  void on(const WireOp&) override;
  void on(const WireSpan&) override;
  void on(const WireCall&) override;
  void on(const WireGpuEvent&) override;
  void on(const WireGraphNode&) override;
  void on(const WireSync&) override;
  void on(const WireOverhead&) override;
  void on(const WireMemory&) override;
  void on(const WireSample&) override;
  void on(const WireCounter&) override;
  void on(const WireWindow&) override;
  void on(const WireLedger&) override;
  void on(const WireRemark&) override;
  void on(const WireEnd&) override;
  void on(const WireMemoryLevel& r) override { memory_.add(r, offset_); }

 private:
  struct Origin {  // of a kernel that no operator row explains
    StringId op;
    StackNode stack = 0;
  };

  void add_facts(const CaptureInfo& later);
  [[nodiscard]] TimeNs time(TimeNs absolute_ns) const;
  struct Times {
    TimeNs start_ns, end_ns;
    bool is_bad;
  };
  Times times(TimeNs start_ns, TimeNs end_ns, StringId name);
  // What a row has of a record with a beginning and an end, whichever kind: name, times, place in the file,
  // correlation.
  template <class Row, class Record>
  bool fill(Row& row, const Record& r);
  ThreadId thread(std::int64_t id);
  StringId number_text(std::int64_t number);
  void add_point(ThreadId thread, TimeNs start_ns, TimeNs end_ns, WireStack stack);
  void add_frames();
  void add_native_frames();
  void name_gpu_events();
  void note_ledgers();
  void note(NoteKind kind, NoteSeverity severity, std::string_view example, std::uint64_t count = 1) {
    fragment_.notes.add(kind, severity, offset_, example, count);
  }

  Fragment fragment_;
  Definitions definitions_;
  std::uint64_t offset_ = 0;
  std::optional<CaptureInfo> info_;
  std::string process_key_ = "0";
  TimeNs base_ns_ = 0;
  bool has_end_ = false;
  std::int64_t last_thread_id_ = 0;
  ThreadId last_thread_;
  Column<ThreadId, std::vector<StackPoint>> points_;
  struct NativeCall {
    StackPoint at;
    ThreadId thread;
    StringId name;
  };
  std::vector<NativeCall> native_calls_;
  tsl::robin_map<std::int64_t, Origin, MixedHash> graph_nodes_;
  tsl::robin_map<std::uint32_t, Origin, MixedHash> calls_without_op_row_;  // by correlation
  std::vector<MaybeInt> graph_node_of_event_;                              // beside fragment_.gpu_events
  MemoryRows memory_;
  std::map<std::int32_t, WireLedger> ledgers_;
  std::vector<Interval> windows_;
  std::vector<std::string> remarks_;
  std::vector<DeviceProperties> devices_;
  std::vector<PlaceName> names_;
};

}  // namespace stepscope::capture_format

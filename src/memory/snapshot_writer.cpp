// One walk over the columns for both encoders. Keys stand in torch's order.
//
// device_traces has a list for each device up to the last that did anything, since a list's place is its device's
// number; memory_viz wants the key even where nothing was recorded.
#include "memory/snapshot_writer.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <string>
#include <vector>

#include "memory/snapshot_encoder.h"

namespace stepscope {
namespace {

using snapshot_writing::MemoNumber;

std::string_view category_word(MemoryCategory category) {
  static constexpr std::array<std::string_view, kMemoryCategoryCount> kWords = {
      "parameter", "optimizer_state", "input", "temporary", "activation", "gradient", "autograd_detail", ""};
  return kWords[static_cast<std::size_t>(category)];
}

std::string_view state_word(BlockState state) {
  switch (state) {
    case BlockState::kActiveAllocated:
      return "active_allocated";
    case BlockState::kActivePendingFree:
      return "active_pending_free";
    case BlockState::kInactive:
      break;
  }
  return "inactive";
}

template <class Encoder>
class SnapshotWalk {
 public:
  SnapshotWalk(const MemorySnapshot& snapshot, const SnapshotWriteOptions& options, Encoder& out)
      : snapshot_(snapshot),
        options_(options),
        out_(out),
        frames_(snapshot.frames.size(), 0),
        stacks_(snapshot.stacks.size(), 0) {}

  void write() {
    out_.begin_dict();
    out_.key("segments");
    write_segments();
    out_.key("device_traces");
    write_traces();
    if (snapshot_.settings.is_recorded) write_settings();
    if (!snapshot_.annotations.empty()) write_annotations();
    write_limits();
    write_losses();
    out_.end_dict();
  }

 private:
  void put(std::string_view key, MaybeInt number) {
    if (!number.has_value()) return;
    out_.key(key);
    out_.integer(number.value());
  }
  void put(std::string_view key, StringId text) {
    if (text.empty()) return;
    out_.key(key);
    out_.text(snapshot_.text(text));
  }
  void put_text(std::string_view key, std::string_view text) {
    out_.key(key);
    out_.text(text);
  }
  void put_unsigned(std::string_view key, std::uint64_t number) {
    out_.key(key);
    out_.unsigned_integer(number);
  }
  void put_boolean(std::string_view key, bool value) {
    out_.key(key);
    out_.boolean(value);
  }
  void put_stream(SnapshotStreamId stream) {
    if (stream.has_value()) put("stream", MaybeInt(snapshot_.streams[stream]));
  }
  void put_pool(std::string_view key, SnapshotPoolId pool) {
    if (!pool.has_value()) return;
    out_.key(key);
    out_.pair(snapshot_.pools[pool].first, snapshot_.pools[pool].second);
  }

  void write_frame(SnapshotFrameId frame) {
    MemoNumber& known = frames_[frame.value];
    if (known != 0) return out_.refer(known);
    known = out_.begin_dict(true);
    put_text("name", snapshot_.text(snapshot_.frames.name[frame]));
    put_text("filename", snapshot_.text(snapshot_.frames.file[frame]));
    const MaybeInt line = snapshot_.frames.line[frame];
    if (line.has_value())
      put("line", line);
    else
      put_unsigned("line", std::numeric_limits<std::uint64_t>::max());
    out_.end_dict();
  }

  void put_stack(std::string_view key, SnapshotStackId stack) {
    out_.key(key);
    if (!stack.has_value()) {
      out_.begin_list();
      return out_.end_list();
    }
    MemoNumber& known = stacks_[stack.value];
    if (known != 0) return out_.refer(known);
    known = out_.begin_list(true);
    for (const SnapshotFrameId frame : snapshot_.frames_of(stack)) {
      out_.begin_item();
      write_frame(frame);
    }
    out_.end_list();
  }

  void write_segments() {
    const SnapshotSegments& segments = snapshot_.segments;
    out_.begin_list();
    for (const SnapshotSegmentId id : segments.ids().ids()) {
      if (out_.failed()) break;
      out_.begin_item();
      out_.begin_dict();
      put("device", MaybeInt(snapshot_.devices.number[segments.device[id]]));
      put_unsigned("address", segments.address[id]);
      put("total_size", MaybeInt(segments.total_bytes[id]));
      put("allocated_size", MaybeInt(segments.allocated_bytes[id]));
      put("active_size", MaybeInt(segments.active_bytes[id]));
      put("requested_size", segments.requested_bytes[id]);
      put_stream(segments.stream[id]);
      put_text("segment_type", segments.is_small[id] != 0 ? "small" : "large");
      put_pool("segment_pool_id", segments.pool[id]);
      put_boolean("is_expandable", segments.is_expandable[id] != 0);
      put_stack("frames", segments.stack[id]);
      out_.key("blocks");
      write_blocks(segments.blocks[id]);
      out_.end_dict();
    }
    out_.end_list();
  }

  void write_blocks(IdRange<SnapshotBlockId> range) {
    const SnapshotBlocks& blocks = snapshot_.blocks;
    out_.begin_list();
    for (const SnapshotBlockId id : range.ids()) {
      out_.begin_item();
      out_.begin_dict();
      put_unsigned("address", blocks.address[id]);
      put("size", MaybeInt(blocks.size_bytes[id]));
      put("requested_size", blocks.requested_bytes[id]);
      put_text("state", state_word(blocks.state[id]));
      put_stack("frames", blocks.stack[id]);
      out_.end_dict();
    }
    out_.end_list();
  }

  // The newest ones.
  [[nodiscard]] IdRange<SnapshotEntryId> kept(SnapshotDeviceId device) const {
    IdRange<SnapshotEntryId> range = snapshot_.devices.entries[device];
    if (options_.max_entries && range.size() > *options_.max_entries)
      range.begin = range.end - static_cast<std::uint32_t>(*options_.max_entries);
    return range;
  }

  // visit(device) for each place of device_traces, up to the last device that had a list: one with entries, or one that
  // is known by nothing else. (A segment may name any number as its device.) Missing: a place without a device.
  template <class Visit>
  void for_each_list(Visit visit) {
    const SnapshotDevices& devices = snapshot_.devices;
    std::int64_t next = 0;
    for (const SnapshotDeviceId device : devices.ids().ids()) {
      if (devices.entries[device].empty() && !devices.segments[device].empty()) continue;
      for (; next < devices.number[device]; ++next) visit(SnapshotDeviceId());
      visit(device);
      ++next;
    }
  }

  void write_traces() {
    out_.begin_list();
    for_each_list([&](SnapshotDeviceId device) {
      out_.begin_item();
      out_.begin_list();
      if (device.has_value()) {
        for (const SnapshotEntryId entry : kept(device).ids()) {
          if (out_.failed()) break;
          out_.begin_item();
          write_entry(entry);
        }
      }
      out_.end_list();
    });
    out_.end_list();
  }

  void write_entry(SnapshotEntryId id) {
    const SnapshotEntries& entries = snapshot_.entries;
    const AllocatorAction action = entries.action[id];
    out_.begin_dict();
    put_text("action", allocator_action_name(action));
    if (action != AllocatorAction::kOom) {
      put_unsigned("addr", entries.address[id]);
    } else if (entries.address[id] != kUnknownFreeBytes) {
      put_unsigned("device_free", entries.address[id]);
    }
    put("size", MaybeInt(entries.size_bytes[id]));
    put_stream(entries.stream[id]);
    put("time_us", entries.time_us[id]);
    put("compile_context", entries.compile_context[id]);
    put("user_metadata", entries.user_metadata[id]);
    put_pool("pool_id", entries.pool[id]);
    if (entries.category[id] != MemoryCategory::kUnknown) put_text("category", category_word(entries.category[id]));
    if (entries.forward_stack[id].has_value()) put_stack("forward_frames", entries.forward_stack[id]);
    put_stack("frames", entries.stack[id]);
    out_.end_dict();
  }

  void write_settings() {
    const SnapshotSettings& settings = snapshot_.settings;
    out_.key("allocator_settings");
    out_.begin_dict();
    put_text("PYTORCH_CUDA_ALLOC_CONF", settings.conf);
    put("max_split_size", MaybeInt(settings.max_split_size_bytes.value_or(-1)));
    if (settings.garbage_collection_threshold) {
      out_.key("garbage_collection_threshold");
      out_.real(*settings.garbage_collection_threshold);
    }
    if (settings.expandable_segments) put_boolean("expandable_segments", *settings.expandable_segments);
    if (!settings.roundup_power2_divisions.empty()) {
      out_.key("roundup_power2_divisions");
      out_.begin_dict();
      for (const auto& [megabytes, divisions] : settings.roundup_power2_divisions)
        put(std::to_string(megabytes), MaybeInt(divisions));
      out_.end_dict();
    }
    for (const auto& [key, value] : settings.others) write_setting(key, value);
    out_.end_dict();
  }

  // As the type that its text has: True, 20971520, 0.8; what is none of these is text.
  void write_setting(const std::string& key, const std::string& value) {
    if (value == "None") return;
    out_.key(key);
    if (value == "True" || value == "False") return out_.boolean(value == "True");
    const char* end = value.data() + value.size();
    std::int64_t number = 0;
    if (const auto at = std::from_chars(value.data(), end, number); at.ec == std::errc() && at.ptr == end)
      return out_.integer(number);
    double real = 0;
    if (const auto at = std::from_chars(value.data(), end, real); at.ec == std::errc() && at.ptr == end)
      return out_.real(real);
    out_.text(value);
  }

  void write_annotations() {
    const SnapshotAnnotations& annotations = snapshot_.annotations;
    out_.key("external_annotations");
    out_.begin_list();
    for (const SnapshotAnnotationId id : annotations.ids().ids()) {
      out_.begin_item();
      out_.begin_dict();
      put_text("stage", annotations.is_start[id] != 0 ? "START" : "END");
      put_text("name", snapshot_.text(annotations.name[id]));
      if (annotations.device_number[id] >= 0) put("device", MaybeInt(annotations.device_number[id]));
      put("time_us", annotations.time_us[id]);
      out_.end_dict();
    }
    out_.end_list();
  }

  void write_limits() {
    MaybeInt most = snapshot_.info.trace_alloc_max_entries;
    bool loses = false;
    for (const SnapshotDeviceId device : snapshot_.devices.ids().ids())
      loses = loses || kept(device).size() < snapshot_.devices.entries[device].size();
    if (loses) most = MaybeInt(static_cast<std::int64_t>(*options_.max_entries));
    put("trace_alloc_max_entries", most);
    if (loses || snapshot_.info.trace_alloc_overflowed) write_overflowed();
  }

  // A flag for each list of device_traces.
  void write_overflowed() {
    const SnapshotDevices& devices = snapshot_.devices;
    out_.key("trace_alloc_overflowed");
    out_.begin_list();
    for_each_list([&](SnapshotDeviceId device) {
      out_.begin_item();
      out_.boolean(device.has_value() &&
                   (devices.is_history_cut[device] != 0 || kept(device).size() < devices.entries[device].size()));
    });
    out_.end_list();
  }

  // A key of our own, which other readers do not look at: what is written would look whole without it.
  void write_losses() {
    if (!snapshot_.notes.lost_anything()) return;
    out_.key("stepscope_losses");
    out_.begin_list();
    for (const Note& note : snapshot_.notes.all()) {
      if (note.severity < NoteSeverity::kLost) continue;
      out_.begin_item();
      out_.begin_dict();
      put_text("kind", note_kind_name(note.kind));
      put_unsigned("count", note.count);
      put_unsigned("first_offset", note.first_offset);
      put_text("example", note.example);
      out_.end_dict();
    }
    out_.end_list();
  }

  const MemorySnapshot& snapshot_;
  const SnapshotWriteOptions& options_;
  Encoder& out_;
  std::vector<MemoNumber> frames_, stacks_;  // 0: not yet written
};

template <class Encoder>
Status write_as(const MemorySnapshot& snapshot, const SnapshotWriteOptions& options, const TakeSnapshotBytes& take) {
  Encoder out(take);
  SnapshotWalk<Encoder>(snapshot, options, out).write();
  return out.finish();
}

}  // namespace

Status write_snapshot(const MemorySnapshot& snapshot, SnapshotShape shape, const SnapshotWriteOptions& options,
                      const TakeSnapshotBytes& take) {
  return shape == SnapshotShape::kPickle ? write_as<snapshot_writing::PickleEncoder>(snapshot, options, take)
                                         : write_as<snapshot_writing::JsonEncoder>(snapshot, options, take);
}

}  // namespace stepscope

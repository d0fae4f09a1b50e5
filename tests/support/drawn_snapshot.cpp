// Reads the lines in order, keeps what is live, and lays out the segments of the end.
#include "support/drawn_snapshot.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <sstream>
#include <vector>

namespace stepscope {
namespace {

// As names.cpp of the memory room spells them, in the order of the enumeration; that room is linked after this one.
constexpr std::array<std::string_view, kMemoryCategoryCount> kCategories = {
    "parameter", "optimizer state", "input", "temporary", "activation", "gradient", "autograd detail", "unknown"};

class DrawnSnapshot {
 public:
  explicit DrawnSnapshot(const std::string& text) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) read_line(line);
    finish();
  }
  MemorySnapshot snapshot;

 private:
  struct Live {
    std::uint64_t address = 0;
    std::int64_t requested_bytes = 0, size_bytes = 0;
    SnapshotStackId stack;
    SnapshotStreamId stream;
    SnapshotPoolId pool;
    bool is_pending = false;
  };
  struct Segment {
    std::uint64_t address = 0;
    std::int64_t size_bytes = 0;
    SnapshotStreamId stream;
    SnapshotPoolId pool;
    bool is_expandable = false;
    std::int64_t device = 0;
  };
  struct Line {
    std::vector<std::string> words;
    std::map<std::string, std::string> options;
    SnapshotStackId stack;
  };

  static std::int64_t bytes(const std::string& text) {
    std::size_t end = 0;
    const std::int64_t number = std::stoll(text, &end);
    const std::string unit = text.substr(end);
    return unit == "G" ? number << 30 : unit == "M" ? number << 20 : unit == "K" ? number << 10 : number;
  }
  std::uint64_t place(const std::string& text) {
    const std::size_t plus = text.find('+');
    const std::string name = text.substr(0, plus);
    if (!bases_.contains(name)) bases_.emplace(name, (bases_.size() + 1) << 34);
    return bases_[name] + (plus == std::string::npos ? 0 : static_cast<std::uint64_t>(bytes(text.substr(plus + 1))));
  }

  SnapshotStackId stack_of(const std::string& text) {
    if (const auto found = stacks_.find(text); found != stacks_.end()) return found->second;
    SnapshotStacks::Row row;
    row.frames_begin = static_cast<std::uint32_t>(snapshot.stack_frames.size());
    std::istringstream frames(text);
    for (std::string frame; std::getline(frames, frame, ';');) {
      frame.erase(0, frame.find_first_not_of(' '));
      const std::size_t blank = frame.find(' ');
      const std::size_t colon = frame.rfind(':', blank);
      SnapshotFrames::Row made;
      made.file = snapshot.strings.intern(frame.substr(0, colon));
      made.line = std::stoll(frame.substr(colon + 1, blank - colon - 1));
      made.name = snapshot.strings.intern(frame.substr(blank + 1));
      if (!frames_.contains(frame)) frames_.emplace(frame, snapshot.frames.push_back(made));
      snapshot.stack_frames.push_back(frames_.at(frame));
      ++row.frames_count;
    }
    return stacks_[text] = snapshot.stacks.push_back(row);
  }

  Line split(const std::string& text) {
    Line line;
    const std::size_t at = text.find(" @ ");
    if (at != std::string::npos) line.stack = stack_of(text.substr(at + 3));
    std::istringstream words(text.substr(0, at));
    for (std::string word; words >> word;) {
      const std::size_t equals = word.find('=');
      if (equals == std::string::npos) {
        line.words.push_back(word);
      } else {
        line.options[word.substr(0, equals)] = word.substr(equals + 1);
      }
    }
    return line;
  }

  SnapshotStreamId stream_of(const Line& line) {
    const auto found = line.options.find("stream");
    const std::int64_t handle = found == line.options.end() ? 0 : std::stoll(found->second);
    for (std::size_t at = 0; at < snapshot.streams.size(); ++at) {
      if (snapshot.streams.raw()[at] == handle) return SnapshotStreamId(at);
    }
    snapshot.streams.push_back(handle);
    return SnapshotStreamId(snapshot.streams.size() - 1);
  }
  SnapshotPoolId pool_of(const Line& line) {
    const auto found = line.options.find("pool");
    if (found == line.options.end()) return {};
    const std::size_t colon = found->second.find(':');
    const std::pair<std::int64_t, std::int64_t> pool(std::stoll(found->second),
                                                     std::stoll(found->second.substr(colon + 1)));
    for (std::size_t at = 0; at < snapshot.pools.size(); ++at) {
      if (snapshot.pools.raw()[at] == pool) return SnapshotPoolId(at);
    }
    snapshot.pools.push_back(pool);
    return SnapshotPoolId(snapshot.pools.size() - 1);
  }
  static std::int64_t device_of(const Line& line) {
    const auto found = line.options.find("device");
    return found == line.options.end() ? 0 : std::stoll(found->second);
  }

  void add(AllocatorAction action, std::uint64_t address, std::int64_t size_bytes, const Line& line,
           const Live* live = nullptr) {
    SnapshotEntries::Row row;
    row.action = action;
    row.category = MemoryCategory::kUnknown;
    if (const auto found = line.options.find("category"); found != line.options.end()) {
      const auto place = std::find(kCategories.begin(), kCategories.end(), found->second);
      ASSERT_NE(place, kCategories.end()) << found->second;
      row.category = static_cast<MemoryCategory>(place - kCategories.begin());
    }
    row.address = address;
    row.size_bytes = size_bytes;
    row.stack = line.stack;
    row.stream = live != nullptr ? live->stream : stream_of(line);
    row.pool = live != nullptr ? live->pool : pool_of(line);
    row.time_us = ++clock_ * 1000;
    entries_[device_of(line)].push_back(row);
  }

  void read_line(const std::string& text) {
    const Line line = split(text);
    if (line.words.empty()) return;
    const std::string& word = line.words[0];
    if (word == "start" || word == "end") {
      SnapshotAnnotations::Row row;
      row.name = snapshot.strings.intern(line.words[1]);
      row.is_start = word == "start" ? 1 : 0;
      row.device_number = device_of(line);
      row.time_us = clock_ * 1000;
      snapshot.annotations.push_back(row);
    } else if (word == "segment" || word == "older_segment" || word == "map") {
      const std::uint64_t address = place(line.words[1]);
      const std::int64_t size = bytes(line.words[2]);
      segments_[address] = {address, size, stream_of(line), pool_of(line), word == "map", device_of(line)};
      if (word == "segment") add(AllocatorAction::kSegmentAlloc, address, size, line);
      if (word == "map") add(AllocatorAction::kSegmentMap, address, size, line);
    } else if (word == "segment_free" || word == "unmap") {
      const std::uint64_t address = place(line.words[1]);
      ASSERT_TRUE(segments_.contains(address)) << text;
      add(word == "unmap" ? AllocatorAction::kSegmentUnmap : AllocatorAction::kSegmentFree, address,
          segments_[address].size_bytes, line);
      segments_.erase(address);
    } else if (word == "alloc" || word == "older") {
      begin_allocation(line, word == "alloc");
    } else if (word == "free" || word == "request" || word == "complete") {
      end_allocation(line);
    } else {
      const std::map<std::string, AllocatorAction> others = {{"oom", AllocatorAction::kOom},
                                                             {"snapshot", AllocatorAction::kSnapshot},
                                                             {"user_defined", AllocatorAction::kAnnotate},
                                                             {"unknown", AllocatorAction::kUnknown}};
      ASSERT_TRUE(others.contains(word)) << text;
      const auto device_free = line.options.find("device_free");
      add(others.at(word),
          device_free == line.options.end() ? 0 : static_cast<std::uint64_t>(bytes(device_free->second)),
          line.words.size() > 1 ? bytes(line.words[1]) : 0, line);
    }
  }

  void begin_allocation(const Line& line, bool is_entry) {
    Live live;
    live.address = place(line.words[2]);
    live.requested_bytes = bytes(line.words[3]);
    const auto block = line.options.find("block");
    live.size_bytes = block != line.options.end() ? bytes(block->second) : (live.requested_bytes + 511) / 512 * 512;
    live.stack = line.stack;
    live.stream = stream_of(line);
    live.pool = pool_of(line);
    live_[line.words[1]] = live;
    if (is_entry) add(AllocatorAction::kAlloc, live.address, live.requested_bytes, line, &live);
  }
  void end_allocation(const Line& line) {
    ASSERT_TRUE(live_.contains(line.words[1])) << line.words[1];
    Live& live = live_[line.words[1]];
    if (line.words[0] != "complete")
      add(AllocatorAction::kFreeRequested, live.address, live.requested_bytes, line, &live);
    live.is_pending = true;
    if (line.words[0] == "request") return;
    add(AllocatorAction::kFreeCompleted, live.address, live.requested_bytes, line, &live);
    live_.erase(line.words[1]);
  }

  void finish() {
    for (const auto& [address, segment] : segments_) entries_[segment.device];
    for (const auto& [number, rows] : entries_) {
      SnapshotDevices::Row device;
      device.number = number;
      device.entries.begin = static_cast<std::uint32_t>(snapshot.entries.size());
      for (const auto& row : rows) snapshot.entries.push_back(row);
      device.entries.end = static_cast<std::uint32_t>(snapshot.entries.size());
      device.segments.begin = static_cast<std::uint32_t>(snapshot.segments.size());
      for (const auto& [address, segment] : segments_) {
        if (segment.device == number) add_segment(segment, SnapshotDeviceId(snapshot.devices.size()));
      }
      device.segments.end = static_cast<std::uint32_t>(snapshot.segments.size());
      snapshot.devices.push_back(device);
    }
    snapshot.info.has_device_traces = true;
    snapshot.info.has_history = snapshot.entries.size() > 0;
  }

  void add_segment(const Segment& segment, SnapshotDeviceId device) {
    std::map<std::uint64_t, Live> blocks;
    const std::uint64_t end = segment.address + static_cast<std::uint64_t>(segment.size_bytes);
    for (const auto& [name, live] : live_) {
      if (live.address >= segment.address && live.address < end) blocks[live.address] = live;
    }
    SnapshotSegments::Row row;
    row.device = device;
    row.address = segment.address;
    row.total_bytes = segment.size_bytes;
    row.stream = segment.stream;
    row.pool = segment.pool;
    row.is_small = segment.size_bytes <= (2 << 20) ? 1 : 0;
    row.is_expandable = segment.is_expandable ? 1 : 0;
    row.blocks.begin = static_cast<std::uint32_t>(snapshot.blocks.size());
    std::uint64_t at = segment.address;
    for (const auto& [address, live] : blocks) {
      if (address > at) add_block({at, 0, static_cast<std::int64_t>(address - at), {}, {}, {}, false}, false);
      add_block(live, true);
      at = address + static_cast<std::uint64_t>(live.size_bytes);
    }
    if (at < end) add_block({at, 0, static_cast<std::int64_t>(end - at), {}, {}, {}, false}, false);
    row.blocks.end = static_cast<std::uint32_t>(snapshot.blocks.size());
    snapshot.segments.push_back(row);
  }
  void add_block(const Live& live, bool is_live) {
    SnapshotBlocks::Row row;
    row.address = live.address;
    row.size_bytes = live.size_bytes;
    row.requested_bytes = live.requested_bytes;
    row.state = !is_live          ? BlockState::kInactive
                : live.is_pending ? BlockState::kActivePendingFree
                                  : BlockState::kActiveAllocated;
    row.stack = live.stack;
    snapshot.blocks.push_back(row);
  }

  std::int64_t clock_ = 0;
  std::map<std::string, std::uint64_t> bases_;
  std::map<std::string, SnapshotStackId> stacks_;
  std::map<std::string, SnapshotFrameId> frames_;
  std::map<std::string, Live> live_;
  std::map<std::uint64_t, Segment> segments_;
  std::map<std::int64_t, std::vector<SnapshotEntries::Row>> entries_;
};

}  // namespace

MemorySnapshot drawn_snapshot(const std::string& text) { return std::move(DrawnSnapshot(text).snapshot); }

}  // namespace stepscope

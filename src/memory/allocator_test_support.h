// Programs at random, played by the allocator as if it were the real one, and recorded as torch would.
//
// A program does not know what the allocator does: it is a list of allocations, frees (some of which complete later,
// as other streams still use the block), empty_cache calls and ends of graphs. The same program can be recorded under
// one setting and played directly under another, which is what a what-if claims to forecast.
#pragma once

#include <algorithm>
#include <map>
#include <random>
#include <vector>

#include "memory/caching_allocator.h"

namespace stepscope {

struct ProgramStep {
  enum class Kind : std::uint8_t { kAllocate, kFree, kFreeLater, kEmptyCache, kEndGraph } kind = Kind::kAllocate;
  std::uint32_t object = 0;  // of kEndGraph: the private pool
  std::int64_t bytes = 0;
  std::uint32_t stream = 0, private_pool = 0;
  std::uint32_t delay = 0;  // of kFreeLater: completes at the first allocation this many steps on
  std::uint32_t line = 0;   // of its stack
};
using Program = std::vector<ProgramStep>;

struct ProgramShape {
  std::size_t step_count = 400;
  std::uint32_t stream_count = 1;
  std::uint32_t private_pool_count = 0;
  bool ends_graphs = false;  // their pools may be released from then on
  bool frees_later = false;
  bool empties_cache = false;
};

inline Program make_program(std::uint32_t seed, const ProgramShape& shape) {
  std::mt19937 random(seed);
  const auto below = [&](std::uint32_t limit) { return static_cast<std::uint32_t>(random() % limit); };
  // Few sizes, so that blocks are used again; every scale, so that all pools and rules are met.
  std::vector<std::int64_t> sizes;
  for (int i = 0; i < 12; ++i) {
    constexpr std::int64_t kScales[] = {700, 40'000, 600'000, 3'000'000, 9'000'000, 30'000'000, 140'000'000};
    const std::int64_t scale = kScales[below(std::size(kScales))];  // one draw a line: their order is the program's
    sizes.push_back(1 + static_cast<std::int64_t>(random()) % (2 * scale));
  }
  Program program;
  std::vector<ProgramStep> live;
  std::vector<bool> has_ended(shape.private_pool_count + 1);
  std::uint32_t next_object = 0;
  while (program.size() < shape.step_count) {
    const std::uint32_t dice = below(100);
    ProgramStep step;
    step.line = below(30);
    if (dice < 2 && shape.empties_cache) {
      step.kind = ProgramStep::Kind::kEmptyCache;
      step.line = 1000;
    } else if (dice < 4 && shape.ends_graphs) {
      step.kind = ProgramStep::Kind::kEndGraph;
      step.object = 1 + below(shape.private_pool_count);
      if (has_ended[step.object]) continue;
      has_ended[step.object] = true;
    } else if (dice < 55 || live.empty()) {
      step.object = next_object++;
      step.bytes = dice % 5 == 0 ? 1 + static_cast<std::int64_t>(below(20'000'000)) : sizes[below(12)];
      step.stream = below(4) == 0 ? below(shape.stream_count) : 0;
      step.private_pool = below(3) == 0 ? below(shape.private_pool_count + 1) : 0;
      if (has_ended[step.private_pool]) step.private_pool = 0;
      live.push_back(step);
    } else {
      const std::size_t place = below(static_cast<std::uint32_t>(live.size()));
      step.object = live[place].object;
      live.erase(live.begin() + static_cast<std::ptrdiff_t>(place));
      step.kind = shape.frees_later && below(4) == 0 ? ProgramStep::Kind::kFreeLater : ProgramStep::Kind::kFree;
      step.delay = 1 + below(12);
    }
    program.push_back(step);
  }
  return program;
}

// A device that gives addresses upwards with gaps, and gives back ones used again; as far from the what-if's as it may.
class ScatteredDevice final : public AddressSource {
 public:
  explicit ScatteredDevice(std::uint32_t seed) : random_(seed) {}
  std::uint64_t place_segment(std::int64_t bytes) override {
    std::vector<std::uint64_t>& freed = freed_[bytes];
    if (!freed.empty() && random_() % 2 == 0) {
      const std::uint64_t address = freed.back();
      freed.pop_back();
      return address;
    }
    // Downwards from the middle or upwards: two areas, as a real device has.
    const auto room = static_cast<std::uint64_t>(bytes + 2 * kMiB);
    if (random_() % 2 == 0) return (down_ -= room);
    up_ += room;
    return up_ - room;
  }
  std::uint64_t place_reservation(std::int64_t bytes) override {
    space_ += static_cast<std::uint64_t>(bytes);
    return space_ - static_cast<std::uint64_t>(bytes);
  }
  void free_segment(std::uint64_t address, std::int64_t bytes) override { freed_[bytes].push_back(address); }

 private:
  std::mt19937 random_;
  std::map<std::int64_t, std::vector<std::uint64_t>> freed_;
  std::uint64_t up_ = 0x7f20'0000'0000, down_ = 0x7f20'0000'0000, space_ = 1ULL << 52;
};

// Writes what it sees into a snapshot, from the moment it is switched on.
class SnapshotRecorder final : public AllocatorListener {
 public:
  struct Options {
    bool has_stacks = true;
    bool has_pool_ids = true;  // torch 2.12 and newer
  };
  SnapshotRecorder(const AllocatorConfig& config, const ProgramShape& shape, const Options& options)
      : options_(options) {
    for (std::uint32_t i = 0; i < shape.stream_count; ++i) snapshot_.streams.push_back(i * 1000);
    for (std::uint32_t i = 0; i <= shape.private_pool_count; ++i) snapshot_.pools.push_back({0, i});
    constexpr std::size_t kLineCount = 1001;
    for (std::size_t i = 0; i < kLineCount; ++i) {
      snapshot_.stack_frames.push_back(snapshot_.frames.push_back({}));
      snapshot_.stacks.push_back({static_cast<std::uint32_t>(i), 1});
    }
    SnapshotSettings& settings = snapshot_.settings;
    settings.is_recorded = true;
    settings.conf = describe_allocator_config(config);
    settings.expandable_segments = config.expandable_segments;
    settings.garbage_collection_threshold = config.garbage_collection_threshold;
    if (config.max_split_size_bytes) settings.max_split_size_bytes = *config.max_split_size_bytes;
    for (std::size_t i = 0; i < 16; ++i) {
      settings.roundup_power2_divisions.emplace_back(1LL << i, config.roundup_power2_divisions[i]);
    }
  }

  void switch_on() { is_on_ = true; }
  void set_line(std::uint32_t line) { line_ = line; }
  // How often pages or segments were given back so far, recorded or not.
  [[nodiscard]] std::size_t release_count() const { return release_count_; }

  void on_event(AllocatorAction action, std::uint64_t address, std::int64_t bytes, std::uint32_t stream,
                std::uint32_t private_pool) override {
    if (action == AllocatorAction::kSegmentFree || action == AllocatorAction::kSegmentUnmap) ++release_count_;
    if (!is_on_) return;
    SnapshotEntries::Row row;
    row.action = action;
    row.address = address;
    row.size_bytes = bytes;
    row.stream = SnapshotStreamId(stream);
    if (options_.has_pool_ids) row.pool = SnapshotPoolId(private_pool);
    if (options_.has_stacks) row.stack = SnapshotStackId(line_);
    // A cap refused, as in the recordings: the device itself had more than enough.
    if (action == AllocatorAction::kOom) row.address = device_free_bytes_;
    snapshot_.entries.push_back(row);
  }
  void set_device_free(std::uint64_t bytes) { device_free_bytes_ = bytes; }

  [[nodiscard]] MemorySnapshot finish(const CachingAllocator& allocator) {
    add_segments(allocator.all_blocks());
    SnapshotDevices::Row device;
    device.entries = snapshot_.entries.ids();
    device.segments = snapshot_.segments.ids();
    snapshot_.devices.push_back(device);
    return std::move(snapshot_);
  }

 private:
  using BlockView = CachingAllocator::BlockView;
  using State = CachingAllocator::StartBlock::State;

  // One row a segment; of an expandable one a row for each contiguous mapped range.
  void add_segments(const std::vector<BlockView>& blocks) {
    for (std::size_t i = 0; i < blocks.size();) {
      if (blocks[i].state == State::kUnmapped) {
        ++i;
        continue;
      }
      std::size_t end = i + 1;
      while (end < blocks.size() && !blocks[end].is_first && blocks[end].state != State::kUnmapped) ++end;
      add_segment({blocks.begin() + static_cast<std::ptrdiff_t>(i), blocks.begin() + static_cast<std::ptrdiff_t>(end)});
      i = end;
    }
  }

  void add_segment(const std::vector<BlockView>& blocks) {
    SnapshotSegments::Row row;
    row.device = SnapshotDeviceId(0);
    row.address = blocks.front().address;
    row.stream = SnapshotStreamId(blocks.front().stream);
    row.pool = SnapshotPoolId(blocks.front().private_pool);
    row.is_small = blocks.front().is_small ? 1 : 0;
    row.is_expandable = blocks.front().is_expandable ? 1 : 0;
    row.blocks.begin = static_cast<std::uint32_t>(snapshot_.blocks.size());
    for (const BlockView& block : blocks) {
      row.total_bytes += block.bytes;
      SnapshotBlocks::Row each;
      each.address = block.address;
      each.size_bytes = block.bytes;
      each.requested_bytes = block.requested_bytes;
      each.state = block.state == State::kAllocated ? BlockState::kActiveAllocated
                   : block.state == State::kPending ? BlockState::kActivePendingFree
                                                    : BlockState::kInactive;
      snapshot_.blocks.push_back(each);
    }
    row.blocks.end = static_cast<std::uint32_t>(snapshot_.blocks.size());
    snapshot_.segments.push_back(row);
  }

  Options options_;
  MemorySnapshot snapshot_;
  bool is_on_ = false;
  std::uint32_t line_ = 0;
  std::size_t release_count_ = 0;
  std::uint64_t device_free_bytes_ = 1ULL << 40;
};

// How a program went.
struct Played {
  AllocatorLevels levels;
  AllocatorLevels start_levels;                                                              // when recording began
  std::int64_t reserved_peak_bytes = 0, allocated_peak_bytes = 0, requested_peak_bytes = 0;  // since then
  std::optional<std::size_t> failed_step;
  std::vector<bool> did_release;  // by step: its empty_cache gave something back
};

// Plays a program. It ends at the first request that fails, as a program without a handler does.
class ProgramPlayer {
 public:
  ProgramPlayer(CachingAllocator& allocator, SnapshotRecorder* recorder) : allocator_(allocator), recorder_(recorder) {}

  Played play(const Program& program, std::size_t record_from = 0) {
    Played played;
    played.did_release.resize(program.size());
    for (std::size_t i = 0; i < program.size(); ++i) {
      if (i == record_from) start_recording(played);
      if (recorder_ != nullptr) recorder_->set_line(program[i].line);
      const std::size_t releases_before = recorder_ != nullptr ? recorder_->release_count() : 0;
      const bool succeeded = play_step(program[i], i);
      note_peaks(played);
      if (!succeeded) {
        played.failed_step = i;
        break;
      }
      played.did_release[i] = recorder_ != nullptr && recorder_->release_count() > releases_before;
    }
    played.levels = allocator_.levels();
    return played;
  }

 private:
  struct Waiting {
    std::uint32_t object = 0;
    std::size_t due = 0;
  };

  void start_recording(Played& played) {
    if (recorder_ != nullptr) recorder_->switch_on();
    played.start_levels = allocator_.levels();
    played.reserved_peak_bytes = played.allocated_peak_bytes = played.requested_peak_bytes = 0;
    note_peaks(played);
  }

  void note_peaks(Played& played) const {
    const AllocatorLevels& levels = allocator_.levels();
    played.reserved_peak_bytes = std::max(played.reserved_peak_bytes, levels.reserved_bytes);
    played.allocated_peak_bytes = std::max(played.allocated_peak_bytes, levels.allocated_bytes);
    played.requested_peak_bytes = std::max(played.requested_peak_bytes, levels.requested_bytes);
  }

  bool play_step(const ProgramStep& step, std::size_t now) {
    switch (step.kind) {
      case ProgramStep::Kind::kAllocate: {
        complete_due(now);
        const BlockId block = allocator_.allocate(step.bytes, step.stream, step.private_pool);
        forget_released();
        if (!block.has_value()) return false;
        blocks_[step.object] = block;
        return true;
      }
      case ProgramStep::Kind::kFree:
        allocator_.request_free(blocks_.at(step.object));
        allocator_.complete_free(blocks_.at(step.object));
        return true;
      case ProgramStep::Kind::kFreeLater:
        allocator_.request_free(blocks_.at(step.object));
        waiting_.push_back({step.object, now + step.delay});
        return true;
      case ProgramStep::Kind::kEmptyCache:
        allocator_.release_cached();
        forget_released();
        return true;
      case ProgramStep::Kind::kEndGraph:
        allocator_.let_release(step.object);
        return true;
    }
    return true;
  }

  void complete_due(std::size_t now) {
    std::erase_if(waiting_, [&](const Waiting& each) {
      if (each.due > now) return false;
      allocator_.complete_free(blocks_.at(each.object));
      return true;
    });
  }

  void forget_released() {
    if (allocator_.release_count() == seen_release_count_) return;
    seen_release_count_ = allocator_.release_count();
    waiting_.clear();
  }

  CachingAllocator& allocator_;
  SnapshotRecorder* recorder_;
  std::map<std::uint32_t, BlockId> blocks_;
  std::vector<Waiting> waiting_;
  std::int64_t seen_release_count_ = 0;
};

}  // namespace stepscope

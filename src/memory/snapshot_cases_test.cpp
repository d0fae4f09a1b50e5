// The invented snapshots of tests/data/memory: one oddity each, and what the columns must be. Levels and peaks are
// facts and tested there; here it is what the file says.
#include <numeric>

#include "memory/snapshot_test_support.h"

namespace stepscope {
namespace {

constexpr std::int64_t kMiB = 1 << 20;

std::vector<std::string> actions_of(const MemorySnapshot& snapshot) {
  std::vector<std::string> names;
  for (const AllocatorAction action : snapshot.entries.action.raw()) names.emplace_back(allocator_action_name(action));
  return names;
}

// "name file:line" of each frame.
std::string stack_text(const MemorySnapshot& snapshot, SnapshotStackId stack) {
  std::string text;
  for (const SnapshotFrameId frame : snapshot.frames_of(stack)) {
    text += std::string(snapshot.text(snapshot.frames.name[frame])) + " " +
            std::string(snapshot.text(snapshot.frames.file[frame])) + ":" +
            std::to_string(snapshot.frames.line[frame].value_or(-1)) + ";";
  }
  return text;
}

std::int64_t sum_of(const std::vector<std::int64_t>& sizes) { return std::accumulate(sizes.begin(), sizes.end(), 0LL); }

TEST(SnapshotCases, BasicInEveryProtocol) {
  for (const int protocol : {2, 3, 4, 5}) {
    const std::string name = "C01_basic_proto" + std::to_string(protocol) + ".pickle";
    const MemorySnapshot snapshot = snapshot_of_file(name);
    EXPECT_EQ(snapshot.info.format, "pickle");
    EXPECT_EQ(snapshot.info.pickle_protocol, protocol);
    EXPECT_EQ(snapshot.info.byte_count, bytes_of_snapshot_file(name).size());
    EXPECT_TRUE(snapshot.info.has_history);
    EXPECT_TRUE(snapshot.info.has_device_traces);
    EXPECT_TRUE(snapshot.notes.all().empty()) << name;

    EXPECT_EQ(actions_of(snapshot),
              (std::vector<std::string>{"segment_alloc", "alloc", "alloc", "alloc", "free_requested", "free_completed",
                                        "free_requested", "free_completed"}));
    EXPECT_EQ(snapshot.entries.size_bytes.raw(), (std::vector<std::int64_t>{20 * kMiB, 8 * kMiB, 4 * kMiB, 6 * kMiB,
                                                                            6 * kMiB, 6 * kMiB, 4 * kMiB, 4 * kMiB}));
    EXPECT_EQ(snapshot.entries.address.raw()[1], 139715286138880U);
    EXPECT_EQ(snapshot.entries.time_us.raw()[7].value(), 1759276800008000);
    EXPECT_EQ(stack_text(snapshot, snapshot.entries.stack.raw()[0]),
              "forward /work/model.py:41;<module> /work/train.py:9;");
    EXPECT_FALSE(snapshot.entries.stack.raw()[4].has_value());
    EXPECT_TRUE(snapshot.entries.compile_context.raw()[0].empty());  // N/A
    EXPECT_EQ(snapshot.frames.size(), 2U);
    EXPECT_EQ(snapshot.stacks.size(), 1U);

    ASSERT_EQ(snapshot.segments.size(), 1U);
    const SnapshotSegments::Row segment = snapshot.segments.row(SnapshotSegmentId(std::size_t{0}));
    EXPECT_EQ(segment.total_bytes, 20 * kMiB);
    EXPECT_EQ(segment.allocated_bytes, 8 * kMiB);
    EXPECT_EQ(segment.requested_bytes.value(), 8 * kMiB);
    EXPECT_EQ(snapshot.pools[segment.pool], (std::pair<std::int64_t, std::int64_t>(0, 0)));
    EXPECT_EQ(segment.is_small, 0);
    EXPECT_EQ(snapshot.blocks.size_bytes.raw(), (std::vector<std::int64_t>{8 * kMiB, 12 * kMiB}));
    EXPECT_EQ(snapshot.blocks.state.raw(),
              (std::vector<BlockState>{BlockState::kActiveAllocated, BlockState::kInactive}));

    EXPECT_TRUE(snapshot.settings.is_recorded);
    EXPECT_FALSE(snapshot.settings.max_split_size_bytes.has_value());
    EXPECT_EQ(snapshot.settings.garbage_collection_threshold, 0.0);
    EXPECT_EQ(snapshot.settings.expandable_segments, false);
    EXPECT_EQ(snapshot.settings.others.size(), 3U);
  }
}

TEST(SnapshotCases, BeforeHistory) {
  const MemorySnapshot snapshot = snapshot_of_file("C03_before_history.pickle");
  EXPECT_EQ(snapshot.entries.size(), 6U);
  EXPECT_EQ(sum_of({snapshot.segments.total_bytes.raw()}), 20 * kMiB);
  std::int64_t live = 0;
  for (const SnapshotBlockId block : snapshot.blocks.ids().ids()) {
    if (snapshot.blocks.state[block] != BlockState::kInactive) live += snapshot.blocks.requested_bytes[block].value();
  }
  EXPECT_EQ(live, 12 * kMiB);
}

TEST(SnapshotCases, Expandable) {
  const MemorySnapshot snapshot = snapshot_of_file("C06_expandable.pickle");
  ASSERT_EQ(snapshot.segments.size(), 1U);
  EXPECT_EQ(snapshot.segments.is_expandable.raw()[0], 1);
  EXPECT_EQ(snapshot.segments.total_bytes.raw()[0], 20 * kMiB);
  EXPECT_EQ(std::ranges::count(actions_of(snapshot), "segment_map"), 2);
  EXPECT_EQ(std::ranges::count(actions_of(snapshot), "segment_unmap"), 1);
}

TEST(SnapshotCases, NoHistory) {
  const MemorySnapshot snapshot = snapshot_of_file("C08_no_history.pickle");
  EXPECT_FALSE(snapshot.info.has_history);
  EXPECT_TRUE(snapshot.info.has_device_traces);
  EXPECT_EQ(snapshot.entries.size(), 0U);
  EXPECT_EQ(snapshot.segments.allocated_bytes.raw()[0], 8 * kMiB);
  EXPECT_EQ(snapshot.segments.total_bytes.raw()[0], 20 * kMiB);
}

TEST(SnapshotCases, ManyDevices) {
  const MemorySnapshot snapshot = snapshot_of_file("C09_many_devices.pickle");
  ASSERT_EQ(snapshot.devices.size(), 8U);
  const auto entries_of = [&](std::size_t device) { return snapshot.devices.entries[SnapshotDeviceId(device)]; };
  EXPECT_EQ(entries_of(0).size(), 3U);
  EXPECT_EQ(entries_of(2).size(), 5U);
  EXPECT_EQ(entries_of(7).size(), 0U);
  for (const SnapshotEntryId entry : entries_of(0).ids()) {
    EXPECT_EQ(snapshot.entries.action[entry], AllocatorAction::kAnnotate);
    EXPECT_EQ(snapshot.text(snapshot.entries.user_metadata[entry]), "gloo:broadcast");
  }
  EXPECT_EQ(snapshot.segments.total_bytes.raw(), (std::vector<std::int64_t>{2 * kMiB, 40 * kMiB}));
  EXPECT_EQ(snapshot.devices.segments[SnapshotDeviceId(std::size_t{2})].size(), 1U);
  EXPECT_EQ(snapshot.devices.number[snapshot.segments.device.raw()[1]], 2);
  EXPECT_TRUE(snapshot.notes.all().empty());
}

TEST(SnapshotCases, OutOfMemory) {
  const MemorySnapshot snapshot = snapshot_of_file("C10_oom_fragmented.pickle");
  const SnapshotEntryId last(snapshot.entries.size() - 1);
  EXPECT_EQ(snapshot.entries.action[last], AllocatorAction::kOom);
  EXPECT_EQ(snapshot.entries.size_bytes[last], 12 * kMiB);
  EXPECT_EQ(snapshot.entries.address[last], static_cast<std::uint64_t>(kMiB));  // device_free
  EXPECT_EQ(sum_of(snapshot.segments.total_bytes.raw()), 60 * kMiB);
  EXPECT_EQ(sum_of(snapshot.segments.allocated_bytes.raw()), 40 * kMiB);
  EXPECT_TRUE(snapshot.notes.all().empty());
}

TEST(SnapshotCases, UnknownActionAndKeysAreCounted) {
  const MemorySnapshot snapshot = snapshot_of_file("C14_unknown_action.pickle");
  EXPECT_EQ(snapshot.entries.size(), 10U);
  EXPECT_EQ(std::ranges::count(actions_of(snapshot), "unknown"), 1);
  EXPECT_EQ(actions_of(snapshot).back(), "snapshot");
  ASSERT_EQ(snapshot.notes.all().size(), 2U);
  EXPECT_EQ(snapshot.notes.all()[0].kind, NoteKind::kUnknownRecord);
  EXPECT_EQ(snapshot.notes.all()[0].example, "1 entry of unknown kind ignored: teleport");
  EXPECT_EQ(snapshot.notes.count(NoteKind::kUnknownKey), 2U);
  EXPECT_FALSE(snapshot.notes.lost_anything());
}

TEST(SnapshotCases, CallIsRefusedByName) {
  const auto snapshot = read_snapshot_bytes(bytes_of_snapshot_file("C02_global_call.pickle"));
  ASSERT_FALSE(snapshot);
  EXPECT_EQ(snapshot.error().code, ErrorCode::kDamaged);
  EXPECT_NE(snapshot.error().message.find("STACK_GLOBAL asks for builtins.print"), std::string::npos);
  EXPECT_EQ(snapshot.error().byte_offset, 68U);
}

TEST(SnapshotCases, EmptyAndCut) {
  const auto empty = read_snapshot_bytes(bytes_of_snapshot_file("C11_zero_bytes.pickle"));
  ASSERT_FALSE(empty);
  EXPECT_EQ(empty.error().code, ErrorCode::kEmpty);

  const MemorySnapshot cut = snapshot_of_file("C15_truncated.pickle");
  EXPECT_TRUE(cut.notes.unsound());
  ASSERT_EQ(cut.notes.count(NoteKind::kFileCut), 1U);
  EXPECT_EQ(cut.notes.all()[0].first_offset, 700U);
  EXPECT_EQ(cut.segments.size(), 1U);  // salvaged
}

}  // namespace
}  // namespace stepscope

// What is written reads back as the same snapshot, from every file of the tests that can be read, in both shapes; and
// the opcodes of numbers where their sizes change.
#include "memory/snapshot_writer.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <limits>
#include <sstream>

#include "memory/facts.h"
#include "memory/snapshot_encoder.h"
#include "memory/snapshot_test_support.h"

namespace stepscope {
namespace {

std::string bytes_of(const MemorySnapshot& snapshot, SnapshotShape shape, const SnapshotWriteOptions& options = {}) {
  std::string bytes;
  const Status written = write_snapshot(snapshot, shape, options, [&](std::string_view piece) -> Status {
    bytes += piece;
    return Done{};
  });
  EXPECT_TRUE(written.has_value());
  return bytes;
}

// Every kept field as text, ids resolved.
class Description {
 public:
  explicit Description(const MemorySnapshot& snapshot) : snapshot_(snapshot) {
    for (const SnapshotDeviceId id : snapshot.devices.ids().ids()) {
      text_ << "device " << snapshot.devices.number[id] << " entries " << snapshot.devices.entries[id].size() << " cut "
            << int{snapshot.devices.is_history_cut[id]} << "\n";
      for (const SnapshotEntryId entry : snapshot.devices.entries[id].ids()) describe(entry);
    }
    for (const SnapshotSegmentId id : snapshot.segments.ids().ids()) describe(id);
    for (const SnapshotAnnotationId id : snapshot.annotations.ids().ids()) {
      const auto row = snapshot.annotations.row(id);
      text_ << "mark " << int{row.is_start} << " " << snapshot.text(row.name) << " " << row.device_number << " "
            << row.time_us.raw << "\n";
    }
    const SnapshotSettings& settings = snapshot.settings;
    text_ << "settings " << settings.is_recorded << settings.conf << settings.max_split_size_bytes.raw << " "
          << settings.garbage_collection_threshold.value_or(-1) << " "
          << static_cast<int>(settings.expandable_segments.value_or(false)) << settings.expandable_segments.has_value();
    for (const auto& [megabytes, divisions] : settings.roundup_power2_divisions)
      text_ << " " << megabytes << ":" << divisions;
    for (const auto& [key, value] : settings.others) {
      if (value != "None") text_ << " " << key << "=" << value;
    }
    text_ << "\n" << snapshot.info.trace_alloc_max_entries.raw << " " << snapshot.info.has_history << "\n";
  }
  [[nodiscard]] std::string text() const { return text_.str(); }

 private:
  void describe(SnapshotStackId stack) {
    for (const SnapshotFrameId frame : snapshot_.frames_of(stack)) {
      text_ << " <" << snapshot_.text(snapshot_.frames.name[frame]) << "@"
            << snapshot_.text(snapshot_.frames.file[frame]) << ":" << snapshot_.frames.line[frame].raw << ">";
    }
  }
  void describe(SnapshotStreamId id) {
    if (id.has_value()) text_ << " stream " << snapshot_.streams[id];
  }
  void describe(SnapshotPoolId id) {
    if (id.has_value()) text_ << " pool " << snapshot_.pools[id].first << "," << snapshot_.pools[id].second;
  }
  void describe(SnapshotEntryId id) {
    const auto row = snapshot_.entries.row(id);
    text_ << allocator_action_name(row.action) << " " << memory_category_name(row.category) << " " << row.address << " "
          << row.size_bytes << " " << row.time_us.raw << " " << snapshot_.text(row.compile_context) << " "
          << snapshot_.text(row.user_metadata);
    describe(row.stream);
    describe(row.pool);
    describe(row.stack);
    text_ << " | ";
    describe(row.forward_stack);
    text_ << "\n";
  }
  void describe(SnapshotSegmentId id) {
    const auto row = snapshot_.segments.row(id);
    text_ << "segment " << snapshot_.devices.number[row.device] << " " << row.address << " " << row.total_bytes << " "
          << row.allocated_bytes << " " << row.active_bytes << " " << row.requested_bytes.raw << int{row.is_small}
          << int{row.is_expandable};
    describe(row.stream);
    describe(row.pool);
    describe(row.stack);
    for (const SnapshotBlockId at : row.blocks.ids()) {
      const auto block = snapshot_.blocks.row(at);
      text_ << "\n  block " << block.address << " " << block.size_bytes << " " << block.requested_bytes.raw << " "
            << static_cast<int>(block.state);
      describe(block.stack);
    }
    text_ << "\n";
  }

  const MemorySnapshot& snapshot_;
  std::ostringstream text_;
};

std::vector<std::string> readable_files() {
  std::vector<std::string> names;
  const std::filesystem::path folder = std::string(STEPSCOPE_TESTS_DIR) + "/data/memory";
  for (const auto& file : std::filesystem::recursive_directory_iterator(folder)) {
    const std::string name = std::filesystem::relative(file.path(), folder).string();
    if (!file.is_regular_file() || name.ends_with(".gz") || name.ends_with(".md")) continue;
    if (read_snapshot_bytes(bytes_of_snapshot_file(name))) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

TEST(SnapshotWriter, EveryReadableFileReadsBackTheSame) {
  const std::vector<std::string> names = readable_files();
  ASSERT_GT(names.size(), 12U);
  for (const std::string& name : names) {
    SCOPED_TRACE(name);
    const MemorySnapshot before = snapshot_of_file(name);
    const std::string expected = Description(before).text();
    for (const SnapshotShape shape : {SnapshotShape::kPickle, SnapshotShape::kJson}) {
      const std::string bytes = bytes_of(before, shape);
      const auto after = read_snapshot_bytes(bytes);
      ASSERT_TRUE(after.has_value()) << after.error().to_string();
      EXPECT_EQ(Description(*after).text(), expected);
      EXPECT_EQ(bytes_of(*after, shape), bytes);
    }
  }
}

TEST(SnapshotWriter, WhatWasLostIsToldByTheFileWritten) {
  for (const char* name : {"hostile/missing_keys.pickle", "hostile/negative_sizes.pickle"}) {
    const MemorySnapshot before = snapshot_of_file(name);
    ASSERT_TRUE(before.notes.lost_anything());
    for (const SnapshotShape shape : {SnapshotShape::kPickle, SnapshotShape::kJson}) {
      SCOPED_TRACE(name);
      const std::string bytes = bytes_of(before, shape);
      const auto after = read_snapshot_bytes(bytes);
      ASSERT_TRUE(after.has_value()) << after.error().to_string();
      ASSERT_EQ(after->notes.all().size(), before.notes.all().size());
      const Note &lost = before.notes.all().front(), &told = after->notes.all().front();
      EXPECT_EQ(told.kind, lost.kind);
      EXPECT_EQ(told.severity, NoteSeverity::kLost);
      EXPECT_EQ(told.count, lost.count);
      EXPECT_EQ(told.first_offset, lost.first_offset);
      EXPECT_EQ(told.example, lost.example);
      EXPECT_EQ(bytes_of(*after, shape), bytes) << "nothing is counted twice";
    }
  }
}

TEST(SnapshotWriter, TheNewestEntriesAreKeptAndTheDeviceIsCut) {
  const MemorySnapshot before = snapshot_of_file("C01_basic_proto4.pickle");
  const SnapshotDeviceId device(std::size_t{0});
  const IdRange<SnapshotEntryId> all = before.devices.entries[device];
  ASSERT_GT(all.size(), 2U);
  const auto after = read_snapshot_bytes(bytes_of(before, SnapshotShape::kPickle, {.max_entries = 2}));
  ASSERT_TRUE(after.has_value());
  EXPECT_EQ(after->devices.entries[device].size(), 2U);
  EXPECT_EQ(after->devices.is_history_cut[device], 1);
  EXPECT_EQ(after->entries.address[SnapshotEntryId(std::size_t{1})],
            before.entries.address[SnapshotEntryId(std::size_t{all.end - 1})]);
  EXPECT_EQ(after->segments.size(), before.segments.size());
  const auto as_many = read_snapshot_bytes(bytes_of(before, SnapshotShape::kPickle, {.max_entries = all.size() + 1}));
  ASSERT_TRUE(as_many.has_value());
  EXPECT_EQ(as_many->devices.is_history_cut[device], before.devices.is_history_cut[device]);
}

TEST(SnapshotWriter, AFailureEndsTheWriting) {
  int calls = 0;
  const Status written = write_snapshot(MemorySnapshot(), SnapshotShape::kPickle, {}, [&](std::string_view) -> Status {
    ++calls;
    return Error{ErrorCode::kIo, "full", ""};
  });
  EXPECT_FALSE(written.has_value());
  EXPECT_EQ(calls, 1);
}

std::string pickled(std::uint64_t number, bool is_signed) {
  std::string bytes;
  const snapshot_writing::TakeBytes take = [&](std::string_view piece) -> Status {
    bytes += piece;
    return Done{};
  };
  snapshot_writing::PickleEncoder out(take);
  if (is_signed)
    out.integer(static_cast<std::int64_t>(number));
  else
    out.unsigned_integer(number);
  EXPECT_TRUE(out.finish().has_value());
  return bytes.substr(2, bytes.size() - 3);  // between PROTO and STOP
}

TEST(PickleEncoder, NumbersTakeTheOpcodeOfTheirSize) {
  EXPECT_EQ(pickled(255, true), "K\xff");
  EXPECT_EQ(pickled(256, true), std::string("M\0\1", 3));
  EXPECT_EQ(pickled(65536, true), std::string("J\0\0\1\0", 5));
  EXPECT_EQ(pickled(static_cast<std::uint64_t>(-1), true), "J\xff\xff\xff\xff");
  EXPECT_EQ(pickled(1ULL << 31, false), std::string("\x8a\x05\0\0\0\x80\0", 7));
  EXPECT_EQ(pickled(std::numeric_limits<std::uint64_t>::max(), false),
            std::string("\x8a\x09\xff\xff\xff\xff\xff\xff\xff\xff\0", 11));
  EXPECT_EQ(pickled(static_cast<std::uint64_t>(-(1LL << 40)), true), std::string("\x8a\x08\0\0\0\0\0\xff\xff\xff", 10));
}

}  // namespace
}  // namespace stepscope

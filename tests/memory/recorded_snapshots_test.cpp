// The snapshots recorded on an H200 (tests/data/memory/h200), which are gzip and so need the importer's bytes: what
// torch itself said about them, and that no cut of one brings the reader down.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "import/bytes/byte_source.h"
#include "memory/snapshot_reader.h"

namespace stepscope {
namespace {

std::string bytes_of(const std::string& name) {
  auto source = open_bytes(std::string(STEPSCOPE_TESTS_DIR) + "/data/memory/h200/" + name, false);
  EXPECT_TRUE(source) << name;
  std::string bytes(1 << 20, '\0');
  const auto size = read_fully(**source, bytes.data(), bytes.size());
  EXPECT_TRUE(size) << name;
  bytes.resize(*size);
  return bytes;
}

Result<MemorySnapshot> read(std::string_view bytes) {
  std::size_t at = 0;
  return read_snapshot("test", [&](char* into, std::size_t size) -> Result<std::size_t> {
    const std::size_t count = std::min(size, bytes.size() - at);
    std::memcpy(into, bytes.data() + at, count);
    at += count;
    return count;
  });
}

std::int64_t sum_of(const std::vector<std::int64_t>& sizes) {
  std::int64_t sum = 0;
  for (const std::int64_t size : sizes) sum += size;
  return sum;
}

struct Recording {
  std::string name;
  std::size_t segments, entries;
  std::int64_t reserved_bytes, allocated_bytes;  // memory_stats() when it was dumped
  bool is_expandable;
};

TEST(RecordedSnapshots, HoldWhatTorchSaid) {
  const std::vector<Recording> recordings = {
      {"snap.pickle.gz", 53, 1722, 2'975'858'688, 504'561'664, false},
      {"snapx.pickle.gz", 3, 1716, 2'413'821'952, 504'561'664, true},
  };
  for (const Recording& recording : recordings) {
    const auto snapshot = read(bytes_of(recording.name));
    ASSERT_TRUE(snapshot) << recording.name;
    EXPECT_EQ(snapshot->segments.size(), recording.segments);
    EXPECT_EQ(snapshot->entries.size(), recording.entries);
    EXPECT_EQ(sum_of(snapshot->segments.total_bytes.raw()), recording.reserved_bytes);
    EXPECT_EQ(sum_of(snapshot->segments.allocated_bytes.raw()), recording.allocated_bytes);
    EXPECT_EQ(snapshot->settings.expandable_segments, recording.is_expandable);
    EXPECT_EQ(snapshot->settings.conf, recording.is_expandable ? "expandable_segments:True" : "");
    EXPECT_EQ(snapshot->settings.roundup_power2_divisions.size(), 16U);
    EXPECT_EQ(snapshot->annotations.size(), 24U);
    EXPECT_TRUE(snapshot->notes.all().empty()) << recording.name;
  }
}

TEST(RecordedSnapshots, FailedRequestIsThere) {
  for (const auto& [name, request] : {std::pair("snap.oom.pickle.gz", 6'116'864), {"snapx.oom.pickle.gz", 6'076'928}}) {
    const auto snapshot = read(bytes_of(name));
    ASSERT_TRUE(snapshot);
    std::vector<std::int64_t> requests;
    for (const SnapshotEntryId entry : snapshot->entries.ids().ids()) {
      if (snapshot->entries.action[entry] == AllocatorAction::kOom)
        requests.push_back(snapshot->entries.size_bytes[entry]);
    }
    EXPECT_EQ(requests, (std::vector<std::int64_t>{request}));
  }
}

TEST(RecordedSnapshots, EveryPrefixIsSurvived) {
  const std::string bytes = bytes_of("snap.pickle.gz");
  // Every cut of the beginning and of the end, where the file changes most; every 97th between.
  constexpr std::size_t kAll = 3000;
  std::size_t entries_before = 0;
  for (std::size_t size = 1; size < bytes.size();) {
    const auto snapshot = read(std::string_view(bytes).substr(0, size));
    if (snapshot) {
      EXPECT_EQ(snapshot->notes.count(NoteKind::kFileCut), 1U) << size;
      EXPECT_GE(snapshot->entries.size(), entries_before) << size;
      entries_before = snapshot->entries.size();
    }
    size += size < kAll || size + kAll > bytes.size() ? 1 : 97;
  }
  EXPECT_EQ(entries_before, 1722U);
}

}  // namespace
}  // namespace stepscope

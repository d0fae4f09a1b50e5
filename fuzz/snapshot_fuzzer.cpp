// Any bytes as a memory snapshot: no crash, no hang, no blown memory, and the same answer whether the bytes come at
// once or one at a time.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>

#include "memory/snapshot_reader.h"

namespace {

using namespace stepscope;

Result<MemorySnapshot> read(const std::uint8_t* data, std::size_t size, std::size_t piece) {
  std::size_t at = 0;
  return read_snapshot("fuzz", [&](char* into, std::size_t room) -> Result<std::size_t> {
    const std::size_t count = std::min({room, piece, size - at});
    std::memcpy(into, data + at, count);
    at += count;
    return count;
  });
}

// What came of it, in numbers. Also checks what every user of the columns relies on.
std::string summary_of(const Result<MemorySnapshot>& read) {
  if (!read) return read.error().to_string();
  const MemorySnapshot& snapshot = *read;
  std::string summary = std::to_string(snapshot.entries.size()) + " " + std::to_string(snapshot.segments.size()) + " " +
                        std::to_string(snapshot.blocks.size()) + " " + std::to_string(snapshot.annotations.size());
  std::uint32_t entries_end = 0, segments_end = 0, blocks_end = 0;
  for (const SnapshotDeviceId device : snapshot.devices.ids().ids()) {
    const auto entries = snapshot.devices.entries[device];
    const auto segments = snapshot.devices.segments[device];
    if (!entries.empty() && (entries.begin != entries_end || entries.end < entries.begin)) std::abort();
    if (!segments.empty() && (segments.begin != segments_end || segments.end < segments.begin)) std::abort();
    entries_end = std::max(entries_end, entries.end);
    segments_end = std::max(segments_end, segments.end);
  }
  if (entries_end != snapshot.entries.size() || segments_end != snapshot.segments.size()) std::abort();
  std::int64_t bytes = 0;  // sums must not overflow; the sanitizer would say so
  for (const SnapshotEntryId entry : snapshot.entries.ids().ids()) {
    if (snapshot.entries.size_bytes[entry] < 0) std::abort();
    bytes += snapshot.entries.size_bytes[entry];
    for (const SnapshotFrameId frame : snapshot.frames_of(snapshot.entries.stack[entry])) {
      summary += snapshot.text(snapshot.frames.file[frame]).substr(0, 1);
    }
    summary += snapshot.text(snapshot.entries.user_metadata[entry]).substr(0, 1);
  }
  summary += " " + std::to_string(bytes);
  bytes = 0;
  for (const SnapshotSegmentId segment : snapshot.segments.ids().ids()) {
    if (snapshot.segments.blocks[segment].begin != blocks_end) std::abort();
    blocks_end = snapshot.segments.blocks[segment].end;
    for (const SnapshotBlockId block : snapshot.segments.blocks[segment].ids())
      bytes += snapshot.blocks.size_bytes[block];
  }
  if (blocks_end != snapshot.blocks.size()) std::abort();
  summary += " " + std::to_string(bytes);
  for (const Note& note : snapshot.notes.all()) {
    summary += " " + std::string(note_kind_name(note.kind)) + std::to_string(note.count) + "@" +
               std::to_string(note.first_offset);
  }
  return summary;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (summary_of(read(data, size, size + 1)) != summary_of(read(data, size, 1))) std::abort();
  return 0;
}

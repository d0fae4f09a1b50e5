// rewrite_snapshot FILE OUT [MAX_ENTRIES]: a snapshot read and written by us, for test_snapshot_writer.py. JSON if OUT
// ends so.
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>

#include "memory/snapshot_reader.h"
#include "memory/snapshot_writer.h"

int main(int argc, char** argv) {
  using namespace stepscope;
  if (argc < 3) return 2;
  std::FILE* in = std::fopen(argv[1], "rb");
  std::FILE* out = std::fopen(argv[2], "wb");
  if (in == nullptr || out == nullptr) return 2;
  const auto snapshot = read_snapshot(
      argv[1], [&](char* into, std::size_t size) -> Result<std::size_t> { return std::fread(into, 1, size, in); });
  if (!snapshot) {
    std::cerr << snapshot.error().to_string() << "\n";
    return 1;
  }
  SnapshotWriteOptions options;
  if (argc > 3) options.max_entries = std::strtoul(argv[3], nullptr, 10);
  const bool is_json = std::string(argv[2]).ends_with(".json");
  const Status written = write_snapshot(*snapshot, is_json ? SnapshotShape::kJson : SnapshotShape::kPickle, options,
                                        [&](std::string_view piece) -> Status {
                                          if (std::fwrite(piece.data(), 1, piece.size(), out) == piece.size())
                                            return Done{};
                                          return Error{ErrorCode::kIo, "cannot be written", argv[2]};
                                        });
  return std::fclose(out) == 0 && written ? 0 : 1;
}

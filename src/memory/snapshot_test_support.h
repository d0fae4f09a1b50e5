// Snapshots for tests: from bytes in memory, or from tests/data/memory.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

#include "memory/snapshot_reader.h"

namespace stepscope {

inline std::string bytes_of_snapshot_file(const std::string& name) {
  std::ifstream file(std::string(STEPSCOPE_TESTS_DIR) + "/data/memory/" + name, std::ios::binary);
  EXPECT_TRUE(file) << name;
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// The bytes come `piece` at a time, as from a pipe.
inline Result<MemorySnapshot> read_snapshot_bytes(const std::string& bytes, std::size_t piece = 1 << 20) {
  std::size_t at = 0;
  return read_snapshot("test", [&](char* into, std::size_t size) -> Result<std::size_t> {
    const std::size_t count = std::min({size, piece, bytes.size() - at});
    std::memcpy(into, bytes.data() + at, count);
    at += count;
    return count;
  });
}

// Of a file that can be read; an empty snapshot, and a failed test, if not.
inline MemorySnapshot snapshot_of_file(const std::string& name) {
  auto snapshot = read_snapshot_bytes(bytes_of_snapshot_file(name));
  EXPECT_TRUE(snapshot) << (snapshot ? "" : snapshot.error().to_string());
  return snapshot ? std::move(*snapshot) : MemorySnapshot();
}

}  // namespace stepscope

// What both sides remember inside one chunk, so that a record tells only what is new.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "wire/layout.h"

namespace stepscope::wire {

struct ThreadMemory {
  std::int64_t id = 0;
  TimeNs last_end_ns = 0;
  std::int64_t last_sequence = 0;
  std::int64_t last_stack = 0;
};
struct StreamMemory {
  std::int64_t device = 0;
  std::int64_t stream = 0;
  TimeNs last_end_ns = 0;
  std::int64_t last_correlation = 0;
  std::int64_t last_graph_id = 0;
  std::int64_t last_graph_node = 0;
};

struct ChunkState {
  std::vector<ThreadMemory> threads;
  std::vector<StreamMemory> streams;
  std::vector<LaunchShape> shapes;
  std::array<std::int64_t, kSeriesCount> last{};
  // Of the record at hand.
  std::size_t thread = 0;
  std::size_t stream = 0;

  void clear() {
    threads.clear();
    streams.clear();
    shapes.clear();
    last.fill(0);
  }
};

}  // namespace stepscope::wire

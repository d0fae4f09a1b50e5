// Records to the payload of one chunk.
#pragma once

#include <tsl/robin_map.h>

#include <string_view>

#include "base/hash.h"
#include "wire/bytes.h"
#include "wire/chunk_state.h"

namespace stepscope::wire {

class RecordEncoder {
 public:
  RecordEncoder();

  // Appends a record to the payload.
  template <class Record>
  void add(const Record& record);

  [[nodiscard]] std::string_view payload() const { return payload_.bytes(); }
  [[nodiscard]] std::uint32_t record_count() const { return record_count_; }
  // Begins the next chunk.
  void clear();

 private:
  class Fields;

  struct PairHash {
    std::size_t operator()(const std::pair<std::int64_t, std::int64_t>& key) const noexcept {
      return MixedHash()(static_cast<std::uint64_t>(key.first) * 0x9E3779B97F4A7C15ULL ^
                         static_cast<std::uint64_t>(key.second));
    }
  };
  struct ShapeHash {
    std::size_t operator()(const LaunchShape& shape) const noexcept;
  };

  ByteWriter payload_, body_;
  ChunkState state_;
  std::uint32_t record_count_ = 0;
  // Numbers of this chunk.
  tsl::robin_map<std::int64_t, std::size_t, MixedHash> thread_numbers_;
  tsl::robin_map<std::pair<std::int64_t, std::int64_t>, std::size_t, PairHash> stream_numbers_;
  tsl::robin_map<LaunchShape, std::size_t, ShapeHash> shape_numbers_;
};

}  // namespace stepscope::wire

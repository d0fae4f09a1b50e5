// The payload of one chunk back to records.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "wire/chunk_state.h"
#include "wire/visitor.h"

namespace stepscope::wire {

// What came of a payload.
struct DecodedPayload {
  std::uint64_t record_count = 0;          // handed over
  std::uint64_t unknown_record_count = 0;  // of kinds that this version does not know: skipped
  // Byte in the payload at which it stopped making sense; the rest is not read. Only a faulty writer does that: the
  // chunk's checksum held.
  std::optional<std::uint64_t> malformed_at;
};

class RecordDecoder {
 public:
  [[nodiscard]] DecodedPayload decode(std::string_view payload, WireVisitor& visitor);

 private:
  ChunkState state_;
};

}  // namespace stepscope::wire

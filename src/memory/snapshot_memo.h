// The memo of a pickle: the objects that later references name by number.
//
// In chunks, so that it grows without copying 170 MB; a number is only taken if the file is long enough to have put so
// many objects (each costs at least two bytes), so a lying number allocates nothing.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "memory/snapshot_value.h"

namespace stepscope::snapshot_reading {

class Memo {
 public:
  Memo() { grow(); }
  // kUnset if nothing was put there.
  [[nodiscard]] Value get(std::uint64_t at) const {
    return at < capacity_ ? (*chunks_[at >> kChunkBits])[at & kChunkMask] : Value{};
  }
  void put(std::uint64_t at, Value value) {
    while (at >= capacity_) grow();
    (*chunks_[at >> kChunkBits])[at & kChunkMask] = value;
    count_ = at >= count_ ? at + 1 : count_;
  }
  // The first 256 slots, which never move: what a reference of one byte can name.
  [[nodiscard]] const Value* first_slots() const { return chunks_[0]->data(); }
  // The number that MEMOIZE gives to the next object.
  [[nodiscard]] std::uint64_t size() const { return count_; }

 private:
  static constexpr int kChunkBits = 12;
  static constexpr std::uint64_t kChunkMask = (1U << kChunkBits) - 1;
  using Chunk = std::array<Value, kChunkMask + 1>;

  void grow() {
    chunks_.push_back(std::make_unique<Chunk>());
    capacity_ += kChunkMask + 1;
  }

  std::vector<std::unique_ptr<Chunk>> chunks_;
  std::uint64_t capacity_ = 0, count_ = 0;
};

}  // namespace stepscope::snapshot_reading

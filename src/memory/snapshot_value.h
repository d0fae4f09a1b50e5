// What the snapshot reader passes around instead of Python objects: 8 bytes, a kind and a number.
//
// Three quarters of a snapshot are references to objects seen before, so a reference must cost a load and a store.
// Small integers (56 bits: addresses, times, sizes) are in the value itself; strings, frames and stacks are ids of
// interned things; lists and dicts are numbers of containers while they are filled, and something final afterwards.
// 16 bytes with a whole int64 were rejected: a pickle of 1 GB names 21 million objects, and their table would be 340
// MB.
#pragma once

#include <cstdint>

namespace stepscope::snapshot_reading {

enum class ValueKind : std::uint8_t {
  kUnset,  // no value: a slot of the memo that nothing was put in
  kOpen,   // number of a container that is being filled
  kNone,
  kFalse,
  kTrue,
  kInt,      // 56 bits, signed
  kBigInt,   // index of a BigInt
  kReal,     // index of a double
  kText,     // StringId
  kPair,     // index of a pair of integers: a pool's id
  kNoItems,  // an empty list or tuple
  kNoKeys,   // an empty dict
  kFrame,    // SnapshotFrameId: a dict that described a frame
  kStack,    // SnapshotStackId: a list of frames
  kEntry,    // row of SnapshotEntries: a dict that described one
  kSegment,  // index of a pending segment
  kBlock,    // row of pending blocks
  kMark,     // row of SnapshotAnnotations
  kRun,      // offset of (kind, first, count): a list of rows that follow each other
  kList,     // offset of (count, items...)
  kDict,     // offset of (count, key, value, ...)
};

struct Value {
  std::uint64_t bits = 0;

  constexpr Value() = default;
  constexpr Value(ValueKind kind, std::uint64_t payload = 0)  // NOLINT: a bare kind is a value
      : bits(static_cast<std::uint64_t>(kind) << kPayloadBits | (payload & kPayloadMask)) {}

  [[nodiscard]] constexpr ValueKind kind() const { return static_cast<ValueKind>(bits >> kPayloadBits); }
  [[nodiscard]] constexpr bool is(ValueKind kind) const { return this->kind() == kind; }
  [[nodiscard]] constexpr std::uint64_t payload() const { return bits & kPayloadMask; }
  [[nodiscard]] constexpr std::uint32_t index() const { return static_cast<std::uint32_t>(bits); }
  // Of a kInt.
  [[nodiscard]] constexpr std::int64_t small_int() const {
    return static_cast<std::int64_t>(bits << (64 - kPayloadBits)) >> (64 - kPayloadBits);
  }
  // Neither unset nor a container: one compare tells.
  [[nodiscard]] constexpr bool is_final() const {
    return bits >= static_cast<std::uint64_t>(ValueKind::kNone) << kPayloadBits;
  }
  constexpr bool operator==(const Value&) const = default;

  static constexpr int kPayloadBits = 56;
  static constexpr std::uint64_t kPayloadMask = (1ULL << kPayloadBits) - 1;
  static constexpr std::int64_t kSmallIntLimit = 1LL << (kPayloadBits - 1);  // [-limit, limit) fits
};

// An integer that does not fit a Value.
struct BigInt {
  std::uint64_t magnitude = 0;
  bool is_negative = false;
  bool is_beyond = false;  // over 64 bits: the magnitude means nothing
};

}  // namespace stepscope::snapshot_reading

// One event as tokens: for each key that any table needs, where its value stands in the text.
//
// Keys are recognised once, values are only located; numbers and strings are converted by the row writer of the
// event's category, which knows which of them it needs. Both readers of events, the fast and the careful one,
// fill the same structure, so nothing behind them knows about damage.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace stepscope::chrome_json {

enum class Field : std::uint8_t { kPhase, kCategory, kName, kPid, kTid, kTime, kDuration, kId, kArgs, kCount };

enum class Arg : std::uint8_t {
  kExternalId,
  kCorrelation,
  kSequence,
  kForwardThread,
  kInputDims,
  kInputTypes,
  kConcreteInputs,
  kCallStack,
  kDevice,
  kStream,
  kBytes,
  kGrid,
  kBlock,
  kRegisters,
  kSharedMemory,
  kOccupancy,
  kGraphId,
  kProcess,
  kCollectiveName,
  kDataType,
  kInCount,
  kOutCount,
  kGroupSize,
  kGroupName,
  kGroupRanks,
  kPythonId,
  kPythonParentId,
  kTotalAllocated,
  kTotalReserved,
  kAddress,
  kDeviceType,
  kName,
  kLabels,
  kStepNumber,  // JAX, as are those that follow
  kKernelDetails,
  kMemcpyDetails,
  kMemsetDetails,
  kSpanCategory,  // of our own files, as are those that follow
  kFault,
  kOperatorName,
  kGraphCallStack,
  kFlops,
  kCount
};

enum class TokenKind : std::uint32_t {
  kMissing,
  kString,         // without its quotes; no backslash inside
  kEscapedString,  // without its quotes; has backslashes
  kLiteralString,  // without its quotes; every byte stands for itself (restored text)
  kNumber,
  kWord,       // true, false, null
  kNoValue,    // inf, nan, N/A, ...
  kContainer,  // [...] or {...}
};

struct Token {
  const char* data = nullptr;
  std::uint32_t size = 0;
  TokenKind kind = TokenKind::kMissing;

  [[nodiscard]] std::string_view text() const { return {data, size}; }
  [[nodiscard]] bool is_string() const {
    return kind == TokenKind::kString || kind == TokenKind::kEscapedString || kind == TokenKind::kLiteralString;
  }
  // Text that may hold a number: JSON writers quote ids and times now and then.
  [[nodiscard]] bool may_be_number() const { return kind == TokenKind::kNumber || is_string(); }
};

// Tokens by key; cleared in one store, since an event has few of the many keys.
template <class Key>
class TokenTable {
 public:
  void clear() { present_ = 0; }
  [[nodiscard]] bool has(Key key) const { return (present_ >> static_cast<unsigned>(key) & 1) != 0; }
  // The token of `key`; of kind kMissing if the event does not have it.
  [[nodiscard]] Token operator[](Key key) const { return has(key) ? tokens_[static_cast<unsigned>(key)] : Token{}; }
  // Where the token of `key` is to be written; kCount gives a place that nobody reads. Readers write there at once:
  // copying a token that was just written piece by piece costs a stalled load, which was 40% of their time.
  Token& slot(Key key) {
    present_ |= std::uint64_t{1} << static_cast<unsigned>(key);
    return tokens_[static_cast<unsigned>(key)];
  }

 private:
  static_assert(static_cast<unsigned>(Key::kCount) < 64);
  std::uint64_t present_ = 0;
  std::array<Token, static_cast<unsigned>(Key::kCount) + 1> tokens_;
};

struct Event {
  const char* begin = nullptr;  // at its {
  const char* end = nullptr;    // behind its }
  TokenTable<Field> fields;
  TokenTable<Arg> args;

  void clear() {
    fields.clear();
    args.clear();
  }
};

// kCount for keys that nothing needs.
[[nodiscard]] Field field_of(std::string_view key);
[[nodiscard]] Arg arg_of(std::string_view key);

}  // namespace stepscope::chrome_json

// The two spellings of a snapshot's tree, behind the same calls: pickle opcodes and JSON.
//
// Both take a tree as it is walked: begin a dict, a key, a value ... Neither knows what the keys mean. Bytes leave in
// pieces of a megabyte, so memory does not follow the file.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"

namespace stepscope::snapshot_writing {

using TakeBytes = std::function<Status(std::string_view piece)>;

// A number that stands for something written before; 0 for nothing yet.
using MemoNumber = std::uint32_t;

class PieceBuffer {
 public:
  explicit PieceBuffer(const TakeBytes& take) : take_(take) {}
  void put(char byte) { bytes_ += byte; }
  void put(std::string_view bytes) { bytes_ += bytes; }
  // Called between values.
  void flush_if_full() {
    if (bytes_.size() >= kPieceBytes) flush();
  }
  [[nodiscard]] bool failed() const { return !status_.has_value(); }
  [[nodiscard]] Status finish() {
    flush();
    return status_;
  }

 private:
  static constexpr std::size_t kPieceBytes = std::size_t{1} << 20;
  void flush();
  const TakeBytes& take_;
  std::string bytes_;
  Status status_ = Done{};
};

// Protocol 4. Containers stand in the memo before they are filled, as Python's own pickler has it.
class PickleEncoder {
 public:
  explicit PickleEncoder(const TakeBytes& take);

  // Remembered: refer(number) stands for it from then on.
  MemoNumber begin_dict(bool is_remembered = false);
  void end_dict();
  MemoNumber begin_list(bool is_remembered = false);
  void begin_item();  // before each value of a list
  void end_list();
  void key(std::string_view name) { text(name); }
  void text(std::string_view text);
  void integer(std::int64_t number);
  void unsigned_integer(std::uint64_t number);
  void real(double number);
  void boolean(bool value);
  void pair(std::int64_t first, std::int64_t second);

  void refer(MemoNumber number);

  [[nodiscard]] bool failed() const { return out_.failed(); }
  [[nodiscard]] Status finish();

 private:
  MemoNumber remember();
  void put_little_endian(std::uint64_t number, unsigned bytes);

  PieceBuffer out_;
  std::vector<std::size_t> counts_;  // items of the lists that are open
  std::unordered_map<std::string, MemoNumber> texts_;
  MemoNumber memo_count_ = 0;
};

// Has no references: numbers are 0, and the walk writes everything where it stands.
class JsonEncoder {
 public:
  explicit JsonEncoder(const TakeBytes& take) : out_(take) {}

  MemoNumber begin_dict(bool = false) { return open('{'); }
  void end_dict() { close('}'); }
  MemoNumber begin_list(bool = false) { return open('['); }
  void begin_item() { separate(); }
  void end_list() { close(']'); }
  void key(std::string_view name);
  void text(std::string_view text);
  void integer(std::int64_t number);
  void unsigned_integer(std::uint64_t number);
  void real(double number);
  void boolean(bool value);
  void pair(std::int64_t first, std::int64_t second);

  static void refer(MemoNumber) {}

  [[nodiscard]] bool failed() const { return out_.failed(); }
  [[nodiscard]] Status finish();

 private:
  MemoNumber open(char bracket);
  void close(char bracket);
  void separate();

  PieceBuffer out_;
  bool is_first_ = true;  // of the container that is open
  std::unordered_map<std::string, std::string> quoted_;
};

}  // namespace stepscope::snapshot_writing

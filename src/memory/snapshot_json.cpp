// nlohmann's SAX parser over the window: it keeps no tree, does not recurse, and knows where an error is.
//
// simdjson was rejected: it wants the whole text in memory, and a snapshot as JSON is three times the pickle.
#include "memory/snapshot_json.h"

#include <iterator>
#include <nlohmann/json.hpp>

namespace stepscope::snapshot_reading {

namespace {

// The bytes of the window, one after the other, as an input iterator.
class Bytes {
 public:
  explicit Bytes(ByteWindow& window) : window_(window), at_(window.begin()) {}

  [[nodiscard]] bool is_at_end() {
    if (at_ != window_.end()) return false;
    window_.refill(at_, 1);
    at_ = window_.begin();
    return at_ == window_.end();
  }
  [[nodiscard]] char current() const { return static_cast<char>(*at_); }
  void advance() { ++at_; }
  [[nodiscard]] std::uint64_t offset() const { return window_.offset_of(at_); }

 private:
  ByteWindow& window_;
  const std::uint8_t* at_;
};

struct ByteIterator {
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = char;

  Bytes* bytes = nullptr;  // null: the end

  char operator*() const { return bytes->current(); }
  ByteIterator& operator++() {
    bytes->advance();
    return *this;
  }
  ByteIterator operator++(int) {
    ByteIterator before = *this;
    ++*this;
    return before;
  }
  bool operator==(const ByteIterator& other) const {
    const bool ended = bytes == nullptr || bytes->is_at_end();
    const bool other_ended = other.bytes == nullptr || other.bytes->is_at_end();
    return ended == other_ended;
  }
  bool operator!=(const ByteIterator& other) const { return !(*this == other); }
};

using Json = nlohmann::json;

class Handler : public nlohmann::json_sax<Json> {
 public:
  Handler(SnapshotTree& tree, Bytes& bytes) : tree_(tree), bytes_(bytes) {}

  bool null() override { return take(ValueKind::kNone); }
  bool boolean(bool value) override { return take(value ? ValueKind::kTrue : ValueKind::kFalse); }
  bool number_integer(number_integer_t value) override { return take(tree_.integer(value)); }
  bool number_unsigned(number_unsigned_t value) override { return take(tree_.big_integer({.magnitude = value})); }
  bool number_float(number_float_t value, const string_t& text) override {
    // A whole number over 64 bits comes here too.
    if (text.find_first_of(".eE") == std::string::npos) {
      return take(tree_.big_integer({.is_negative = text.starts_with('-'), .is_beyond = true}));
    }
    return take(tree_.real(value));
  }
  bool string(string_t& text) override { return take(tree_.text(text)); }
  bool binary(binary_t& /*bytes*/) override { return false; }
  bool key(string_t& text) override {
    open_.back().key = tree_.text(text);
    return true;
  }
  bool start_object(std::size_t /*size*/) override { return begin(tree_.new_dict(), true); }
  bool start_array(std::size_t /*size*/) override { return begin(tree_.new_list(), false); }
  bool end_object() override { return end(); }
  bool end_array() override { return end(); }
  bool parse_error(std::size_t position, const std::string& /*token*/,
                   const nlohmann::detail::exception& error) override {
    error_offset = position;
    error_text = error.what();
    // "[json.exception.parse_error.101] parse error at line 1, column 2: what ..."
    if (const auto at = error_text.find("; "); at != std::string::npos) error_text.erase(at);
    return false;
  }

  // Ends what is begun, from the inside.
  void close_what_is_open() {
    while (!open_.empty() && end()) {
    }
  }

  Value top;
  std::size_t error_offset = 0;
  std::string error_text;

 private:
  struct Open {
    Value container, key;
    bool is_dict = false;
    std::vector<Value> items;
  };

  bool begin(Value container, bool is_dict) {
    if (container.is(ValueKind::kUnset)) return false;
    open_.push_back({.container = container, .key = {}, .is_dict = is_dict, .items = {}});
    return true;
  }
  bool end() {
    const Value done = open_.back().container;
    tree_.set_offset(bytes_.offset());
    const bool is_done = flush(open_.back());
    open_.pop_back();
    return is_done && take(tree_.complete(done));
  }
  bool take(Value value) {
    if (open_.empty()) {
      top = value;
      return true;
    }
    Open& open = open_.back();
    if (open.is_dict) open.items.push_back(open.key);
    open.items.push_back(value);
    return open.items.size() < kBatch || open.is_dict || flush(open);
  }
  bool flush(Open& open) {
    const bool done =
        open.is_dict ? tree_.set_items(open.container, open.items) : tree_.append(open.container, open.items);
    open.items.clear();
    return done;
  }

  static constexpr std::size_t kBatch = 1000;  // as Python's pickler
  SnapshotTree& tree_;
  Bytes& bytes_;
  std::vector<Open> open_;
};

}  // namespace

Result<Value> read_json(ByteWindow& window, SnapshotTree& tree, Notes& notes) {
  Bytes bytes(window);
  Handler handler(tree, bytes);
  const bool is_whole = Json::sax_parse(ByteIterator{&bytes}, ByteIterator{}, &handler);
  if (window.error()) return *window.error();
  if (is_whole) return handler.top;
  if (!tree.failure().empty()) {
    return Error{.code = ErrorCode::kDamaged,
                 .message = "damaged JSON: " + tree.failure(),
                 .file = {},
                 .byte_offset = bytes.offset()};
  }
  if (!window.has_ended() || handler.error_offset < window.byte_count()) {
    return Error{.code = ErrorCode::kDamaged,
                 .message = "damaged JSON: " + handler.error_text,
                 .file = {},
                 .byte_offset = handler.error_offset};
  }
  notes.add(NoteKind::kFileCut, NoteSeverity::kUnsound, window.byte_count(), "the file is cut: its JSON does not end");
  handler.close_what_is_open();
  return handler.top;
}

}  // namespace stepscope::snapshot_reading

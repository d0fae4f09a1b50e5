// One pass over the inputs for each of the three lines. A list shows its first 32 items at most, as PyTorch's own
// traces leave out lists of more than 30 numbers: fused optimizers pass hundreds of tensors.
#include "agent/torch_inputs.h"

#include <array>
#include <charconv>
#include <cstring>
#include <string_view>

namespace stepscope::agent {
namespace {

constexpr std::uint64_t kMostItems = 32;
constexpr std::uint64_t kMostDims = 64;  // PyTorch's own limit

struct Value {
  std::uint64_t payload;
  std::uint32_t tag;
  std::uint32_t unused;
};

template <class T>
T load(std::uint64_t address) {
  T value;
  std::memcpy(&value, reinterpret_cast<const void*>(address), sizeof value);
  return value;
}

// c10::ScalarType's order, in the names that C++ gives the types (as PyTorch's traces do).
constexpr std::array<std::string_view, 30> kTypes = {"unsigned char",
                                                     "signed char",
                                                     "short",
                                                     "int",
                                                     "long int",
                                                     "c10::Half",
                                                     "float",
                                                     "double",
                                                     "c10::complex<c10::Half>",
                                                     "c10::complex<float>",
                                                     "c10::complex<double>",
                                                     "bool",
                                                     "c10::qint8",
                                                     "c10::quint8",
                                                     "c10::qint32",
                                                     "c10::BFloat16",
                                                     "c10::quint4x2",
                                                     "c10::quint2x4",
                                                     "c10::bits1x8",
                                                     "c10::bits2x4",
                                                     "c10::bits4x2",
                                                     "c10::bits8",
                                                     "c10::bits16",
                                                     "c10::Float8_e5m2",
                                                     "c10::Float8_e4m3fn",
                                                     "c10::Float8_e5m2fnuz",
                                                     "c10::Float8_e4m3fnuz",
                                                     "unsigned short",
                                                     "unsigned int",
                                                     "unsigned long"};

class Writer {
 public:
  Writer(const TorchLayout& layout, std::string& out) : layout_(layout), out_(out) {}

  void dims(const Value& value) {
    if (is_tensor(value)) return sizes(value.payload);
    if (value.tag != layout_.tag_list || layout_.list_items == 0) return add("[]");
    const Items items = items_of(value);
    add("[");
    for (std::uint64_t i = 0; i < items.shown && is_tensor(items.at(i)); ++i) {
      if (i != 0) add(", ");
      sizes(items.at(i).payload);
    }
    add("]");
  }

  void type(const Value& value) {
    add("\"");
    if (is_undefined(value)) {
      // No type, as in PyTorch's own traces.
    } else if (is_tensor(value)) {
      const auto type = load<std::uint16_t>(value.payload + layout_.tensor_dtype);
      if (type < kTypes.size()) add(kTypes[type]);
    } else if (is_scalar(value)) {
      add("Scalar");
    } else if (value.tag == layout_.tag_list && layout_.list_items != 0) {
      const Items items = items_of(value);
      if (items.shown != 0) {
        add(is_tensor(items.at(0)) ? "TensorList" : is_scalar(items.at(0)) ? "ScalarList" : "");
      } else if (layout_.int_type != 0 && items.type == layout_.int_type) {
        add("ScalarList");
      }
    }
    add("\"");
  }

  void concrete(const Value& value) {
    add("\"");
    if (is_scalar(value)) {
      scalar(value);
    } else if (value.tag == layout_.tag_list && layout_.list_items != 0) {
      const Items items = items_of(value);
      // A list that cannot be shown whole is not shown: half a list would be another argument.
      if (items.shown != items.count || (items.count != 0 && !is_scalar(items.at(0)))) return add("\"");
      add("[");
      for (std::uint64_t i = 0; i < items.count; ++i) {
        if (i != 0) add(", ");
        scalar(items.at(i));
      }
      add("]");
    }
    add("\"");
  }

  void add(std::string_view text) { out_.append(text); }

 private:
  struct Items {
    std::uint64_t first = 0;
    std::uint64_t count = 0;
    std::uint64_t shown = 0;
    std::uint64_t type = 0;
    [[nodiscard]] Value at(std::uint64_t i) const { return load<Value>(first + i * sizeof(Value)); }
  };
  [[nodiscard]] Items items_of(const Value& value) const {
    if (value.payload == 0) return {};
    const auto first = load<std::uint64_t>(value.payload + layout_.list_items);
    const auto last = load<std::uint64_t>(value.payload + layout_.list_items + 8);
    const std::uint64_t count = (last - first) / sizeof(Value);
    return {first, count, std::min(count, kMostItems), load<std::uint64_t>(value.payload + layout_.list_items + 24)};
  }
  [[nodiscard]] bool is_tensor(const Value& value) const { return value.tag == layout_.tag_tensor; }
  [[nodiscard]] bool is_undefined(const Value& value) const {
    return is_tensor(value) && (value.payload == 0 || value.payload == layout_.undefined);
  }
  [[nodiscard]] bool is_scalar(const Value& value) const {
    return layout_.tag_int != 0 && (value.tag == layout_.tag_int || value.tag == layout_.tag_bool || is_double(value));
  }
  // No operator proves the tag of a double; it lies two before the integer's in every release with these tags.
  [[nodiscard]] bool is_double(const Value& value) const {
    return layout_.tag_tensor == 1 && layout_.tag_int == 5 && value.tag == 3;
  }

  void sizes(std::uint64_t tensor) {
    add("[");
    if (tensor != 0 && tensor != layout_.undefined) {
      const std::uint64_t at = tensor + layout_.tensor_sizes;
      const auto count = load<std::uint64_t>(at);
      const std::uint64_t first = count <= 5 ? at + 8 : load<std::uint64_t>(at + 8);
      for (std::uint64_t i = 0; i < count && count <= kMostDims; ++i) {
        if (i != 0) add(", ");
        number(load<std::int64_t>(first + i * 8));
      }
    }
    add("]");
  }

  void scalar(const Value& value) {
    if (value.tag == layout_.tag_bool) return add((value.payload & 0xFF) != 0 ? "True" : "False");
    if (value.tag == layout_.tag_int) return number(static_cast<std::int64_t>(value.payload));
    double real = 0;
    std::memcpy(&real, &value.payload, sizeof real);
    std::array<char, 32> digits{};
    const auto end = std::to_chars(digits.begin(), digits.end(), real, std::chars_format::general, 17).ptr;
    const std::string_view written(digits.data(), static_cast<std::size_t>(end - digits.data()));
    add(written);
    if (written.find_first_not_of("-0123456789") == std::string_view::npos) add(".");
  }
  void number(std::int64_t value) {
    std::array<char, 24> digits{};
    const auto end = std::to_chars(digits.begin(), digits.end(), value).ptr;
    add({digits.data(), static_cast<std::size_t>(end - digits.data())});
  }

  const TorchLayout& layout_;
  std::string& out_;
};

}  // namespace

void describe_inputs(const TorchRecord& record, const TorchLayout& layout, std::string& text) {
  text.clear();
  if (!layout.has_shapes()) return;
  const auto at = reinterpret_cast<std::uint64_t>(&record) + layout.inputs;
  const auto first = load<std::uint64_t>(at);
  const auto count = load<std::uint64_t>(at + 8);
  if (first == 0 || count == 0) return;
  Writer writer(layout, text);
  constexpr std::array kLines = {&Writer::dims, &Writer::type, &Writer::concrete};
  for (const auto line : kLines) {
    if (line != kLines[0]) writer.add("\n");
    for (std::uint64_t i = 0; i < count; ++i) {
      writer.add(i == 0 ? "[" : ", ");
      (writer.*line)(load<Value>(first + i * sizeof(Value)));
    }
    writer.add("]");
  }
}

}  // namespace stepscope::agent

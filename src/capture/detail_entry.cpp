// Packing and unpacking of details. Both walk the same parts in the same order; PackedDetail is the fixed part.
#include "capture/detail_entry.h"

#include <cstring>
#include <string>

namespace stepscope {
namespace {

struct PackedDetail {
  EntryHead head;
  const char* file;
  double flops;
  std::uint32_t stack_count;
  std::uint32_t input_count;
};
struct PackedInput {
  std::uint32_t dims_count;
  std::uint32_t type_bytes;
};
static_assert(sizeof(PackedDetail) == 32 && sizeof(PackedInput) == 8);

constexpr std::size_t round_up(std::size_t bytes) { return (bytes + 7) / 8 * 8; }

template <class T>
std::byte* put(std::byte* at, const T* values, std::size_t count) {
  if (count > 0) std::memcpy(at, values, count * sizeof(T));
  return at + round_up(count * sizeof(T));
}

std::size_t packed_bytes(const DetailSource& source) {
  std::size_t bytes = sizeof(PackedDetail) + source.stack.size() * sizeof(void*);
  for (const OpInput& input : source.inputs) {
    bytes += sizeof(PackedInput) + input.dims.size() * 8 + round_up(input.type.size());
  }
  for (const auto& dims : source.dims) bytes += sizeof(PackedInput) + dims.size() * 8;
  return bytes;
}

// As a JSON string: quotes, backslashes and control characters escaped.
void append_quoted(std::string& text, std::string_view raw) {
  constexpr char kHex[] = "0123456789abcdef";
  text += '"';
  for (const char c : raw) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      text += '\\';
      text += c;
    } else if (byte < 0x20) {
      text.append("\\u00").append(1, kHex[byte >> 4]).append(1, kHex[byte & 15]);
    } else {
      text += c;
    }
  }
  text += '"';
}

}  // namespace

std::optional<std::uint32_t> write_detail(ThreadState& thread, const DetailSource& source) {
  const std::size_t bytes = packed_bytes(source);
  std::byte* at = bytes <= kMostEntryBytes ? reserve(thread, bytes) : nullptr;
  if (at == nullptr) {
    thread.log->count_dropped(false);
    return std::nullopt;
  }
  const EntryHead head{EntryKind::kDetail, RecordKind::kSpan, static_cast<std::uint16_t>(bytes / 8), source.line};
  const PackedDetail packed{head, source.file, source.flops, static_cast<std::uint32_t>(source.stack.size()),
                            static_cast<std::uint32_t>(source.inputs.size() + source.dims.size())};
  at = put(at, &packed, 1);
  at = put(at, source.stack.data(), source.stack.size());
  for (const OpInput& input : source.inputs) {
    const PackedInput counts{static_cast<std::uint32_t>(input.dims.size()),
                             static_cast<std::uint32_t>(input.type.size())};
    at = put(at, &counts, 1);
    at = put(at, input.dims.data(), input.dims.size());
    at = put(at, input.type.data(), input.type.size());
  }
  static_assert(sizeof(Dim) == 8);
  for (const auto& dims : source.dims) {
    const PackedInput counts{static_cast<std::uint32_t>(dims.size()), 0};
    at = put(at, &counts, 1);
    at = put(at, dims.begin(), dims.size());
  }
  publish(thread, bytes);
  return ++thread.detail_count;
}

RecordDetail read_detail(const EntryHead& entry) {
  const auto* at = reinterpret_cast<const std::byte*>(&entry);
  PackedDetail packed;
  std::memcpy(&packed, at, sizeof packed);
  at += sizeof packed;

  RecordDetail detail;
  detail.file = packed.file;
  detail.line = packed.head.name;
  detail.flops = packed.flops;
  detail.stack.resize(packed.stack_count);
  if (packed.stack_count > 0) std::memcpy(detail.stack.data(), at, packed.stack_count * sizeof(void*));
  at += packed.stack_count * sizeof(void*);

  bool has_types = false;
  for (std::uint32_t i = 0; i < packed.input_count; ++i) {
    PackedInput counts;
    std::memcpy(&counts, at, sizeof counts);
    at += sizeof counts;
    detail.shapes += i == 0 ? "[[" : ", [";
    for (std::uint32_t d = 0; d < counts.dims_count; ++d) {
      std::int64_t dim = 0;
      std::memcpy(&dim, at, sizeof dim);
      at += sizeof dim;
      if (d > 0) detail.shapes += ", ";
      detail.shapes += std::to_string(dim);
    }
    detail.shapes += ']';
    detail.types += i == 0 ? "[" : ", ";
    append_quoted(detail.types, {reinterpret_cast<const char*>(at), counts.type_bytes});
    at += round_up(counts.type_bytes);
    has_types = has_types || counts.type_bytes > 0;
  }
  if (packed.input_count > 0) detail.shapes += ']';
  if (has_types) {
    detail.types += ']';
  } else {
    detail.types.clear();
  }
  return detail;
}

}  // namespace stepscope

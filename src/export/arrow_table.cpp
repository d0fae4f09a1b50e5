// Building columns, and handing them over with their owners.
#include "export/arrow_table.h"

#include <cerrno>
#include <cstring>

#include "export/json_text.h"

namespace stepscope {
namespace {

template <class T>
constexpr const char* format_of() {
  constexpr bool is_signed = std::is_signed_v<T>;
  if constexpr (std::is_same_v<T, double>) return "g";
  if constexpr (sizeof(T) == 8) return is_signed ? "l" : "L";
  if constexpr (sizeof(T) == 4) return is_signed ? "i" : "I";
  if constexpr (sizeof(T) == 2) return is_signed ? "s" : "S";
  return is_signed ? "c" : "C";
}

template <class T>
void add_validity(std::span<const T> values, const T& missing, ArrowColumn& column) {
  auto bitmap = std::make_shared<std::vector<std::uint8_t>>((values.size() + 7) / 8, std::uint8_t{0});
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] == missing) {
      ++column.null_count;
    } else {
      (*bitmap)[i / 8] = static_cast<std::uint8_t>((*bitmap)[i / 8] | (1U << (i % 8)));
    }
  }
  if (column.null_count == 0) return;
  column.validity = bitmap->data();
  column.keep.push_back(std::move(bitmap));
}

// ---- Schemas.

// What a field's schema points into.
struct SchemaParts {
  std::string format, name, metadata;
  std::vector<ArrowSchema*> children;
};

void release_schema(ArrowSchema* schema) {
  for (std::int64_t i = 0; i < schema->n_children; ++i) {
    if (schema->children[i]->release != nullptr) schema->children[i]->release(schema->children[i]);
    delete schema->children[i];
  }
  if (schema->dictionary != nullptr) {
    if (schema->dictionary->release != nullptr) schema->dictionary->release(schema->dictionary);
    delete schema->dictionary;
  }
  delete static_cast<SchemaParts*>(schema->private_data);
  schema->release = nullptr;
}

void append_int32(std::string& into, std::size_t number) {
  const auto value = static_cast<std::int32_t>(number);
  char bytes[sizeof value];
  std::memcpy(bytes, &value, sizeof value);
  into.append(bytes, sizeof value);
}

// The specification's encoding of {"doc": doc}.
std::string encode_doc(const std::string& doc) {
  if (doc.empty()) return "";
  constexpr std::string_view kKey = "doc";
  std::string bytes;
  append_int32(bytes, 1);
  append_int32(bytes, kKey.size());
  bytes += kKey;
  append_int32(bytes, doc.size());
  return bytes + doc;
}

void fill_schema(SchemaParts* parts, ArrowSchema* out) {
  *out = {};
  out->format = parts->format.c_str();
  out->name = parts->name.c_str();
  out->metadata = parts->metadata.empty() ? nullptr : parts->metadata.data();
  out->flags = ARROW_FLAG_NULLABLE;
  out->n_children = static_cast<std::int64_t>(parts->children.size());
  out->children = parts->children.data();
  out->release = release_schema;
  out->private_data = parts;
}

void fill_schema(const ArrowColumn& column, ArrowSchema* out) {
  fill_schema(new SchemaParts{column.format, column.name, encode_doc(column.doc), {}}, out);
  if (column.dictionary == nullptr) return;
  out->dictionary = new ArrowSchema;
  fill_schema(*column.dictionary, out->dictionary);
}

// ---- Arrays.

struct ArrayParts {
  std::shared_ptr<const ArrowTable> table;  // keeps every owner
  std::vector<const void*> buffers;
  std::vector<ArrowArray*> children;
};

void release_array(ArrowArray* array) {
  for (std::int64_t i = 0; i < array->n_children; ++i) {
    // A receiver may have moved a child out, which sets its release to null.
    if (array->children[i]->release != nullptr) array->children[i]->release(array->children[i]);
    delete array->children[i];
  }
  if (array->dictionary != nullptr) {
    if (array->dictionary->release != nullptr) array->dictionary->release(array->dictionary);
    delete array->dictionary;
  }
  delete static_cast<ArrayParts*>(array->private_data);
  array->release = nullptr;
}

void fill_array(ArrayParts* parts, std::int64_t length, std::int64_t null_count, ArrowArray* out) {
  *out = {};
  out->length = length;
  out->null_count = null_count;
  out->n_buffers = static_cast<std::int64_t>(parts->buffers.size());
  out->n_children = static_cast<std::int64_t>(parts->children.size());
  out->buffers = parts->buffers.data();
  out->children = parts->children.data();
  out->release = release_array;
  out->private_data = parts;
}

// Buffers of no bytes still need an address.
const void* or_something(const void* buffer) {
  static constexpr std::int64_t kNothing[2] = {0, 0};
  return buffer != nullptr ? buffer : static_cast<const void*>(kNothing);
}

void fill_array(const ArrowColumn& column, const std::shared_ptr<const ArrowTable>& table, ArrowArray* out) {
  auto* const parts = new ArrayParts{table, {column.validity, or_something(column.values)}, {}};
  if (column.format == "u" || column.format == "U") parts->buffers.push_back(or_something(column.text));
  fill_array(parts, column.length, column.null_count, out);
  if (column.dictionary == nullptr) return;
  out->dictionary = new ArrowArray;
  fill_array(*column.dictionary, table, out->dictionary);
}

// ---- The stream.

struct StreamParts {
  std::shared_ptr<const ArrowTable> table;
  bool is_over = false;
};

StreamParts& parts_of(ArrowArrayStream* stream) { return *static_cast<StreamParts*>(stream->private_data); }

int give_schema(ArrowArrayStream* stream, ArrowSchema* out) {
  auto* const parts = new SchemaParts{"+s", "", "", {}};
  for (const ArrowColumn& column : parts_of(stream).table->columns) {
    parts->children.push_back(new ArrowSchema);
    fill_schema(column, parts->children.back());
  }
  fill_schema(parts, out);
  out->flags = 0;
  return 0;
}

int give_next(ArrowArrayStream* stream, ArrowArray* out) {
  StreamParts& from = parts_of(stream);
  *out = {};
  if (from.is_over) return 0;  // released: the end
  from.is_over = true;
  auto* const parts = new ArrayParts{from.table, {nullptr}, {}};
  for (const ArrowColumn& column : from.table->columns) {
    parts->children.push_back(new ArrowArray);
    fill_array(column, from.table, parts->children.back());
  }
  fill_array(parts, from.table->row_count(), 0, out);
  return 0;
}

void release_stream(ArrowArrayStream* stream) {
  delete &parts_of(stream);
  stream->release = nullptr;
}

}  // namespace

template <class T>
ArrowColumn view_numbers(std::string name, std::string doc, std::span<const T> values, ArrowOwner owner) {
  ArrowColumn column{std::move(name), std::move(doc), format_of<T>(), static_cast<std::int64_t>(values.size())};
  column.values = values.data();
  column.keep.push_back(std::move(owner));
  return column;
}

template <class T>
ArrowColumn own_numbers(std::string name, std::string doc, std::vector<T> values) {
  auto kept = std::make_shared<const std::vector<T>>(std::move(values));
  const std::span<const T> view(*kept);
  return view_numbers<T>(std::move(name), std::move(doc), view, std::move(kept));
}

template <class T>
ArrowColumn view_numbers_or_null(std::string name, std::string doc, std::span<const T> values, T missing,
                                 ArrowOwner owner) {
  ArrowColumn column = view_numbers<T>(std::move(name), std::move(doc), values, std::move(owner));
  add_validity(values, missing, column);
  return column;
}

ArrowColumn view_maybe(std::string name, std::string doc, std::span<const MaybeInt> values, ArrowOwner owner) {
  static_assert(sizeof(MaybeInt) == sizeof(std::int64_t));
  ArrowColumn column{std::move(name), std::move(doc), "l", static_cast<std::int64_t>(values.size())};
  column.values = values.data();
  column.keep.push_back(std::move(owner));
  add_validity(values, MaybeInt{}, column);
  return column;
}

ArrowColumn own_text(std::string name, std::string doc, const std::vector<std::string_view>& values) {
  std::string bytes;
  std::vector<std::int64_t> offsets{0};
  offsets.reserve(values.size() + 1);
  for (const std::string_view value : values) {
    append_valid_utf8(value, bytes);
    offsets.push_back(static_cast<std::int64_t>(bytes.size()));
  }
  ArrowColumn column{std::move(name), std::move(doc), "U", static_cast<std::int64_t>(values.size())};
  // 32-bit offsets where they reach: some readers take only those.
  if (bytes.size() <= static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max())) {
    column.format = "u";
    auto kept = std::make_shared<const std::vector<std::int32_t>>(offsets.begin(), offsets.end());
    column.values = kept->data();
    column.keep.push_back(std::move(kept));
  } else {
    auto kept = std::make_shared<const std::vector<std::int64_t>>(std::move(offsets));
    column.values = kept->data();
    column.keep.push_back(std::move(kept));
  }
  auto kept = std::make_shared<const std::string>(std::move(bytes));
  column.text = kept->data();
  column.keep.push_back(std::move(kept));
  return column;
}

template <class T>
ArrowColumn view_words(std::string name, std::string doc, std::span<const T> indexes,
                       std::shared_ptr<const ArrowColumn> dictionary, ArrowOwner owner) {
  ArrowColumn column = view_numbers<T>(std::move(name), std::move(doc), indexes, std::move(owner));
  column.dictionary = std::move(dictionary);
  return column;
}

void export_stream(std::shared_ptr<const ArrowTable> table, ArrowArrayStream* out) {
  *out = {};
  out->get_schema = give_schema;
  out->get_next = give_next;
  out->get_last_error = [](ArrowArrayStream*) -> const char* { return nullptr; };
  out->release = release_stream;
  out->private_data = new StreamParts{std::move(table)};
}

#define STEPSCOPE_ARROW_NUMBERS(T)                                                                \
  template ArrowColumn view_numbers<T>(std::string, std::string, std::span<const T>, ArrowOwner); \
  template ArrowColumn own_numbers<T>(std::string, std::string, std::vector<T>);                  \
  template ArrowColumn view_numbers_or_null<T>(std::string, std::string, std::span<const T>, T, ArrowOwner);
STEPSCOPE_ARROW_NUMBERS(std::int64_t)
STEPSCOPE_ARROW_NUMBERS(std::uint64_t)
STEPSCOPE_ARROW_NUMBERS(std::int32_t)
STEPSCOPE_ARROW_NUMBERS(std::uint32_t)
STEPSCOPE_ARROW_NUMBERS(std::int16_t)
STEPSCOPE_ARROW_NUMBERS(std::uint8_t)
STEPSCOPE_ARROW_NUMBERS(double)
#undef STEPSCOPE_ARROW_NUMBERS
template ArrowColumn view_words<std::uint32_t>(std::string, std::string, std::span<const std::uint32_t>,
                                               std::shared_ptr<const ArrowColumn>, ArrowOwner);
template ArrowColumn view_words<std::uint8_t>(std::string, std::string, std::span<const std::uint8_t>,
                                              std::shared_ptr<const ArrowColumn>, ArrowOwner);

}  // namespace stepscope

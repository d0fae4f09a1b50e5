// Result<T>: the value, or the Error that says why there is none. Every public function that can fail returns one.
//
// GCC 12 has no usable std::expected in C++20, so this is the small subset that the project needs.
// It is returned once per file or request, never per event (damaged events are data: a trace carries notes). Dropping a
// Result is a compile error ([[nodiscard]] with -Werror=unused-result). Exceptions were rejected because the readers
// work on damaged input all day: a failure is ordinary there, and its path has to be visible in the signature.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace stepscope {

enum class ErrorCode {
  kNotFound,         // the file or the asked-for thing does not exist
  kPermission,       // it exists and may not be read or written
  kIo,               // the operating system failed half-way
  kEmpty,            // the input has 0 bytes
  kUnknownFormat,    // no importer recognises the content
  kDamaged,          // recognised, and nothing in it can be used
  kInvalidArgument,  // the request itself is wrong
  kUnsupported,      // right, but not something this build can do
};

// A code for programs and a sentence for people. The sentence is written where the knowledge is.
struct Error {
  ErrorCode code = ErrorCode::kIo;
  std::string message;
  std::string file;                            // empty when no file is concerned
  std::optional<std::uint64_t> byte_offset{};  // in the (decompressed) file

  // "FILE: MESSAGE (at byte N)"
  [[nodiscard]] std::string to_string() const;
};

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT: implicit by design
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT: implicit by design

  [[nodiscard]] bool has_value() const { return state_.index() == 0; }
  explicit operator bool() const { return has_value(); }

  // The value. Only after has_value().
  [[nodiscard]] T& value() & { return std::get<0>(state_); }
  [[nodiscard]] const T& value() const& { return std::get<0>(state_); }
  [[nodiscard]] T&& value() && { return std::get<0>(std::move(state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  // The error. Only after !has_value().
  [[nodiscard]] const Error& error() const { return std::get<1>(state_); }

 private:
  std::variant<T, Error> state_;
};

// A request without a value: done, or an Error.
struct Done {};
using Status = Result<Done>;

}  // namespace stepscope

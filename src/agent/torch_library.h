// The functions of libtorch_cpu.so that the hook calls, without PyTorch's headers: a table of pointers, so that a fake
// PyTorch can stand in for it.
//
// Names are C++ symbols that PyTorch exports (ATen/record_function.h) and, for the proof with real operators, the plain
// C functions that compiled models call (torch/csrc/inductor/aoti_torch/c/shim.h), whose signatures are kept stable.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <variant>

namespace stepscope::agent {

// at::RecordFunction; only ever seen through a pointer.
struct TorchRecord;
// at::ObserverContext: what a start callback may hand to its end callback. Ours hand over none.
struct TorchContext {
  virtual ~TorchContext() = default;
};

enum class TorchScope : std::uint8_t { kFunction = 0, kBackward = 1, kUser = 7 };

// at::RecordFunctionCallback, trivially copyable, 40 bytes in every release from 1.12 to 2.13.
struct TorchCallback {
  std::unique_ptr<TorchContext> (*start)(const TorchRecord&) = nullptr;
  void (*end)(const TorchRecord&, TorchContext*) = nullptr;
  double sampling_probability = 1.0;
  bool scopes[10] = {};
  bool needs_inputs = false;
  bool needs_outputs = false;
  bool needs_ids = false;
};
static_assert(sizeof(TorchCallback) == 40);

// at::RecordFunction::FunctionDescriptor; the second alternative is a reference, so a pointer has its layout.
struct TorchSchema;
using TorchDescriptor = std::variant<std::string_view, std::reference_wrapper<const TorchSchema>>;

struct TorchLibrary {
  std::uint64_t (*add)(TorchCallback) = nullptr;
  void (*remove)(std::uint64_t) = nullptr;
  const char* (*name)(const TorchRecord*) = nullptr;

  // For the proof with a record of our own.
  void (*construct)(void*, std::uint8_t scope) = nullptr;
  void (*before)(void*, TorchDescriptor, std::int64_t sequence) = nullptr;
  void (*destroy)(void*) = nullptr;
  bool (*is_enabled)() = nullptr;
  void (*enable)(bool) = nullptr;
  std::uint64_t (*thread_number)() = nullptr;  // PyTorch's own of the calling thread, from 1
  // There since the list of callbacks is guarded by a lock (1.12): adding from any thread is safe.
  const void* guarded_list = nullptr;

  // For the proof with operators of known shape; nullptr before 2.2.
  std::int32_t (*empty_strided)(std::int64_t dims, const std::int64_t* sizes, const std::int64_t* strides,
                                std::int32_t dtype, std::int32_t device_type, std::int32_t device,
                                void** tensor) = nullptr;
  std::int32_t (*copy)(void* to, void* from, std::int32_t non_blocking) = nullptr;
  std::int32_t (*as_strided)(void* tensor, const std::int64_t* sizes, const std::int64_t* strides,
                             void** view) = nullptr;  // as many as the tensor has
  std::int32_t (*destroy_tensor)(void* tensor) = nullptr;
  const void* undefined_tensor = nullptr;  // c10::UndefinedTensorImpl's only object

  std::string path;
  std::string version;  // of version.py beside the library, else of the library's file name; empty: unknown
};

// Of this process; `add` is nullptr while PyTorch is not loaded.
[[nodiscard]] TorchLibrary find_torch();
// What a version.py of PyTorch says: the text between the quotes of `__version__ = '2.13.0+cpu'`.
[[nodiscard]] std::string version_in(std::string_view version_file);
// Of PyTorch as distributions package it, apart from its Python files: ".../libtorch_cpu.so.2.14.1" is "2.14.1".
[[nodiscard]] std::string version_of_file(std::string_view path);

}  // namespace stepscope::agent

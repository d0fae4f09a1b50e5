// Where the fields lie that PyTorch's inline accessors read (sequence number, inputs, sizes of a tensor): found by
// looking for known values, not taken from a table of versions.
//
// A table must be extended for each release and is wrong in silence for builds that patched a struct; a search that
// finds each value at exactly one place, in several objects, is its own proof. Whatever is found nowhere or twice is
// "not available".
#pragma once

#include <cstdint>
#include <string>

#include "agent/torch_library.h"

namespace stepscope::agent {

// Offsets in bytes; 0: not available (offset 0 holds the table of virtual functions in all these classes).
struct TorchLayout {
  // In at::RecordFunction.
  std::uint32_t sequence = 0;
  std::uint32_t forward_thread = 0;
  std::uint32_t inputs = 0;  // pointer and count of IValues of 16 bytes: payload, tag
  // In c10::TensorImpl.
  std::uint32_t tensor_sizes = 0;  // count, then 5 sizes in place or a pointer to them
  std::uint32_t tensor_dtype = 0;  // 16 bits: c10::ScalarType
  // In the list behind an IValue: the vector of IValues (begin, end).
  std::uint32_t list_items = 0;
  std::uint64_t int_type = 0;   // what lies behind the vector in a list of integers: its type, for lists that are empty
  std::uint64_t undefined = 0;  // address of the one tensor that stands for "none"; 0: unknown
  // Tags of IValues.
  std::uint32_t tag_tensor = 0, tag_int = 0, tag_bool = 0, tag_list = 0;

  [[nodiscard]] bool has_shapes() const { return inputs != 0 && tensor_sizes != 0; }
};

struct TorchProof {
  bool is_proven = false;  // callbacks are called once each, for the scope asked for, with the right name
  std::string problem;     // why not
  TorchLayout layout;
  std::string missing;  // parts of the layout that could not be found, for a remark; empty: none
};

// Runs ranges of its own through the callbacks, and when `with_shapes` two small copies of tensors on the CPU. Other
// threads may run operators meanwhile; they are not looked at. The calling thread's setting of record functions is
// kept.
[[nodiscard]] TorchProof prove_torch(const TorchLibrary& torch, bool with_shapes) noexcept;

}  // namespace stepscope::agent

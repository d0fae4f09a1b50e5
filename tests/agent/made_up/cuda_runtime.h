// As CUDA's header of this name has it: a template around the call of the runtime, inlined where the compiler inlines
// at all, so that the call's line is one of this file.
#pragma once

#include <cstddef>

extern "C" int cudaMallocAsync(void** pointer, std::size_t size);

template <class T>
inline int cudaMallocAsync(T** pointer, std::size_t size) {
  return cudaMallocAsync(reinterpret_cast<void**>(pointer), size);
}

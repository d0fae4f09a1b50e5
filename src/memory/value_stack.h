// The stack of the pickle machine: its end can be kept in a register while the hot loop runs, and it grows by realloc,
// so that a file of ten million pushes costs 8 bytes each and not the old and the new copy.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <new>
#include <span>

#include "memory/snapshot_value.h"

namespace stepscope::snapshot_reading {

class ValueStack {
 public:
  ValueStack() { resize(1024); }

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] Value& operator[](std::size_t at) { return storage_.get()[at]; }
  [[nodiscard]] Value back() const { return storage_.get()[size_ - 1]; }
  void push_back(Value value) {
    if (size_ == capacity_) grow();
    storage_.get()[size_++] = value;
  }
  void pop_back() { --size_; }
  void shrink(std::size_t size) { size_ = size; }
  void insert(std::size_t at, Value value) {
    push_back(value);
    std::rotate(storage_.get() + at, end() - 1, end());
  }
  [[nodiscard]] std::span<Value> from(std::size_t at) { return {storage_.get() + at, size_ - at}; }

  // For the hot loop: where the next value goes, and where there is no room any more.
  [[nodiscard]] Value* end() { return storage_.get() + size_; }
  [[nodiscard]] Value* limit() { return storage_.get() + capacity_; }
  void set_end(const Value* end) { size_ = static_cast<std::size_t>(end - storage_.get()); }
  void grow() { resize(capacity_ * 2); }

 private:
  struct Free {
    void operator()(Value* values) const {
      std::free(values);
    }  // NOLINT(cppcoreguidelines-no-malloc): realloc's other half
  };

  void resize(std::size_t capacity) {
    void* moved =
        std::realloc(storage_.get(), capacity * sizeof(Value));  // NOLINT(cppcoreguidelines-no-malloc): see above
    if (moved == nullptr) throw std::bad_alloc();
    (void)storage_.release();
    storage_.reset(static_cast<Value*>(moved));
    capacity_ = capacity;
  }

  std::unique_ptr<Value, Free> storage_;
  std::size_t size_ = 0, capacity_ = 0;
};

}  // namespace stepscope::snapshot_reading

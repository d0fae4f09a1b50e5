// The stack of the pickle machine: a vector whose end can be kept in a register while the hot loop runs.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "memory/snapshot_value.h"

namespace stepscope::snapshot_reading {

class ValueStack {
 public:
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] Value& operator[](std::size_t at) { return storage_[at]; }
  [[nodiscard]] Value back() const { return storage_[size_ - 1]; }
  void push_back(Value value) {
    if (size_ == storage_.size()) storage_.resize(size_ * 2);
    storage_[size_++] = value;
  }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  void pop_back() { --size_; }
  void shrink(std::size_t size) { size_ = size; }
  void insert(std::size_t at, Value value) {
    push_back(value);
    std::rotate(storage_.begin() + static_cast<std::ptrdiff_t>(at), end_iterator() - 1, end_iterator());
  }
  [[nodiscard]] std::span<Value> from(std::size_t at) { return std::span(storage_).subspan(at, size_ - at); }

  // For the hot loop: where the next value goes, and where there is no room any more.
  [[nodiscard]] Value* end() { return storage_.data() + size_; }
  [[nodiscard]] Value* limit() { return storage_.data() + storage_.size(); }
  void set_end(const Value* end) { size_ = static_cast<std::size_t>(end - storage_.data()); }
  void grow() { storage_.resize(storage_.size() * 2); }

 private:
  [[nodiscard]] std::vector<Value>::iterator end_iterator() {
    return storage_.begin() + static_cast<std::ptrdiff_t>(size_);
  }

  std::vector<Value> storage_ = std::vector<Value>(1024);
  std::size_t size_ = 0;
};

}  // namespace stepscope::snapshot_reading

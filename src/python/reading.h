// While the library reads: other threads of Python run, a bar may move, and Ctrl-C ends it.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <optional>

namespace stepscope::python {

// (bytes read, bytes in all or None); what it raises ends the reading.
using Progress = std::optional<nanobind::callable>;

class Attention {
 public:
  explicit Attention(const Progress& progress) : progress_(progress) {}

  // Called without the lock of Python, at most every few milliseconds: handles signals and tells the progress. True: an
  // exception of Python is set, and the reading shall end.
  bool look(std::uint64_t bytes_read, std::optional<std::uint64_t> bytes_total);
  [[nodiscard]] bool is_stopped() const { return is_stopped_; }

 private:
  const Progress& progress_;
  bool is_stopped_ = false;
};

}  // namespace stepscope::python

// Signals are looked at even where no progress is asked for: Python handles them on the main thread alone, which is
// here.
#include "python/reading.h"

#include <nanobind/stl/optional.h>

namespace nb = nanobind;

namespace stepscope::python {

bool Attention::look(std::uint64_t bytes_read, std::optional<std::uint64_t> bytes_total) {
  if (is_stopped_) return true;
  const nb::gil_scoped_acquire locked;
  if (PyErr_CheckSignals() != 0) return is_stopped_ = true;
  if (!progress_ || bytes_read == 0) return false;
  try {
    (*progress_)(bytes_read, bytes_total);
  } catch (nb::python_error& error) {
    error.restore();
    is_stopped_ = true;
  }
  return is_stopped_;
}

}  // namespace stepscope::python

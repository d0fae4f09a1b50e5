// What the process uses of a device, as the library knows it; None where nobody knows.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include "python/bindings.h"
#include "python/errors.h"
#include "stepscope/memory_stats.h"

namespace nb = nanobind;

namespace stepscope::python {

void bind_device_memory(nb::module_& m) {
  const auto free = nb::call_guard<nb::gil_scoped_release>();
  m.def("memory_allocated", memory_allocated, nb::arg("device") = -1, free);
  m.def("max_memory_allocated", max_memory_allocated, nb::arg("device") = -1, free);
  m.def("memory_reserved", memory_reserved, nb::arg("device") = -1, free);
  m.def("max_memory_reserved", max_memory_reserved, nb::arg("device") = -1, free);
  m.def("memory_summary", memory_summary, nb::arg("device") = -1, free);
  m.def(
      "reset_peak_memory_stats",
      [](int device) {
        if (const Status status = reset_peak_memory_stats(device); !status) raise(status.error());
      },
      nb::arg("device") = -1);
}

}  // namespace stepscope::python

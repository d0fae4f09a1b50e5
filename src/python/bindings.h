// The parts of the module, one file each.
#pragma once

#include <nanobind/nanobind.h>

namespace stepscope::python {

void bind_timing(nanobind::module_& m);         // Timer, Measurement, Compare, StepTimer
void bind_efficiency(nanobind::module_& m);     // mfu, hfu, device peaks
void bind_device_memory(nanobind::module_& m);  // memory_allocated and its family

}  // namespace stepscope::python

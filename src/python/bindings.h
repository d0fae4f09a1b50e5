// The parts of the module, one file each.
#pragma once

#include <nanobind/nanobind.h>

#include <stdexcept>
#include <string>

#include "python/table_maker.h"
#include "report/page.h"

namespace stepscope::python {

// As the module's class Table.
struct Table {
  TablePointer table;
};

// Widths as the program takes them; others are a ValueError, thrown as C++'s own kind where Python's lock is given up.
[[nodiscard]] inline Style plain_style(std::size_t width, bool colour) {
  if (width < 60 || width > 400) {
    throw std::invalid_argument("width: a whole number from 60 to 400, not " + std::to_string(width));
  }
  Style style;
  style.width = width;
  style.colour = colour;
  return style;
}

void bind_timing(nanobind::module_& m);         // Timer, Measurement, Compare, StepTimer
void bind_efficiency(nanobind::module_& m);     // mfu, hfu, device peaks
void bind_fleet(nanobind::module_& m);          // summaries of ranks, merged, reported
void bind_device_memory(nanobind::module_& m);  // memory_allocated and its family
void bind_memory(nanobind::module_& m);         // memory snapshots

}  // namespace stepscope::python

// Errors of the library as Python's own exceptions, with the file and the place as attributes.
#pragma once

#include <nanobind/nanobind.h>

#include "stepscope/result.h"

namespace stepscope::python {

// kNotFound: FileNotFoundError; kPermission: PermissionError; kIo: OSError; kInvalidArgument: ValueError; all others:
// stepscope.TraceError (a ValueError) with `file` and `offset`. Never returns.
[[noreturn]] void raise(const Error& error);

// `text` as Python's, whatever bytes a file name has (surrogateescape, as os.fsdecode).
[[nodiscard]] nanobind::object to_python(const std::string& text);

// The class TraceError, made once and put into the module.
void add_error_class(nanobind::module_& module);

}  // namespace stepscope::python

// The only place that throws: nanobind turns python_error into the exception that is set.
#include "python/errors.h"

#include <cerrno>

#include "fleet/rank_summary.h"

namespace nb = nanobind;

namespace stepscope::python {
namespace {

PyObject* trace_error = nullptr;  // owned by the module for the life of the process

[[noreturn]] void raise_made(PyObject* type, const nb::object& made) {
  if (made.is_valid()) PyErr_SetObject(type, made.ptr());
  throw nb::python_error();
}

// OSError(errno, text, file): the members that Python's own errors of files have.
[[noreturn]] void raise_os_error(PyObject* type, int number, const Error& error) {
  const nb::object message = to_python(error.message), file = to_python(error.file);
  raise_made(type, nb::steal(PyObject_CallFunction(type, "iOO", number, message.ptr(), file.ptr())));
}

[[noreturn]] void raise_trace_error(const Error& error) {
  const nb::object message = to_python(error.to_string()), file = to_python(error.file),
                   reason = to_python(error.message),
                   code = to_python(std::string(kErrorCodeWords[static_cast<std::size_t>(error.code)]));
  const nb::object made = nb::steal(PyObject_CallFunctionObjArgs(trace_error, message.ptr(), nullptr));
  if (!made.is_valid()) throw nb::python_error();
  const nb::object offset =
      error.byte_offset ? nb::steal(PyLong_FromUnsignedLongLong(*error.byte_offset)) : nb::borrow(Py_None);
  if (PyObject_SetAttrString(made.ptr(), "file", file.ptr()) != 0 ||
      PyObject_SetAttrString(made.ptr(), "offset", offset.ptr()) != 0 ||
      PyObject_SetAttrString(made.ptr(), "reason", reason.ptr()) != 0 ||
      PyObject_SetAttrString(made.ptr(), "code", code.ptr()) != 0) {
    throw nb::python_error();
  }
  raise_made(trace_error, made);
}

}  // namespace

nb::object to_python(const std::string& text) {
  return nb::steal(PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "surrogateescape"));
}

void raise(const Error& error) {
  switch (error.code) {
    case ErrorCode::kNotFound:
      raise_os_error(PyExc_FileNotFoundError, ENOENT, error);
    case ErrorCode::kPermission:
      raise_os_error(PyExc_PermissionError, EACCES, error);
    case ErrorCode::kIo:
      raise_os_error(PyExc_OSError, EIO, error);
    case ErrorCode::kInvalidArgument:
      PyErr_SetString(PyExc_ValueError, error.to_string().c_str());
      throw nb::python_error();
    default:
      raise_trace_error(error);
  }
}

void add_error_class(nb::module_& module) {
  trace_error = PyErr_NewExceptionWithDoc("stepscope.TraceError",
                                          "A file that holds nothing usable: `file` and `offset` (bytes into the "
                                          "decompressed file, or None) say where, `reason` what, `code` of "
                                          "which kind (\"damaged\", \"unknown_format\", \"empty\", \"unsupported\").",
                                          PyExc_ValueError, nullptr);
  if (trace_error == nullptr) throw nb::python_error();
  module.attr("TraceError") = nb::borrow(trace_error);
}

}  // namespace stepscope::python

// The only caller of the importers in this room.
#include "python/trace_reading.h"

#include "import/importers.h"
#include "python/errors.h"

namespace nb = nanobind;

namespace stepscope::python {

std::vector<Trace> read_or_raise(const std::string& path, const std::string& name, unsigned threads,
                                 const Progress& progress) {
  ReadOptions options;
  options.threads = threads;
  Attention attention(progress);
  options.is_stopped = [&] { return attention.look(0, {}); };
  options.progress = [&](std::uint64_t bytes_read, std::optional<std::uint64_t> bytes_total) {
    (void)attention.look(bytes_read, bytes_total);
  };
  std::optional<Result<std::vector<Trace>>> traces;
  {
    const nb::gil_scoped_release others_run;
    traces.emplace(read_traces(path, options));
  }
  if (attention.is_stopped()) throw nb::python_error();
  if (!*traces) {
    Error error = traces->error();
    if (error.file == path) error.file = name;
    raise(error);
  }
  for (Trace& trace : **traces) {
    if (trace.info.source == path) trace.info.source = name;
  }
  return std::move(**traces);
}

}  // namespace stepscope::python

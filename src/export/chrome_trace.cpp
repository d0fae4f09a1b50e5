// The passes over a trace that make its file, each in a file of its own.
//
// The rows are written table by table and thread by thread, not in the order of time: sorting would need memory that
// follows the trace, and every reader sorts. What the order does keep is that of the rows of each table, so that
// reading the file back gives the same trace (docs/formats/chrome-trace.md).
#include "export/chrome_trace.h"

#include "export/chrome_parts.h"

namespace stepscope {

Status write_chrome_trace(const Trace& trace, const TextSink& sink, const ChromeMetadata& metadata) {
  if (Status wrong = check_chrome_metadata(metadata); !wrong) return wrong;
  TextBuffer out(sink);
  ChromeText text(trace, out);
  write_chrome_header(text, metadata);
  write_chrome_places(text);
  write_chrome_host(text);
  write_chrome_gpu(text);
  write_chrome_side_events(text);
  write_chrome_footer(text);
  return out.finish();
}

Status write_chrome_trace_file(const Trace& trace, const std::string& path, const ChromeMetadata& metadata) {
  return write_text_file(path, [&](const TextSink& sink) { return write_chrome_trace(trace, sink, metadata); });
}

}  // namespace stepscope

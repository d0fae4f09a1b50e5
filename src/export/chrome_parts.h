// The parts of a Chrome trace document, in the order in which they stand in it. One file each.
#pragma once

#include "export/chrome_text.h"
#include "export/chrome_trace.h"

namespace stepscope {

// All that stands before the events: devices, rank, options, and our own `stepscope` object (see the file).
void write_chrome_header(ChromeText& text, const ChromeMetadata& metadata);
[[nodiscard]] Status check_chrome_metadata(const ChromeMetadata& metadata);
// Names, labels and sort order of processes, threads, devices and streams.
void write_chrome_places(ChromeText& text);
// Operators, spans, frames and calls, a thread after the other.
void write_chrome_host(ChromeText& text);
// Kernels, copies, sets and annotations, a device after the other.
void write_chrome_gpu(ChromeText& text);
// Allocator events, flows, counters and events of no known meaning.
void write_chrome_side_events(ChromeText& text);
void write_chrome_footer(ChromeText& text);

}  // namespace stepscope

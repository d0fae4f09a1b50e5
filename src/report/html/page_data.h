// The columns of one recording for its page: docs/formats/page.md describes every table.
//
// A page is drawn from two things: the document of `report --json`, which has every number and sentence of the first
// view, and these columns, which have what the document leaves out: each event, gap and sample.
#pragma once

#include <string>

#include "analyze/facts.h"

namespace stepscope {

// Raised when a table or column changes its meaning or goes away; the page is written beside it, so pages always fit.
inline constexpr int kPageFormatVersion = 1;

struct PageOptions {
  bool whole_file_window = false;  // tables of the whole file instead of the steps
  // A row costs 5 to 9 bytes of the page and 40 to 60 in the browser: these make about 50 MB and half a gigabyte.
  std::size_t most_host_count = 5'000'000;
  std::size_t most_gpu_count = 2'500'000;
};

// The columns as the page holds them: base64 of deflated bytes.
[[nodiscard]] std::string build_page_data(const Trace& trace, const Facts& facts, const PageOptions& options);
// The same before packing: a directory in JSON behind its length, then the columns.
[[nodiscard]] std::string build_page_bytes(const Trace& trace, const Facts& facts, const PageOptions& options);

}  // namespace stepscope

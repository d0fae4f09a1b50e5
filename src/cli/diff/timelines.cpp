// A file of several ranks is read for the one rank that was compared.
#include "cli/diff/timelines.h"

#include <algorithm>

#include "cli/reading.h"
#include "cli/summarizing.h"
#include "report/html/page_data.h"

namespace stepscope {

std::string read_timeline(const DifferenceSide& side, const std::vector<std::string>& files,
                          const TraceOptions& asked) {
  // A summary names the trace that it was made from, which need not be here, nor be the same any more.
  const bool is_given =
      !side.sources.empty() && std::find(files.begin(), files.end(), side.sources.front()) != files.end();
  if (!is_given || !is_regular_file(side.sources.front())) return "";
  const auto traces = read_file(side.sources.front(), asked.threads);
  if (!traces) return "";
  const auto trace =
      std::find_if(traces->begin(), traces->end(), [&](const Trace& each) { return each.info.rank == side.rank; });
  if (trace == traces->end()) return "";
  const FactOptions options = fact_options(asked, std::nullopt);
  PageOptions page;
  page.whole_file_window = options.whole_file_window;
  return build_page_data(*trace, compute_facts(*trace, options), page);
}

}  // namespace stepscope

// A trace of 4,000 steps has 50,000 waits at two places. Looking up each place means a search in four tables and a
// few strings, so a sample is taken: 512 calls spread evenly find every place that is worth naming.
#include "rules/host_sites.h"

#include <algorithm>

#include "rules/wording.h"

namespace stepscope {
namespace {

// "ProfilerStep#4 > forward" -> "forward": the step is no place.
std::string inner_spans(std::string_view spans) {
  if (spans.starts_with("ProfilerStep#")) {
    const auto cut = spans.find(" > ");
    if (cut == std::string_view::npos) return {};
    spans.remove_prefix(cut + 3);
  }
  return std::string(spans);
}

}  // namespace

std::string describe_place(const HostPlace& place) {
  std::string out = shortened(place.operators, 100);
  if (!place.python_line.empty()) {
    if (!out.empty()) out += " at ";
    return out + shortened(place.python_line, 100);
  }
  const std::string spans = inner_spans(place.spans);
  if (spans.empty()) return out;
  return out + (out.empty() ? "span " : " in span ") + shortened(spans, 60);
}

std::string describe_call_place(const Trace& trace, CallId call) {
  return describe_place(find_host_place(trace, trace.calls.thread[call], trace.calls.start_ns[call]));
}

std::vector<Site> group_by_site(const Trace& trace, const std::vector<CallId>& calls) {
  constexpr std::size_t kSample = 512;
  const std::size_t stride = calls.size() / kSample + 1;
  std::vector<Site> sites;
  for (std::size_t at = 0; at < calls.size(); at += stride) {
    const CallId call = calls[at];
    const HostPlace place = find_host_place(trace, trace.calls.thread[call], trace.calls.start_ns[call]);
    std::string where = describe_place(place);
    if (where.empty()) where = std::string(trace.text(trace.calls.name[call]));
    auto site = std::find_if(sites.begin(), sites.end(), [&](const Site& s) { return s.where == where; });
    if (site == sites.end()) {
      sites.push_back({where, place.operators, !place.python_line.empty(), 0, 0, {}});
      site = sites.end() - 1;
    }
    const Interval span{trace.calls.start_ns[call], trace.calls.end_ns[call]};
    site->count += static_cast<std::int64_t>(stride);
    site->call_sum_ns += span.length_ns() * static_cast<DurationNs>(stride);
    if (site->example.length_ns() <= span.length_ns()) site->example = span;
  }
  std::stable_sort(sites.begin(), sites.end(), [](const Site& a, const Site& b) { return a.count > b.count; });
  return sites;
}

}  // namespace stepscope

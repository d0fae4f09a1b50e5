// The list of a page's tables, and the container they stand in.
#include "report/html/page_data.h"

#include <nlohmann/json.hpp>

#include "report/html/page_container.h"
#include "report/html/page_tables.h"

namespace stepscope {
namespace {

using Json = nlohmann::ordered_json;

template <class Word, class Name>
Json words(std::size_t count, Name name) {
  Json list = Json::array();
  for (std::size_t i = 0; i < count; ++i) list.push_back(std::string(name(static_cast<Word>(i))));
  return list;
}

Json directory_head(const PageInput& input) {
  Json head;
  // Times since 1970 have 19 digits, which a script's numbers do not: as text.
  head["origin_ns"] = std::to_string(input.rows.origin_ns);
  head["base_ns"] = std::to_string(input.trace.info.base_ns);
  head["shortest_host_ns"] = input.rows.shortest_host_ns;
  head["shortest_gpu_ns"] = input.rows.shortest_gpu_ns;
  head["kinds"] = words<KernelClass>(kKernelClassCount, kernel_class_name);
  head["causes"] = words<HostLabel>(kHostLabelCount, host_label_name);
  constexpr std::size_t kWaitKindCount = 5;
  head["wait_kinds"] = words<WaitKind>(kWaitKindCount, wait_kind_name);
  const Interval window = input.facts.steps.window;
  head["window"] = {input.since_origin(window.start_ns), input.since_origin(window.end_ns)};
  head["main_device"] = input.facts.busy.empty() ? Json(nullptr) : Json(input.facts.main_busy()->device.value);
  return head;
}

}  // namespace

std::string build_page_bytes(const Trace& trace, const Facts& facts, const PageOptions& options) {
  const PageRows rows = choose_page_rows(trace, options.most_host_count, options.most_gpu_count);
  PageStrings strings(trace);
  const PageInput input{trace, facts, rows, strings, options.whole_file_window};
  std::vector<PageTable> tables;
  add_place_tables(input, tables);
  add_host_table(input, tables);
  add_gpu_tables(input, tables);
  add_step_tables(input, tables);
  add_gap_tables(input, tables);
  add_sample_tables(input, tables);
  add_sum_tables(input, tables);
  tables.push_back(strings.table());  // last: the others have asked for their texts by now
  return write_page_container(directory_head(input), tables);
}

std::string build_page_data(const Trace& trace, const Facts& facts, const PageOptions& options) {
  return pack_for_page(build_page_bytes(trace, facts, options));
}

}  // namespace stepscope

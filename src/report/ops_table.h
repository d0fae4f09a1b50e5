// `stepscope ops`: the rows of key_averages as a table, CSV or JSON.
//
// JSON rows carry torch's own keys and units (us, bytes), so that they compare with a dump of key_averages() one to
// one; record_count and inclusive_ns are ours.
#pragma once

#include <string>
#include <vector>

#include "analyze/averages.h"
#include "report/page.h"

namespace stepscope {

struct OpsTable {
  const Averages& averages;
  std::vector<std::size_t> rows;  // in the order to show; already cut to the limit
  GroupBy group_by = GroupBy::kName;
  std::string sort_key;  // empty: order of first appearance
};

[[nodiscard]] std::string write_ops_text(const OpsTable& table, const Style& style);
[[nodiscard]] std::string write_ops_csv(const OpsTable& table);
[[nodiscard]] std::string write_ops_json(const OpsTable& table);

}  // namespace stepscope

// The tables of a page's data, each made by one function; page_data.cpp has the list.
#pragma once

#include <vector>

#include "analyze/facts.h"
#include "report/html/page_columns.h"
#include "report/html/page_rows.h"
#include "report/html/page_strings.h"

namespace stepscope {

struct PageInput {
  const Trace& trace;
  const Facts& facts;
  const PageRows& rows;
  PageStrings& strings;
  bool whole_file_window = false;

  [[nodiscard]] TimeNs since_origin(TimeNs time_ns) const { return time_ns - rows.origin_ns; }
};

// Places and events.
void add_place_tables(const PageInput& input, std::vector<PageTable>& out);  // threads, devices, streams
void add_host_table(const PageInput& input, std::vector<PageTable>& out);
void add_gpu_tables(const PageInput& input, std::vector<PageTable>& out);  // gpu, configs, collectives, gpu_spans
// Facts on the timeline.
void add_step_tables(const PageInput& input, std::vector<PageTable>& out);    // steps, step_idle
void add_gap_tables(const PageInput& input, std::vector<PageTable>& out);     // gaps, gap_parts
void add_sample_tables(const PageInput& input, std::vector<PageTable>& out);  // waits, memory, queue
// Sums.
void add_sum_tables(const PageInput& input,
                    std::vector<PageTable>& out);  // operators, shapes, modules, kernels, stacks

}  // namespace stepscope

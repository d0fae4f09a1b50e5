// Every table of a fragment that has a row for each event.
#include "import/chrome_json/exact_tables.h"

#include <utility>

namespace stepscope::chrome_json {
namespace {

template <class Visit>
void for_each_table(Fragment& fragment, Fragment& spare, Visit&& visit) {
  visit(fragment.ops, spare.ops);
  visit(fragment.spans, spare.spans);
  visit(fragment.frames, spare.frames);
  visit(fragment.calls, spare.calls);
  visit(fragment.gpu_events, spare.gpu_events);
  visit(fragment.collectives, spare.collectives);
  visit(fragment.gpu_spans, spare.gpu_spans);
  visit(fragment.memory_events, spare.memory_events);
  visit(fragment.flows, spare.flows);
  visit(fragment.counters, spare.counters);
  visit(fragment.other_events, spare.other_events);
}

template <class Table>
void copy_exactly(Table& rows, Table& spare) {
  Table::for_each_member([&](auto member) {
    auto& column = (rows.*member).raw();
    auto exact = std::remove_reference_t<decltype(column)>(column.begin(), column.end());
    column.clear();
    column.swap((spare.*member).raw());
    column.swap(exact);
  });
}

}  // namespace

void lend_columns(Fragment& fragment, Fragment& spare) {
  for_each_table(fragment, spare, [](auto& rows, auto& roomy) { std::swap(rows, roomy); });
}

void take_columns_back(Fragment& fragment, Fragment& spare) {
  for_each_table(fragment, spare, [](auto& rows, auto& roomy) { copy_exactly(rows, roomy); });
}

}  // namespace stepscope::chrome_json

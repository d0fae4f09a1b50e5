// Counts of what a capture holds, as JSON, for check.py: of the file named, with its ledger and remarks.
#include <cstdio>
#include <unordered_map>
#include <unordered_set>

#include "agent/capture_test_support.h"

int main(int argc, char** argv) {
  using namespace stepscope;
  using namespace stepscope::agent;
  if (argc != 2) return 2;
  int damage_count = 0;
  const Records records = read_capture(argv[1], &damage_count);
  long kernels = 0, copies = 0, sets = 0, kernel_ns = 0, unmatched = 0, in_graphs = 0, early = 0;
  std::unordered_map<std::uint32_t, TimeNs> call_starts;
  for (const WireCall& call : records.calls) call_starts[call.correlation] = call.start_ns;
  for (const WireGpuEvent& event : records.gpu_events) {
    kernels += event.kind == WireGpuKind::kKernel ? 1 : 0;
    copies += event.kind == WireGpuKind::kCopy ? 1 : 0;
    sets += event.kind == WireGpuKind::kSet ? 1 : 0;
    in_graphs += event.graph_node.has_value() ? 1 : 0;
    if (event.kind == WireGpuKind::kKernel) kernel_ns += event.end_ns - event.start_ns;
    const auto call = call_starts.find(event.correlation);
    unmatched += call == call_starts.end() ? 1 : 0;
    // A kernel before its launch: the clocks disagree.
    early += call != call_starts.end() && event.start_ns < call->second ? 1 : 0;
  }
  std::unordered_map<std::string, long> call_names;
  for (const WireCall& call : records.calls) ++call_names[records.strings.at(call.name)];
  const WireLedger total = records.total();
  std::printf("{\"kernels\": %ld, \"copies\": %ld, \"sets\": %ld, \"kernel_us\": %.1f, \"in_graphs\": %ld, ", kernels,
              copies, sets, static_cast<double>(kernel_ns) / 1e3, in_graphs);
  std::printf("\"events_without_call\": %ld, \"events_before_call\": %ld, \"damage\": %d, \"has_end\": %s, ", unmatched,
              early, damage_count, records.has_end ? "true" : "false");
  std::printf(
      "\"ledger\": {\"launches\": %lu, \"events\": %lu, \"unmatched\": %lu, \"bad_times\": %lu, "
      "\"dropped\": [%lu, %lu, %lu]}, \"bytes\": %lu, \"calls\": {",
      total.launch_count, total.gpu_event_count, total.unmatched_count, total.bad_time_count,
      total.dropped_by_cupti_count, total.dropped_by_cap_count, total.dropped_host_count,
      std::filesystem::file_size(argv[1]));
  const char* comma = "";
  for (const auto& [name, count] : call_names) {
    std::printf("%s\"%s\": %ld", comma, name.c_str(), count);
    comma = ", ";
  }
  std::printf("}, \"ops\": %zu, \"samples\": %zu", records.ops.size(), records.samples.size());
  std::printf(", \"windows\": %zu, \"remarks\": [", records.windows.size());
  comma = "";
  for (const std::string& remark : records.remarks) {
    std::printf("%s\"%s\"", comma, remark.c_str());
    comma = ", ";
  }
  std::printf("]}\n");
  return 0;
}

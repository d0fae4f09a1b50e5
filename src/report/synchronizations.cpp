// Naming a place takes three searches and a few strings, about 2 us. A trace of 4,000 steps may hold a hundred thousand
// waits, so above a limit one of every n is looked up and counts n: any of the n, because waits repeat from step to
// step and every n-th would meet the same places again and again. To look up one for each pair of operator and
// innermost frame was rejected, because wrappers such as Tensor.item() have many callers and one innermost frame.
#include "report/synchronizations.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "report/text.h"

namespace stepscope {
namespace {

constexpr std::size_t kMostLookedUp = 16384;
constexpr std::size_t kMostRows = 64;

// ProfilerStep#4 and #5 are one place.
std::string fold_steps(std::string text) {
  constexpr std::string_view kStep = "ProfilerStep#";
  const std::size_t at = text.find(kStep);
  if (at == std::string::npos) return text;
  std::size_t end = at + kStep.size();
  while (end < text.size() && text[end] >= '0' && text[end] <= '9') ++end;
  return text.replace(at, end - at, "ProfilerStep#N");
}

std::vector<const Wait*> counted_waits(const Facts& facts, bool whole_file_window) {
  const bool only_steps = !facts.steps.steps.empty() && !whole_file_window;
  std::vector<const Wait*> waits;
  for (const Wait& wait : facts.waits) {
    if (!only_steps || wait.step) waits.push_back(&wait);
  }
  return waits;
}

bool is_costlier(const SynchronizationRow& a, const SynchronizationRow& b) {
  return std::tie(a.blocked_ns, a.hidden_count, a.count) > std::tie(b.blocked_ns, b.hidden_count, b.count);
}

}  // namespace

std::vector<SynchronizationRow> build_synchronizations(const Trace& trace, const Facts& facts, bool whole_file_window) {
  const std::vector<const Wait*> waits = counted_waits(facts, whole_file_window);
  const std::size_t stride = waits.size() / kMostLookedUp + 1;
  std::map<std::tuple<WaitKind, std::string, std::string, std::string>, SynchronizationRow> by_place;
  std::uint64_t random = 1;
  for (std::size_t block = 0; block < waits.size(); block += stride) {
    random = random * 6364136223846793005U + 1442695040888963407U;  // Knuth's MMIX generator: the same on every run
    const std::size_t at = block + static_cast<std::size_t>(random >> 33U) % std::min(stride, waits.size() - block);
    const Wait& wait = *waits[at];
    const TimeNs start_ns = trace.calls.start_ns[wait.call];
    HostPlace place = find_host_place(trace, trace.calls.thread[wait.call], start_ns);
    place.spans = fold_steps(std::move(place.spans));
    SynchronizationRow& row = by_place[{wait.kind, place.python_line, place.operators, place.spans}];
    const auto weight = static_cast<std::int64_t>(stride);
    row.count += weight;
    row.hidden_count += wait.hidden() ? weight : 0;
    if (!wait.blocked) continue;
    row.blocked_count += weight;
    row.blocked_ns += (trace.calls.end_ns[wait.call] - start_ns) * weight;
  }
  std::vector<SynchronizationRow> rows;
  for (auto& [key, row] : by_place) {
    row.kind = std::get<0>(key);
    row.python_line = clean_text(std::get<1>(key));
    row.operators = clean_text(std::get<2>(key));
    row.spans = clean_text(std::get<3>(key));
    rows.push_back(std::move(row));
  }
  std::stable_sort(rows.begin(), rows.end(), is_costlier);
  if (rows.size() > kMostRows) rows.resize(kMostRows);
  return rows;
}

}  // namespace stepscope

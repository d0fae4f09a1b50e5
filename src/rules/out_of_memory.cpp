// out-of-memory: an allocation failed; what it asked for, what was there, and which setting would have served it.
//
// Symptom: torch.OutOfMemoryError. Evidence: the oom entry of the history, the free pieces at that moment, and the same
// requests replayed under other settings. No threshold: one failed request ends most programs. The last one is told,
// since a program that catches the error goes on to the next.
// False alarm: a program that tries sizes until one fails (batch-size finders, benchmarks) provokes it on purpose.
#include <algorithm>

#include "rules/memory_rules.h"
#include "rules/memory_wording.h"
#include "rules/wording.h"

namespace stepscope {
namespace {

void add_part(std::int64_t bytes, std::string_view words, std::string& text) {
  if (bytes > 0) text += (text.empty() ? "" : ", ") + format_memory(bytes) + " " + std::string(words);
}

std::string pieces_words(const OomFacts& oom) {
  if (!oom.fragmentation) return "";
  const Fragmentation& free = oom.fragmentation->usable;
  std::string text = " Nothing of it was free where such a request is served.";
  if (free.free_bytes > 0) {
    text = " Free for it were " + format_memory(free.free_bytes) + " in " +
           count_of(free.free_piece_count, "piece", "pieces") + ", the largest of " +
           format_memory(free.largest_free_bytes) +
           (oom.is_fragmentation ? ": enough in all, in no piece large enough." : ".");
  }
  std::string others;
  add_part(oom.fragmentation->on_other_streams_bytes, "on other streams", others);
  add_part(oom.fragmentation->in_other_private_pools_bytes, "in pools of CUDA graphs", others);
  add_part(oom.fragmentation->in_default_pool_bytes, "in the default pool", others);
  add_part(oom.fragmentation->in_other_size_class_bytes, "among pieces of the other size class", others);
  return others.empty() ? text : text + " Free but out of its reach: " + others + ".";
}

void add_what_ifs(const MemoryRuleInput& input, MemoryFinding& finding) {
  if (input.what_ifs.empty()) return;
  const AllocatorWhatIf* best = best_setting(input);
  if (best != nullptr) {
    finding.gain = "under it the same requests reserve at most " + format_memory(best->run.reserved_peak_bytes) +
                   " and none fails";
    finding.advice.push_back(setting_to_type(*best));
    return;
  }
  const auto is_caching = [](const AllocatorWhatIf& each) { return each.config.caching; };
  const auto caching = std::count_if(input.what_ifs.begin(), input.what_ifs.end(), is_caching);
  std::string text = "None of the " + std::to_string(caching) + " settings of the allocator that were tried serves";
  if (caching <= 1) text = "The one setting of the allocator that was tried does not serve";
  text += " all requests.";
  const bool is_uncached_enough = std::any_of(input.what_ifs.begin(), input.what_ifs.end(),
                                              [](const auto& each) { return !each.config.caching && !each.run.oom; });
  if (is_uncached_enough) {
    text = caching == 0 ? "" : text + " ";
    text += "Without caching all would be served, and each allocation would wait for the GPU.";
  }
  const AllocatorWhatIf* least = nullptr;
  for (const AllocatorWhatIf& what_if : input.what_ifs) {
    if (!what_if.least_capacity_bytes || !what_if.config.caching) continue;
    if (least == nullptr || *what_if.least_capacity_bytes < *least->least_capacity_bytes) least = &what_if;
  }
  if (least != nullptr) {
    text += " With " + format_memory(*least->least_capacity_bytes) + " they would be served, under " + least->settings +
            ".";
  }
  finding.evidence.push_back({text, std::nullopt});
}

// What to make smaller: the lines that held most when it failed.
void add_holders(const MemoryRuleInput& input, std::size_t event, MemoryFinding& finding) {
  const auto live = find_live(input.snapshot, input.facts, input.device, event);
  const auto lines = group_live(input.snapshot, input.facts, live, LiveGrouping::kLine);
  if (lines.empty()) return;
  finding.evidence.push_back({"Held at that moment: " + list_lines(lines, 3) + ".", event});
  // Checkpointing helps where activations hold most, and nothing else of a user's is made smaller by it.
  std::vector<AllocationId> activations = live;
  std::erase_if(activations, [&](AllocationId id) {
    return category_of(input.facts.allocations, id) != MemoryCategory::kActivation;
  });
  const auto kept = group_live(input.snapshot, input.facts, activations, LiveGrouping::kLine);
  if (!kept.empty() && kept.front().name == lines.front().name) {
    finding.advice.emplace_back("A smaller batch or sequence, or torch.utils.checkpoint around what holds most: " +
                                without_folders(lines.front().name));
  } else {
    finding.advice.emplace_back("Hold less of " + tensors_of(lines.front().name) + ", or a smaller batch or sequence");
  }
}

}  // namespace

std::optional<MemoryFinding> find_out_of_memory(const MemoryRuleInput& input) {
  const auto& ooms = input.device_facts().ooms;
  if (ooms.empty()) return std::nullopt;
  const OomFacts& oom = ooms.back();
  const std::size_t event = input.event_of(oom.entry);
  MemoryFinding finding;
  finding.id = "out-of-memory";
  finding.severity = Severity::kFault;
  finding.title = format_memory(oom.request_bytes) + " were refused at " + describe_event(input, event);
  const SnapshotStackId stack = input.snapshot.entries.stack[oom.entry];
  if (stack.has_value()) finding.title += ", asked for by " + describe_place(input, stack);

  std::string text =
      format_memory(oom.reserved_bytes) + " were reserved, " + format_memory(oom.allocated_bytes) + " of it allocated";
  if (oom.device_free_bytes.has_value()) {
    text += "; the device had " + format_memory(oom.device_free_bytes.value()) + " left";
    if (oom.is_refused_by_cap) {
      text += ", so a cap of the process refused it (torch.cuda.set_per_process_memory_fraction)";
    }
  }
  finding.evidence.push_back({text + "." + pieces_words(oom), event});
  if (ooms.size() > 1) {
    finding.evidence.push_back(
        {"It is the last of " + count_of(static_cast<std::int64_t>(ooms.size()), "failure", "failures") +
             "; the first was at " + describe_event(input, input.event_of(ooms.front().entry)) + ".",
         input.event_of(ooms.front().entry)});
  }
  add_what_ifs(input, finding);
  if (oom.is_refused_by_cap) {
    finding.advice.emplace_back(
        "A higher cap, if it may be: torch.cuda.set_per_process_memory_fraction; the device had " +
        format_memory(oom.device_free_bytes.value()) + " left");
  }
  add_holders(input, event, finding);
  return finding;
}

}  // namespace stepscope

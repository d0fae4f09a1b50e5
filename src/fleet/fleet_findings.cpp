// What many ranks together show and one alone does not.
//
// straggler: see lateness.cpp for the decision and docs/findings/straggler.md for the recordings on either side. A rank
// that is not among the files can be one, too: then all that are wait for longer than their bytes need.
// rank-imbalance: the same cost without few guilty: ranks take turns (uneven batches, pauses of the host that fall on
// another rank each step), or many are late always (stages or experts of unequal size). The same threshold, since
// the step is as much longer.
// slow-gpu: a rank's kernels take 5 % longer than the same kernels on the typical rank. On the recorded healthy pair
// the ratio is 1.004 and 1.018; a rank that waits is not judged, since compute beside a waiting collective is slower
// (1.13 on the recorded straggler's partner). No slow GPU was recorded yet: the other side is made of a recorded rank
// (tests/python/test_made_ranks.py).
// incomplete-run: what is not among the files, and what is there twice.
//
// What one rank alone guessed about a straggler is dropped where all of its group are here, and so is the exposed
// communication that a straggler explains; what is left of it is judged over the ranks (shared_exposure.h), and so is
// whose steps stand out (shared_outliers.h). All else is told once, from the rank where it costs most.
#include "fleet/fleet_findings.h"

#include <algorithm>
#include <numeric>

#include "fleet/replay_run.h"
#include "fleet/shared_exposure.h"
#include "fleet/shared_outliers.h"
#include "rules/rules.h"
#include "rules/wording.h"

namespace stepscope {
namespace {

constexpr double kSlowGpu = 1.05;
// A slow GPU slows all kernels. Where the others exceed the typical rank's by less than this part of what the slowest
// class does, that class is told alone: more work in it, or a cap of power, which matrix products feel first.
constexpr double kPartOfOthers = 0.25;
constexpr double kPartWorthNaming = 0.10;  // of the lateness
constexpr std::size_t kMostNamed = 6;

std::int64_t counted(std::size_t count) { return static_cast<std::int64_t>(count); }

double share_of(DurationNs part, DurationNs whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

// "Rank 3"; the names of files stay as they are.
std::string capital(std::string text) {
  if (text.starts_with("rank ") || text.starts_with("ranks ")) text.front() = 'R';
  return text;
}

std::string list_words(const std::vector<std::string>& words) {
  std::string out;
  for (std::size_t i = 0; i < words.size(); ++i)
    out += (i == 0 ? "" : i + 1 == words.size() ? " and " : ", ") + words[i];
  return out;
}

std::string name_rows(const FleetFacts& facts, const std::vector<std::size_t>& rows) {
  std::vector<std::int64_t> ranks;
  for (const std::size_t row : rows) {
    if (!facts.ranks[row].rank) return facts.ranks[row].label + (rows.size() > 1 ? " and others" : "");
    ranks.push_back(*facts.ranks[row].rank);
  }
  return name_ranks(ranks, kMostNamed);
}

DurationNs slowest_step(const FleetFacts& facts) { return facts.step_ns ? facts.step_ns->max : 0; }

// Evidence ------------------------------------------------------------------------------------------------------------

// The first step in which a late rank is the last one; else the first with arrivals.
const FleetStep* example_step(const FleetFacts& facts) {
  const FleetStep* first = nullptr;
  for (const FleetStep& step : facts.steps) {
    if (!step.widest) continue;
    if (first == nullptr) first = &step;
    if (std::find(facts.stragglers.begin(), facts.stragglers.end(), step.widest->last) != facts.stragglers.end())
      return &step;
  }
  return first;
}

void add_example(const FleetFacts& facts, Finding& finding) {
  const FleetStep* step = example_step(facts);
  if (step == nullptr) return;
  const FleetStep::Arrivals& at = *step->widest;
  const bool are_two = facts.groups[at.group].present_count == 2;
  std::string text = "In step " + std::to_string(step->number) + " ranks arrive at " + format_duration(0) + " (" +
                     facts.ranks[at.first].label + (are_two ? ")" : ", the first)");
  if (!are_two) text += ", " + format_duration(at.median_ns) + " (the median)";
  text += ", " + format_duration(at.spread_ns) + " (" + facts.ranks[at.last].label + (are_two ? ")" : ", the last)");
  text += "; then data move for " + format_duration(at.transfer_ns) + ".";
  finding.evidence.push_back({text, std::nullopt});
}

void add_matching(const FleetFacts& facts, const std::string& start, Finding& finding) {
  std::string text = start + format_count(static_cast<double>(facts.matched_count)) + " collectives were matched";
  if (facts.groups.size() > 1) text += " in " + count_of(counted(facts.groups.size()), "group", "groups");
  if (facts.unmatched_count > 0) {
    text += "; " + count_of(facts.unmatched_count, "event", "events") +
            " could not be (ranks recorded different numbers of them, or the peer is not recorded)";
  }
  finding.evidence.push_back({text + ".", std::nullopt});
}

void add_clocks(const FleetFacts& facts, Finding& finding) {
  const FleetClocks& clocks = facts.clocks;
  if (clocks.meeting_count == 0) return;
  std::string text = clocks.corrected
                         ? "The hosts' clocks differ by up to " + format_duration(clocks.largest_offset_ns) +
                               " (from the ends of the collectives); this is taken off."
                         : "The ranks' clocks are taken to agree: ends of the collectives differ by " +
                               format_duration(clocks.largest_offset_ns) + " in the median.";
  if (clocks.largest_drift_ns > 0)
    text += " One drifts by " + format_duration(clocks.largest_drift_ns) + " over the recording.";
  if (clocks.component_count > 1) {
    text += " " + count_of(counted(clocks.component_count), "set", "sets") +
            " of ranks share no collective; each is on a clock of its own.";
  }
  finding.evidence.push_back({text, std::nullopt});
}

// Where the late rank's own time exceeds the typical rank's, longest first.
std::string describe_excess(const FleetFacts& facts, const FleetRank& rank) {
  std::vector<std::pair<DurationNs, std::size_t>> parts;
  for (std::size_t part = 0; part < kCostPartCount; ++part) {
    const DurationNs more = rank.parts_ns[part] - facts.typical_parts_ns[part];
    if (more > 0 && share_of(more, rank.late_ns.value_or(0)) >= kPartWorthNaming) parts.emplace_back(-more, part);
  }
  std::sort(parts.begin(), parts.end());
  std::string text;
  for (std::size_t i = 0; i < std::min<std::size_t>(parts.size(), 3); ++i) {
    text += (i == 0 ? "" : ", ") + cost_part_words(parts[i].second) + " +" + format_duration(-parts[i].first);
  }
  return text;
}

// What a rank alone takes for its own and may be another's.
struct Kept {
  bool exposure = false;  // exposed-communication
  bool outliers = true;   // outlier-step
};

// The costliest fault of the rank itself.
const SummaryFinding* own_fault(const RankSummary& rank, Kept kept = {}) {
  for (const SummaryFinding& finding : rank.findings) {
    if (finding.severity != severity_name(Severity::kFault)) continue;
    if (finding.id == "straggler" || finding.id == "incomplete-data") continue;
    if (finding.id == "exposed-communication" && !kept.exposure) continue;
    if (finding.id == "outlier-step" && !kept.outliers) continue;
    return &finding;
  }
  return nullptr;
}

// One kind of kernel is slower than on the typical rank, and the others are not.
bool is_one_class_slow(const FleetRank& rank) {
  return rank.slowest_class && rank.other_classes_ratio - 1 < kPartOfOthers * (rank.slowest_class_ratio - 1);
}

std::string describe_slow_kernels(const FleetRank& rank) {
  if (!is_one_class_slow(rank)) {
    return "kernels take " + format_percent(*rank.kernel_time_ratio - 1) +
           " longer than the same kernels on the typical rank";
  }
  return cost_part_words(part_of(*rank.slowest_class)) + " take " + format_percent(rank.slowest_class_ratio - 1) +
         " longer than the same ones on the typical rank, its other kernels do not";
}

void add_meanwhile(const RunSummary& run, const FleetFacts& facts, std::size_t row, Finding& finding) {
  const FleetRank& rank = facts.ranks[row];
  const std::string excess = describe_excess(facts, rank);
  if (!excess.empty()) {
    finding.evidence.push_back(
        {capital(rank.label) + " spends more than the typical rank on: " + excess + " a step.", std::nullopt});
  }
  if (const SummaryFinding* fault = own_fault(run.ranks[rank.summary])) {
    finding.evidence.push_back({"Meanwhile on " +
                                    (facts.stragglers.size() == 1 ? std::string("that rank") : rank.label) + ": " +
                                    fault->title + ".",
                                std::nullopt});
  }
  if (rank.kernel_time_ratio && *rank.kernel_time_ratio >= kSlowGpu) {
    finding.evidence.push_back({"Its " + describe_slow_kernels(rank) + ".", std::nullopt});
  }
}

// What to look at on a rank whose kernels are slow.
std::string advise_slow_kernels(const FleetRank& rank) {
  const std::string look =
      "nvidia-smi -q -d CLOCK,PERFORMANCE,POWER on " + (rank.host_name.empty() ? "its host" : rank.host_name);
  if (!is_one_class_slow(rank)) return "Its GPU is slow: its clocks, power and neighbours (" + look + ")";
  return "One kind of kernel is slower: more work in it (longer batches, uneven experts; record_shapes=True shows it), "
         "or "
         "with equal work the GPU's power is capped (" +
         look + ")";
}

// Findings ------------------------------------------------------------------------------------------------------------

std::string late_title(const FleetFacts& facts) {
  std::vector<std::string> times;
  for (std::size_t i = 0; i < std::min<std::size_t>(facts.stragglers.size(), 3); ++i) {
    times.push_back(format_duration(*facts.ranks[facts.stragglers[i]].late_ns));
  }
  std::vector<std::size_t> named(facts.stragglers.begin(),
                                 facts.stragglers.begin() + static_cast<std::ptrdiff_t>(times.size()));
  const bool is_one = facts.stragglers.size() == 1;
  std::string who = is_one ? facts.ranks[named.front()].label : "";
  if (!is_one) {
    std::vector<std::string> numbers;
    for (const std::size_t row : named)
      numbers.push_back(facts.ranks[row].rank ? std::to_string(*facts.ranks[row].rank) : facts.ranks[row].label);
    who = "ranks " + list_words(numbers);
  }
  std::string text =
      capital(who) + (is_one ? " comes " : " come ") + list_words(times) + " late to the collectives of each step";
  if (facts.stragglers.size() > named.size()) {
    text += ", " + count_of(counted(facts.stragglers.size() - named.size()), "other rank", "other ranks") + " too";
  }
  return text + ", and every other rank waits for " + (is_one ? "it" : "them");
}

// The waits of one long step may exceed the step that they are compared with, which is a median.
void set_recorded_saving(const FleetFacts& facts, const Estimate& waits, Finding& finding) {
  const DurationNs step = slowest_step(facts);
  const Estimate saving{std::min(waits.low_ns, step), std::min(waits.mid_ns, step), std::min(waits.high_ns, step)};
  finding.saving = saving;
  finding.saving_ratio = share_of(saving.mid_ns, step);
  finding.saving_as_recorded = true;
  finding.gain = "With all ranks in time the step would take about " + format_duration(step - saving.mid_ns) +
                 " instead of " + format_duration(step) + " (as recorded).";
}

// Of two ranks there is no median.
std::string name_peer(const FleetFacts& facts, const FleetWhatIf& then) {
  for (const FleetRank& rank : facts.ranks) {
    if (facts.ranks.size() == 2 && then.like_rank == rank.summary) return rank.label;
  }
  return "the median rank";
}

// One late rank replayed as fast as the median one: what the others' compute gains when nobody waits beside it is in
// it, and the profiler's cost is not. On the recorded pair 36 ms, where 37.4 were measured; taking off the waits
// says 42.5.
bool set_replayed_saving(const FleetFacts& facts, const FleetReplay& replay, Finding& finding) {
  if (facts.stragglers.size() != 1 || replay.refused) return false;
  const FleetRank& rank = facts.ranks[facts.stragglers.front()];
  const FleetWhatIf* now = replay.find(FleetTransform::kUnchanged);
  const FleetWhatIf* then = replay.find(FleetTransform::kRankAsMedian, static_cast<std::uint32_t>(rank.summary));
  if (now == nullptr || then == nullptr || then->refused || then->saving.mid_ns <= 0) return false;
  const DurationNs before = now->step_unprofiled.mid_ns, after = then->step_unprofiled.mid_ns;
  if (after <= 0 || before <= after) return false;
  // The waits say the same from another side. Where the replay sees less than half of them, it does not know what holds
  // the ranks up (a host that waits without a call that says so), and is not to be believed.
  const DurationNs recorded = now->step_recorded_ns - then->step_recorded_ns;
  if (2 * recorded < finding.saving->mid_ns) return false;
  finding.evidence.push_back({"As recorded, with the profiler's cost: a step of " +
                                  format_duration(then->step_recorded_ns) + " instead of " +
                                  format_duration(now->step_recorded_ns) + ".",
                              std::nullopt});
  finding.saving = then->saving;
  finding.saving_ratio = share_of(then->saving.mid_ns, before);
  finding.saving_as_recorded = false;
  finding.gain = "If " + rank.label + " were as fast as " + name_peer(facts, *then) + ", the step would take about " +
                 format_duration(after) + " instead of " + format_duration(before) + " (without the profiler), " +
                 format_times(static_cast<double>(before) / static_cast<double>(after)) + " faster.";
  return true;
}

std::optional<Finding> find_late_ranks(const RunSummary& run, const FleetFacts& facts, const FleetReplay& replay) {
  if (facts.stragglers.empty() || !facts.straggler_saving) return std::nullopt;
  Finding finding;
  finding.id = "straggler";
  finding.severity = Severity::kFault;
  finding.title = late_title(facts);
  add_example(facts, finding);
  const FleetRank& latest = facts.ranks[facts.stragglers.front()];
  add_matching(facts,
               capital(latest.label) + " is late in " + format_percent(latest.late_step_ratio) + " of " +
                   count_of(counted(facts.steps.size()), "step", "steps") + "; ",
               finding);
  for (std::size_t i = 0; i < std::min<std::size_t>(facts.stragglers.size(), 3); ++i)
    add_meanwhile(run, facts, facts.stragglers[i], finding);
  add_clocks(facts, finding);
  const bool has_slow_kernels = latest.kernel_time_ratio.value_or(1) >= kSlowGpu;
  const std::string look =
      "nvidia-smi -q -d CLOCK,PERFORMANCE" + (latest.host_name.empty() ? "" : " on " + latest.host_name);
  finding.advice = {
      "Look at " + latest.label + " alone: stepscope report " + (latest.source.empty() ? "FILE" : latest.source),
      has_slow_kernels
          ? advise_slow_kernels(latest)
          : "If it does nothing else: its GPU clocks and neighbours (" + look + "), uneven batches or experts"};
  set_recorded_saving(facts, *facts.straggler_saving, finding);
  (void)set_replayed_saving(facts, replay, finding);
  return finding;
}

// All that are here wait: the late one is not.
std::optional<Finding> find_late_stranger(const FleetFacts& facts) {
  if (!facts.missing_wait_ns || !facts.stragglers.empty()) return std::nullopt;
  if (share_of(*facts.missing_wait_ns, slowest_step(facts)) < kUnevenShare) return std::nullopt;
  Finding finding;
  finding.id = "straggler";
  finding.severity = Severity::kFault;
  finding.title = "The ranks wait " + format_duration(*facts.missing_wait_ns) +
                  " a step in collectives for a rank that has no file";
  finding.evidence.push_back(
      {"All of a group's ranks that are here have arrived, and the transfer still takes longer than its bytes need at "
       "the best bandwidth seen.",
       std::nullopt});
  add_matching(facts, "", finding);
  finding.advice = {"Record all ranks, or give all files: the late one of " + name_ranks(facts.missing, kMostNamed) +
                    " is named then"};
  set_recorded_saving(facts, {*facts.missing_wait_ns, *facts.missing_wait_ns, *facts.missing_wait_ns}, finding);
  return finding;
}

std::optional<Finding> find_imbalance(const FleetFacts& facts) {
  if (!facts.is_uneven) return std::nullopt;
  Finding finding;
  finding.id = "rank-imbalance";
  finding.severity = Severity::kFault;
  const std::string excess = format_duration(facts.median_excess_ns);
  if (facts.uneven_ranks.empty()) {
    std::size_t turns = 0;
    for (const FleetRank& rank : facts.ranks) turns += rank.slowest_step_count > 0 ? 1 : 0;
    finding.title = "In each step another rank is late, by " + excess + " in the median, and all others wait for it";
    finding.evidence.push_back({count_of(counted(turns), "rank is", "ranks are") + " the slowest of " +
                                    count_of(counted(facts.steps.size()), "step", "steps") + " in turn.",
                                std::nullopt});
    finding.advice = {"Even out what ranks get: batches of equal length (bucketing, packing), equal load of experts",
                      "If the host pauses in turn: the same garbage collection and logging step on every rank"};
  } else {
    std::vector<std::size_t> by_rank = facts.uneven_ranks;
    std::sort(by_rank.begin(), by_rank.end());
    finding.title = "Work is dealt out unevenly: " + name_rows(facts, by_rank) + " need " + excess +
                    " a step longer than the typical rank, and the others wait";
    finding.evidence.push_back({format_count(static_cast<double>(by_rank.size())) + " of " +
                                    count_of(counted(facts.ranks.size()), "rank", "ranks") + " are late in most steps.",
                                std::nullopt});
    finding.advice = {"Move work from these ranks: layers of pipeline stages, experts, batch sizes"};
  }
  add_example(facts, finding);
  add_matching(facts, "", finding);
  add_clocks(facts, finding);
  set_recorded_saving(facts, {facts.median_excess_ns, facts.median_excess_ns, facts.median_excess_ns}, finding);
  return finding;
}

std::optional<Finding> find_slow_gpus(const FleetFacts& facts) {
  std::vector<std::size_t> slow;
  const DurationNs typical_wait = facts.wait_ns ? facts.wait_ns->median : 0;
  for (std::size_t row = 0; row < facts.ranks.size(); ++row) {
    const FleetRank& rank = facts.ranks[row];
    const bool is_straggler =
        std::find(facts.stragglers.begin(), facts.stragglers.end(), row) != facts.stragglers.end();
    if (!is_straggler && rank.kernel_time_ratio.value_or(1) >= kSlowGpu && rank.late_ns.value_or(0) > 0 &&
        rank.wait_ns.value_or(0) <= typical_wait)
      slow.push_back(row);
  }
  if (slow.empty() || 4 * slow.size() > facts.ranks.size()) return std::nullopt;  // many: it is the work, not the GPU
  const std::size_t slowest = *std::max_element(slow.begin(), slow.end(), [&](std::size_t a, std::size_t b) {
    return *facts.ranks[a].kernel_time_ratio < *facts.ranks[b].kernel_time_ratio;
  });
  const FleetRank& rank = facts.ranks[slowest];
  Finding finding;
  finding.id = "slow-gpu";
  finding.severity = Severity::kNote;
  const bool is_one_class = is_one_class_slow(rank);
  finding.title = "The " + (is_one_class ? cost_part_words(part_of(*rank.slowest_class)) : "kernels") + " of " +
                  name_rows(facts, slow) + (slow.size() > 1 ? " take up to " : " take ") +
                  format_percent((is_one_class ? rank.slowest_class_ratio : *rank.kernel_time_ratio) - 1) +
                  " longer than the same kernels on the typical rank" + (is_one_class ? ", the others do not" : "");
  std::string text = capital(rank.label) + " is " + format_duration(*rank.late_ns) + " late by it";
  if (rank.slowest_class && !is_one_class)
    text += "; its " + cost_part_words(part_of(*rank.slowest_class)) + " take " +
            format_percent(rank.slowest_class_ratio - 1) + " longer";
  finding.evidence.push_back({text + ".", std::nullopt});
  finding.advice = {advise_slow_kernels(rank)};
  return finding;
}

// "Group 3 (mesh_tp)"
std::string group_words(const FleetGroup& group) {
  const std::string name = group.name.empty() ? "A group without a name" : "Group " + group.name;
  return group.description.empty() ? name : name + " (" + group.description + ")";
}

// Groups that lack ranks, but those that say no more than the list of missing ranks does: a group of all.
void add_lacking_groups(const FleetFacts& facts, std::vector<std::string>& what, Finding& finding) {
  std::vector<const FleetGroup*> lacking;
  for (const std::vector<FleetGroup>* groups : {&facts.groups, &facts.lone_groups}) {
    for (const FleetGroup& group : *groups) {
      const bool is_of_all = counted(group.ranks.size()) == facts.world_size;
      if (!group.missing.empty() && !is_of_all) lacking.push_back(&group);
    }
  }
  for (std::size_t i = 0; i < std::min(kMostNamed, lacking.size()); ++i) {
    const FleetGroup& group = *lacking[i];
    finding.evidence.push_back({group_words(group) + " of " + count_of(counted(group.ranks.size()), "rank", "ranks") +
                                    " lacks " + name_ranks(group.missing, kMostNamed) + ".",
                                std::nullopt});
  }
  if (lacking.size() > kMostNamed) {
    const auto others = counted(lacking.size() - kMostNamed);
    finding.evidence.push_back(
        {count_of(others, "more group lacks", "more groups lack") + " ranks, too.", std::nullopt});
  }
  if (!lacking.empty() && what.empty()) what.emplace_back("ranks of process groups have no file");
}

std::optional<Finding> find_incomplete_run(const FleetFacts& facts) {
  if (facts.ranks.empty()) return std::nullopt;  // nothing that could be incomplete
  std::vector<std::string> what;
  Finding finding;
  const auto add = [&](const std::string& text) { finding.evidence.push_back({text, std::nullopt}); };
  if (facts.missing_count > 0 && facts.world_size) {
    what.push_back(format_count(static_cast<double>(facts.missing_count)) + " of " +
                   count_of(*facts.world_size, "rank", "ranks") + " have no file");
    add("No file of " + name_ranks(facts.missing, 12) + ".");
  }
  if (!facts.outside.empty() && facts.world_size) {
    what.push_back(count_of(counted(facts.outside.size()), "rank is", "ranks are") + " outside the world of " +
                   count_of(*facts.world_size, "rank", "ranks"));
    add("Of " + count_of(*facts.world_size, "rank", "ranks") + " there is no " + name_ranks(facts.outside, kMostNamed) +
        "; what the file says of its rank or of the world is wrong.");
  }
  if (!facts.unreadable.empty()) {
    what.push_back(count_of(counted(facts.unreadable.size()), "file cannot", "files cannot") + " be read");
    for (std::size_t i = 0; i < std::min(kMostNamed, facts.unreadable.size()); ++i)
      add(facts.unreadable[i].source + ": " + facts.unreadable[i].reason + ".");
  }
  if (!facts.doubles.empty()) {
    what.push_back(count_of(counted(facts.doubles.size()), "rank has", "ranks have") + " several files");
    for (std::size_t i = 0; i < std::min(kMostNamed, facts.doubles.size()); ++i) {
      const DoubleRank& twice = facts.doubles[i];
      add("Rank " + std::to_string(twice.rank) + ": " + twice.used + " is used, " + twice.others.front() +
          (twice.others.size() > 1 ? " and others are" : " is") + " not" +
          (twice.are_windows ? ": windows of one process." : "."));
    }
  }
  // A recording alone need be no rank of anything.
  if (facts.without_rank_count > 0 && (facts.ranks.size() > 1 || facts.world_size))
    what.push_back(count_of(counted(facts.without_rank_count), "file does", "files do") + " not say which rank it is");
  if (!facts.mixed.empty()) {
    what.push_back("the files are of several runs");
    for (const std::string& text : facts.mixed) add("They differ: " + text + ".");
    if (!facts.foreign.empty())
      add("Left out, since most are of another world size: " + facts.foreign.front() +
          (facts.foreign.size() > 1 ? " and " + count_of(counted(facts.foreign.size() - 1), "other", "others") : "") +
          ".");
  }
  add_lacking_groups(facts, what, finding);
  for (const FleetGroup& group : facts.groups) {
    if (!group.refuted) continue;
    add("The collectives of group " + (group.name.empty() ? "without a name" : group.name) +
        " could not be matched: the files do not say which ranks it has.");
    if (what.empty()) what.emplace_back("collectives of a group could not be matched");
  }
  if (what.empty()) return std::nullopt;
  finding.id = "incomplete-run";
  finding.severity = Severity::kNote;
  finding.title = list_words(what);
  finding.advice = {"Give all files of one run and no others, one a rank; what is missing may be what all wait for"};
  return finding;
}

Severity severity_of(const std::string& name) {
  if (name == severity_name(Severity::kFault)) return Severity::kFault;
  return name == severity_name(Severity::kNote) ? Severity::kNote : Severity::kInformation;
}

// A summary of version 1 keeps no advice: the trace it was made of has it.
std::vector<std::string> advice_of(const SummaryFinding& finding, const FleetRank& rank) {
  if (!finding.advice.empty() || !finding.evidence.empty()) return finding.advice;
  const bool has_file = !rank.source.empty() && rank.source != "standard input" && rank.source != "-";
  return {"The proof and what to change, from that rank's trace: stepscope report " +
          (has_file ? rank.source : "FILE")};
}

FleetFinding share(const FleetFacts& facts, const SharedRankFinding& shared, bool is_of_typical) {
  FleetFinding out;
  out.finding.id = shared.id;
  out.finding.severity = severity_of(shared.at_worst.severity);
  out.finding.title =
      is_of_typical ? shared.at_worst.title : capital(facts.ranks[shared.worst].label) + ": " + shared.at_worst.title;
  out.finding.saving = shared.at_worst.saving;
  out.finding.saving_ratio = shared.at_worst.saving_ratio;
  out.finding.saving_as_recorded = shared.at_worst.saving_as_recorded;
  for (const std::string& text : shared.at_worst.evidence) out.finding.evidence.push_back({text, std::nullopt});
  out.finding.advice = advice_of(shared.at_worst, facts.ranks[shared.worst]);
  out.ranks = shared.ranks;
  out.worst = shared.worst;
  return out;
}

// What the run does not have of a rank stands first at it neither: exposed communication that all together do not show,
// and long steps in which it only waited for another rank.
void forget_dropped(const RunSummary& run, const std::vector<FleetFinding>& findings, FleetFacts& facts) {
  const auto is_exposure = [](const FleetFinding& f) { return f.finding.id == "exposed-communication"; };
  const bool keeps_exposure = !facts.stragglers.empty() || std::any_of(findings.begin(), findings.end(), is_exposure);
  const std::vector<bool> waits = find_waiting_ranks(run, facts);
  for (std::size_t row = 0; row < facts.ranks.size(); ++row) {
    FleetRank& rank = facts.ranks[row];
    const bool is_exposure_first = rank.first_finding == "exposed-communication";
    if (is_exposure_first ? keeps_exposure : rank.first_finding != "outlier-step") continue;
    const Kept kept{keeps_exposure, !waits[row]};
    if (!is_exposure_first && kept.outliers) continue;
    const SummaryFinding* other = own_fault(run.ranks[rank.summary], kept);
    rank.first_finding = other == nullptr ? "" : other->id;
    rank.first_finding_saving_ns =
        other != nullptr && other->saving ? std::optional(other->saving->mid_ns) : std::nullopt;
  }
}

bool is_outside(const FleetFacts& facts, std::int64_t rank) {
  return std::find(facts.outside.begin(), facts.outside.end(), rank) != facts.outside.end();
}

int place_of(const FleetFinding& finding) {
  if (finding.finding.id == "launch-blocking" || finding.finding.id == "incomplete-data") return 0;
  if (finding.finding.id == "incomplete-run") return 1;
  // What all ranks together show is the cause, and what a rank did meanwhile a detail of it, whatever the estimates
  // say.
  if (!finding.worst && finding.finding.severity == Severity::kFault) return 2;
  return 3 + static_cast<int>(finding.finding.severity);
}

}  // namespace

std::string name_ranks(const std::vector<std::int64_t>& ranks, std::size_t most) {
  std::vector<std::int64_t> sorted = ranks;
  std::sort(sorted.begin(), sorted.end());
  std::vector<std::string> pieces;
  std::size_t named = 0;
  for (std::size_t from = 0, to = 0; from < sorted.size() && pieces.size() < most; from = to) {
    while (to < sorted.size() && sorted[to] - sorted[from] == static_cast<std::int64_t>(to - from)) ++to;
    if (to - from < 3) to = from + 1;
    pieces.push_back(std::to_string(sorted[from]) + (to - from > 1 ? "-" + std::to_string(sorted[to - 1]) : ""));
    named = to;
  }
  if (named < sorted.size()) pieces.push_back(count_of(counted(sorted.size() - named), "other", "others"));
  return (sorted.size() == 1 ? "rank " : "ranks ") + list_words(pieces);
}

std::vector<FleetFinding> find_over_fleet(const RunSummary& run, const FleetFacts& facts, const FleetReplay& replay) {
  std::vector<FleetFinding> out;
  const auto late = find_late_ranks(run, facts, replay);
  const bool lone_guess_stands = facts.matched_count == 0 || (facts.missing_count > 0 && !late);
  const auto stranger = find_late_stranger(facts);
  const SharedRankFinding* own_straggler = nullptr;
  for (const SharedRankFinding& shared : facts.findings) {
    if (shared.id == "straggler") own_straggler = &shared;
    if (shared.id == "straggler" && (!lone_guess_stands || stranger)) continue;
    if (shared.id == "outlier-step") {
      out.push_back(share(facts, judge_outliers(run, shared, facts), false));
    } else if (shared.id != "exposed-communication") {
      out.push_back(share(facts, shared, false));
    } else if (!late && !stranger) {
      const auto judged = judge_exposure(shared, facts, replay);
      if (judged) out.push_back(share(facts, judged->finding, judged->is_of_typical));
    }
  }
  for (auto found : {late, stranger, find_imbalance(facts), find_slow_gpus(facts), find_incomplete_run(facts)}) {
    if (!found) continue;
    const bool has_guess = found->id == "straggler" && own_straggler != nullptr;
    out.push_back({std::move(*found), has_guess ? own_straggler->ranks : std::vector<std::size_t>(), std::nullopt});
  }
  std::stable_sort(out.begin(), out.end(), [](const FleetFinding& a, const FleetFinding& b) {
    if (place_of(a) != place_of(b)) return place_of(a) < place_of(b);
    return (a.finding.saving ? a.finding.saving->mid_ns : 0) > (b.finding.saving ? b.finding.saving->mid_ns : 0);
  });
  return out;
}

std::string write_fleet_verdict(const FleetFacts& facts, const std::vector<FleetFinding>& findings) {
  const auto judged = std::count_if(facts.ranks.begin(), facts.ranks.end(), [](const FleetRank& rank) {
    return !rank.headline_withheld && !rank.is_times_only;
  });
  if (facts.ranks.empty()) return "None of the files can be used.";
  const bool has_times_only =
      std::all_of(facts.ranks.begin(), facts.ranks.end(), [](const FleetRank& rank) { return rank.is_times_only; });
  if (has_times_only) {
    return std::string("Only step times are in ") + (facts.ranks.size() == 1 ? "it" : "them") +
           ": no GPU was recorded, so no fault can be looked for.";
  }
  if (judged == 0) return "No recording of these ranks can carry a verdict.";
  for (const FleetFinding& found : findings) {
    if (found.finding.severity != Severity::kFault || found.finding.id == "incomplete-data") continue;
    return found.finding.title + "." + (found.finding.gain.empty() ? "" : " " + found.finding.gain);
  }
  // A rank that the world does not have is none of "2 of 8 ranks".
  const auto strange = std::count_if(facts.ranks.begin(), facts.ranks.end(), [&](const FleetRank& rank) {
    return !rank.headline_withheld && !rank.is_times_only && rank.rank && is_outside(facts, *rank.rank);
  });
  const auto counted_ranks = judged > strange ? judged - strange : judged;
  const std::string of = facts.missing_count == 0 ? "" : counted_ranks == 1 ? " that is here" : " that are here";
  const bool has_ranks =
      std::any_of(facts.ranks.begin(), facts.ranks.end(), [](const FleetRank& rank) { return rank.rank.has_value(); });
  std::string out = "No fault found " +
                    (has_ranks ? "on " + count_of(counted_ranks, "rank", "ranks")
                               : "in " + count_of(counted_ranks, "recording", "recordings")) +
                    of + ".";
  for (const FleetFinding& found : findings) {
    if (found.finding.id == "compute-bound") return out + " " + found.finding.title + ".";
  }
  return out;
}

FleetAnswer judge_fleet(const RunSummary& run) {
  FleetAnswer answer;
  answer.facts = compute_fleet_facts(run);
  answer.replay = replay_run(run, answer.facts);
  answer.findings = find_over_fleet(run, answer.facts, answer.replay);
  forget_dropped(run, answer.findings, answer.facts);
  answer.verdict = write_fleet_verdict(answer.facts, answer.findings);
  return answer;
}

}  // namespace stepscope

// incomplete-data: what the recording lacks, and whether it can carry a verdict at all.
//
// Symptom: any number may be wrong. Evidence: the ledger. When it withholds the headline this is a fault, it comes
// first and nothing else is said. Otherwise it is a note from 1 % of the launches on: below, a buffer cut at the end
// of the recording is the ordinary reason, and the re-simulation accepts the same 1 %. Steps without GPU work, bad
// and swallowing durations are told from the first one, since one may be 99 % of the GPU time (tests/data/cases,
// A21b). GPU events without a launch call are no loss: other tools record no calls, and the re-simulation says itself
// that it needs them. False alarm: work that the host queued in the last moments of a recording.
#include "rules/costs.h"
#include "rules/rule_list.h"
#include "rules/wording.h"

namespace stepscope {
namespace {

constexpr double kLaunchesWithout = 0.01;

double ratio_of(std::int64_t part, std::int64_t whole) {
  return whole <= 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

void add_lost_events(const Ledger& ledger, std::vector<Evidence>& out) {
  if (ratio_of(ledger.launch_without_gpu_event_count, ledger.launch_count) > kLaunchesWithout) {
    out.push_back({format_count(static_cast<double>(ledger.launch_without_gpu_event_count)) + " of " +
                       count_of(ledger.launch_count, "launch has", "launches have") + " no GPU event.",
                   std::nullopt});
  }
  if (ledger.steps_without_gpu_events_count > 0) {
    out.push_back(
        {count_of(ledger.steps_without_gpu_events_count, "step has", "steps have") + " no GPU event.", std::nullopt});
  }
  if (ledger.merged_process_count > 0) {
    out.push_back({format_count(static_cast<double>(ledger.merged_process_count)) +
                       " processes launch GPU work in this file, with the same correlation or step numbers; GPU events "
                       "cannot be assigned to one.",
                   std::nullopt});
  }
}

void add_durations(const Ledger& ledger, std::vector<Evidence>& out) {
  if (ledger.bad_duration_count > 0) {
    out.push_back({count_of(ledger.bad_duration_count, "duration is", "durations are") +
                       " negative or absurd and left out of every sum.",
                   std::nullopt});
  }
  if (ledger.swallowing_duration_count > 0) {
    std::string text = count_of(ledger.swallowing_duration_count, "GPU event lasts", "GPU events last");
    text += " past later work of the same stream, which cannot be; each is ended where the next begins.";
    if (ledger.largest_event_ratio && *ledger.largest_event_ratio > 0.5) {
      text += " One event is " + format_percent(*ledger.largest_event_ratio) + " of the recorded GPU time.";
    }
    out.push_back({text, std::nullopt});
  }
}

void add_notes(const Notes& notes, std::vector<Evidence>& out) {
  for (const Note& note : notes.all()) {
    if (note.severity != NoteSeverity::kLost && note.severity != NoteSeverity::kUnsound) continue;
    if (note.kind == NoteKind::kBadDuration || note.kind == NoteKind::kMergedProcesses) continue;  // told above
    if (note.kind == NoteKind::kRecordsDropped) {
      out.push_back({"The recorder had no room for " +
                         count_of(static_cast<std::int64_t>(note.count), "record", "records") +
                         ": give it more memory, or record fewer steps.",
                     std::nullopt});
      continue;
    }
    if (note.kind == NoteKind::kEndedEarly) {
      out.push_back({"The capture has no end: the program was killed, runs still, or the file is cut.", std::nullopt});
      continue;
    }
    std::string kind(note_kind_name(note.kind));
    for (char& letter : kind) letter = letter == '_' ? ' ' : letter;
    out.push_back({"The file is damaged: " + kind + ", " +
                       count_of(static_cast<std::int64_t>(note.count), "time", "times") + ", first at byte " +
                       format_count(static_cast<double>(note.first_offset)) + ".",
                   std::nullopt});
  }
}

}  // namespace

std::optional<Finding> find_incomplete_data(const RuleInput& input) {
  const Ledger& ledger = input.facts.ledger;
  Finding finding;
  add_lost_events(ledger, finding.evidence);
  add_durations(ledger, finding.evidence);
  add_notes(input.trace.notes, finding.evidence);
  if (!ledger.headline_withheld && finding.evidence.empty()) return std::nullopt;

  finding.id = "incomplete-data";
  finding.severity = ledger.headline_withheld ? Severity::kFault : Severity::kNote;
  finding.title =
      ledger.headline_withheld.value_or("The recording is not complete; its numbers are those of what is left");
  finding.advice = {
      "Record again: a short window (schedule(wait=1, warmup=2, active=3)), let the program end by itself, one file a "
      "rank",
      "If GPU events are lost again, record fewer kinds: with_stack=False, profile_memory=False"};
  return finding;
}

}  // namespace stepscope

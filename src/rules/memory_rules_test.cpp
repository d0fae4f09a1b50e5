// Order and words of memory findings, on facts made by hand: a device of ten entries, whose levels are set rather than
// computed. Whole loops, made and recorded, are judged in tests/cli/test_memory.py.
#include "rules/memory_rules.h"

#include <gtest/gtest.h>

#include <set>

#include "rules/memory_wording.h"

namespace stepscope {
namespace {

constexpr std::int64_t kMiB = 1 << 20;

struct Made {
  MemorySnapshot snapshot;
  MemoryFacts facts;

  explicit Made(const std::vector<AllocatorAction>& actions) {
    for (const AllocatorAction action : actions) {
      SnapshotEntries::Row row;
      row.action = action;
      row.address = 4096;
      row.size_bytes = 20 * kMiB;
      row.time_us = static_cast<std::int64_t>(1'000'000 + 500 * snapshot.entries.size());
      snapshot.entries.push_back(row);
    }
    SnapshotDevices::Row device;
    device.entries = {0, static_cast<std::uint32_t>(actions.size())};
    snapshot.devices.push_back(device);
    DeviceMemoryFacts of_device;
    of_device.device = SnapshotDeviceId(0);
    of_device.has_history = true;
    facts.devices.push_back(of_device);
    facts.steps.push_back({});
    facts.main_device = SnapshotDeviceId(0);
  }
  [[nodiscard]] DeviceMemoryFacts& device() { return facts.devices[SnapshotDeviceId(0)]; }
  void set_peak(MemoryLevelKind kind, std::int64_t bytes) {
    device().levels[static_cast<std::size_t>(kind)].peak_bytes = bytes;
  }
  [[nodiscard]] MemoryRuleInput input(std::span<const AllocatorWhatIf> what_ifs = {}) const {
    return {snapshot, facts, SnapshotDeviceId(0), what_ifs, {}};
  }
};

std::vector<std::string> ids_of(const std::vector<MemoryFinding>& findings) {
  std::vector<std::string> ids;
  for (const MemoryFinding& finding : findings) ids.push_back(finding.id);
  return ids;
}

AllocatorWhatIf what_if(const char* conf, std::int64_t reserved_mib, bool fails) {
  const auto config = parse_allocator_config(conf);
  EXPECT_TRUE(config) << conf;
  AllocatorWhatIf result{conf, *config, {}, std::nullopt};
  result.run.reserved_peak_bytes = reserved_mib * kMiB;
  if (fails) result.run.oom = SimulatedOom{SnapshotEntryId(0), kMiB};
  return result;
}

TEST(MemoryRules, IdsAreDistinct) {
  std::set<std::string_view> ids;
  for (const MemoryRule& rule : memory_rules()) EXPECT_TRUE(ids.insert(rule.id).second) << rule.id;
}

TEST(MemoryRules, NothingIsSaidWithoutHistory) {
  Made made({});
  made.device().has_history = false;
  made.set_peak(MemoryLevelKind::kReserved, 4096 * kMiB);
  EXPECT_TRUE(find_all_memory(made.input()).empty());
}

TEST(MemoryRules, FragmentationOnEitherSideOfItsThresholds) {
  Made made({AllocatorAction::kSegmentAlloc, AllocatorAction::kAlloc});
  made.set_peak(MemoryLevelKind::kReserved, 1000 * kMiB);
  made.set_peak(MemoryLevelKind::kActive, 821 * kMiB);
  EXPECT_FALSE(find_fragmentation(made.input()));
  made.set_peak(MemoryLevelKind::kActive, 820 * kMiB);
  ASSERT_TRUE(find_fragmentation(made.input()));
  // The same share of a small process: what a few pools round up to.
  made.set_peak(MemoryLevelKind::kReserved, 127 * kMiB);
  made.set_peak(MemoryLevelKind::kActive, 0);
  EXPECT_FALSE(find_fragmentation(made.input()));
  made.set_peak(MemoryLevelKind::kReserved, 128 * kMiB);
  EXPECT_TRUE(find_fragmentation(made.input()));
}

TEST(MemoryRules, AnOutOfMemoryCountsTheSettingsThatOneMayTrainWith) {
  Made made({AllocatorAction::kAlloc, AllocatorAction::kOom});
  OomFacts oom;
  oom.entry = SnapshotEntryId(1);
  made.device().ooms.push_back(oom);
  const auto text = [&](const std::vector<AllocatorWhatIf>& what_ifs) {
    const auto finding = find_out_of_memory(made.input(what_ifs));
    std::string all;
    for (const MemoryEvidence& each : finding->evidence) all += each.text + "\n";
    return all;
  };
  const AllocatorWhatIf split = what_if("max_split_size_mb:64", 1000, true);
  const AllocatorWhatIf expandable = what_if("expandable_segments:True", 900, true);
  EXPECT_NE(text({split, expandable, what_if("no_caching", 800, true)})
                .find("None of the 2 settings of the allocator that were tried serves all requests."),
            std::string::npos);
  EXPECT_NE(
      text({split, what_if("no_caching", 800, false)})
          .find("The one setting of the allocator that was tried does not serve all requests. Without caching all "
                "would be served, and each allocation would wait for the GPU."),
      std::string::npos);
}

TEST(MemoryRules, WhatWasReservedBeforeTheHistoryMayHaveBeenInUse) {
  Made made({AllocatorAction::kAlloc});
  made.set_peak(MemoryLevelKind::kReserved, 1000 * kMiB);
  made.set_peak(MemoryLevelKind::kActive, 500 * kMiB);
  made.device().levels[static_cast<std::size_t>(MemoryLevelKind::kReserved)].start_bytes = 900 * kMiB;
  const auto unsure = find_fragmentation(made.input());
  ASSERT_TRUE(unsure);
  EXPECT_EQ(unsure->severity, Severity::kInformation);
  EXPECT_NE(unsure->title.find("500 MiB of the 1000 MiB reserved are not in use at once in this history"),
            std::string::npos)
      << unsure->title;
  made.device().is_whole_life = true;
  EXPECT_EQ(find_fragmentation(made.input())->severity, Severity::kNote);
  // A part that was certainly never needed: taken in the history, above all that was there before.
  made.device().is_whole_life = false;
  made.device().levels[static_cast<std::size_t>(MemoryLevelKind::kReserved)].start_bytes = 700 * kMiB;
  const auto sure = find_fragmentation(made.input());
  EXPECT_EQ(sure->severity, Severity::kNote);
  EXPECT_NE(sure->title.find("300 MiB of the 1000 MiB reserved were never in use at once"), std::string::npos)
      << sure->title;
}

TEST(MemoryRules, AFailureComesFirstAndNamesWhatServes) {
  Made made({AllocatorAction::kSegmentAlloc, AllocatorAction::kAlloc, AllocatorAction::kOom});
  made.set_peak(MemoryLevelKind::kReserved, 2000 * kMiB);
  made.set_peak(MemoryLevelKind::kActive, 500 * kMiB);
  OomFacts oom;
  oom.entry = SnapshotEntryId(2);
  oom.request_bytes = 12 * kMiB;
  oom.device_free_bytes = kMiB;
  made.device().ooms.push_back(oom);
  const std::vector<AllocatorWhatIf> what_ifs = {what_if("max_split_size_mb:128", 1500, true),
                                                 what_if("expandable_segments:True", 900, false)};
  const auto findings = find_all_memory(made.input(what_ifs));
  EXPECT_EQ(ids_of(findings), (std::vector<std::string>{"out-of-memory", "fragmentation"}));
  EXPECT_NE(findings[0].title.find("12.0 MiB were refused at #2"), std::string::npos) << findings[0].title;
  EXPECT_EQ(findings[0].advice.front(), "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True");
  EXPECT_EQ(findings[1].saving_bytes, 1100 * kMiB);
}

TEST(MemoryRules, ARetryIsANoteWhereSomethingIsCached) {
  const std::vector<AllocatorAction> actions = {AllocatorAction::kSegmentAlloc, AllocatorAction::kAlloc,
                                                AllocatorAction::kSegmentFree, AllocatorAction::kSegmentAlloc,
                                                AllocatorAction::kAlloc};
  Made made(actions);
  EXPECT_FALSE(find_allocator_retries(made.input()));  // reserved never above allocated: nothing is cached
  made.set_peak(MemoryLevelKind::kReserved, 40 * kMiB);
  const auto note = find_allocator_retries(made.input());
  ASSERT_TRUE(note);
  EXPECT_EQ(note->severity, Severity::kNote);
  EXPECT_EQ(note->evidence.front().event, 3U);
  // Something between the two: no retry.
  Made apart({AllocatorAction::kSegmentFree, AllocatorAction::kFreeRequested, AllocatorAction::kSegmentAlloc});
  apart.set_peak(MemoryLevelKind::kReserved, 40 * kMiB);
  EXPECT_FALSE(find_allocator_retries(apart.input()));
}

TEST(MemoryWording, SizesAreThoseOfTorch) {
  EXPECT_EQ(format_memory(0), "0 B");
  EXPECT_EQ(format_memory(1023), "1023 B");
  EXPECT_EQ(format_memory(1024), "1.00 KiB");
  EXPECT_EQ(format_memory(12 * kMiB), "12.0 MiB");
  EXPECT_EQ(format_memory(1023 * kMiB), "1023 MiB");
  EXPECT_EQ(format_memory(3LL << 30), "3.00 GiB");
  EXPECT_EQ(format_memory(-12 * kMiB), "-12.0 MiB");
}

TEST(MemoryWording, PlacesLoseTheirFolders) {
  EXPECT_EQ(without_folders("/home/u/train/model.py:120 forward"), "model.py:120 forward");
  EXPECT_EQ(without_folders("model.py:120 a/b"), "model.py:120 a/b");
  EXPECT_EQ(without_folders(std::string(kNoFramesRecorded)), kNoFramesRecorded);
  EXPECT_EQ(tensors_of("/home/u/train/model.py:120 forward"), "the tensors of model.py:120 forward");
  EXPECT_EQ(tensors_of(std::string(kNoFramesRecorded)), "the tensors without recorded frames");
}

TEST(MemoryWording, LinesThatAreNoneReadAsSuch) {
  const std::vector<LiveGroup> lines = {
      {"/a/m.py:1 f", kMiB, 1}, {std::string(kNoFramesRecorded), kMiB, 1}, {std::string(kOlderThanHistory), kMiB, 1}};
  EXPECT_EQ(list_lines(lines, 9),
            "1.00 MiB of m.py:1 f, 1.00 MiB with no frames recorded, 1.00 MiB older than the history");
  EXPECT_EQ(list_lines(lines, 1), "1.00 MiB of m.py:1 f");
}

TEST(MemoryWording, EventsHaveTheirTime) {
  const Made made({AllocatorAction::kAlloc, AllocatorAction::kAlloc, AllocatorAction::kAlloc});
  EXPECT_EQ(describe_event(made.input(), 2), "#2 (1.00 ms)");
}

TEST(MemoryWording, OneOptionLessIsWorthAFewPerCent) {
  const Made made({AllocatorAction::kAlloc});
  const std::vector<AllocatorWhatIf> near = {
      what_if("expandable_segments:True,roundup_power2_divisions:8", 1000, false),
      what_if("expandable_segments:True", 1040, false)};
  EXPECT_EQ(setting_to_type(*best_setting(made.input(near))), "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True");
  const std::vector<AllocatorWhatIf> far = {what_if("expandable_segments:True,roundup_power2_divisions:8", 1000, false),
                                            what_if("expandable_segments:True", 1100, false)};
  EXPECT_EQ(best_setting(made.input(far))->run.reserved_peak_bytes, 1000 * kMiB);
  const std::vector<AllocatorWhatIf> none = {what_if("expandable_segments:True", 1000, true),
                                             what_if("no_caching", 10, false)};
  EXPECT_EQ(best_setting(made.input(none)), nullptr);
}

}  // namespace
}  // namespace stepscope

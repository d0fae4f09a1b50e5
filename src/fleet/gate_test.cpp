// The gate's three answers on sides made by hand: what fails, what passes, and everything that must do neither.
#include "fleet/gate.h"

#include <gtest/gtest.h>

#include "support/made_samples.h"

namespace stepscope {
namespace {

constexpr double kStepNs = 43.5e6;

GateRun made_run(std::uint64_t seed, double factor = 1, std::size_t steps = 100) {
  Random random(seed);
  GateRun run;
  run.source = "run" + std::to_string(seed);
  run.steps_ns = draw_steps(random, steps, kStepNs * factor, 0.01, 0.3);
  run.device_name = "NVIDIA H200";
  return run;
}

GateSide made_side(std::initializer_list<std::uint64_t> seeds, double factor = 1, std::size_t steps = 100) {
  GateSide side;
  for (const std::uint64_t seed : seeds) side.runs.push_back(made_run(seed, factor, steps));
  return side;
}

const GateCheck& find_check(const GateResult& result, GateQuantity quantity) {
  for (const GateCheck& check : result.checks) {
    if (check.quantity == quantity) return check;
  }
  static const GateCheck none;
  ADD_FAILURE() << "no such check";
  return none;
}

GateDoubt step_doubt(const GateResult& result) { return find_check(result, GateQuantity::kStepTime).doubt; }

TEST(Gate, ASlowdownBeyondTheLimitFailsAndOneWithinItPasses) {
  const GateSide base = made_side({1});
  EXPECT_EQ(judge_gate(base, made_side({2}), {}).verdict, GateVerdict::kPassed);
  EXPECT_EQ(judge_gate(base, made_side({2}, 1.02), {}).verdict, GateVerdict::kPassed);
  const GateResult slow = judge_gate(base, made_side({2}, 1.045), {});
  EXPECT_EQ(slow.verdict, GateVerdict::kFailed);
  EXPECT_NEAR(*slow.checks.front().ratio, 1.045, 0.006);
  EXPECT_FALSE(slow.checks.front().comparison.sees_noise_between_runs);
}

TEST(Gate, FasterPasses) {
  EXPECT_EQ(judge_gate(made_side({1}), made_side({2}, 0.9), {}).verdict, GateVerdict::kPassed);
}

TEST(Gate, ALimitMayBeATime) {
  GateOptions options;
  options.slower = {std::nullopt, 3'000'000};  // 6.9 %
  const GateResult within = judge_gate(made_side({1}), made_side({2}, 1.045), options);
  EXPECT_EQ(within.verdict, GateVerdict::kPassed);
  EXPECT_NEAR(*within.checks.front().limit_ratio, 3.0 / 43.5, 0.001);
  options.slower.absolute = 1'000'000;
  EXPECT_EQ(judge_gate(made_side({1}), made_side({2}, 1.045), options).verdict, GateVerdict::kFailed);
}

TEST(Gate, ALimitOfZeroStillWantsNoiseExcluded) {
  GateOptions options;
  options.slower = {0.0, std::nullopt};
  const GateSide side = made_side({1});
  EXPECT_EQ(judge_gate(side, side, options).verdict, GateVerdict::kPassed);
  EXPECT_EQ(judge_gate(side, made_side({2}, 1.02), options).verdict, GateVerdict::kFailed);
}

TEST(Gate, ThreeStepsAreTooFew) {
  const GateResult few = judge_gate(made_side({1}), made_side({2}, 1.2, 3), {});
  EXPECT_EQ(few.verdict, GateVerdict::kCannotTell);
  EXPECT_EQ(step_doubt(few), GateDoubt::kTooFew);
  EXPECT_TRUE(few.only_too_few());
  EXPECT_FALSE(few.checks.front().reason.empty());
  // 7: the least number of values whose median anything inside them can enclose at 98 %.
  GateSide base = made_side({1}), slow = made_side({2});
  base.runs.front().steps_ns = {43.5, 43.6, 43.4, 43.7, 43.3, 43.6, 43.4};
  slow.runs.front().steps_ns = {50.5, 50.6, 50.4, 50.7, 50.3, 50.6, 50.4};
  EXPECT_EQ(judge_gate(base, slow, {}).verdict, GateVerdict::kFailed);
  slow.runs.front().steps_ns.pop_back();
  EXPECT_EQ(judge_gate(base, slow, {}).verdict, GateVerdict::kCannotTell);
}

TEST(Gate, NoiseBetweenRunsComesFromTheBaseOrTheUser) {
  // Runs that differ by 4 % of themselves: a new one of 4.5 % more says nothing.
  GateSide base;
  for (std::uint64_t i = 0; i < 5; ++i) base.runs.push_back(made_run(i, i % 2 == 0 ? 0.96 : 1.04));
  const GateResult seen = judge_gate(base, made_side({9}, 1.045), {});
  EXPECT_EQ(seen.verdict, GateVerdict::kPassed);
  EXPECT_TRUE(seen.checks.front().comparison.sees_noise_between_runs);
  GateOptions told;
  told.between_runs_ratio = 0.04;
  EXPECT_EQ(judge_gate(made_side({1}), made_side({2}, 1.045), told).verdict, GateVerdict::kPassed);
}

TEST(Gate, StrictPassesOnlyWhatIsShown) {
  Random random(5);
  GateSide noisy = made_side({1}), other = made_side({2});
  noisy.runs.front().steps_ns = draw_steps(random, 100, kStepNs, 0.15, 0);
  other.runs.front().steps_ns = draw_steps(random, 100, kStepNs, 0.15, 0);
  EXPECT_EQ(judge_gate(noisy, other, {}).verdict, GateVerdict::kPassed);
  GateOptions strict;
  strict.strict = true;
  const GateResult result = judge_gate(noisy, other, strict);
  EXPECT_EQ(result.verdict, GateVerdict::kCannotTell);
  EXPECT_EQ(step_doubt(result), GateDoubt::kNotProven);
  EXPECT_FALSE(result.only_too_few());
  EXPECT_EQ(judge_gate(made_side({1}), made_side({2}), strict).verdict, GateVerdict::kPassed);
}

// Four steps of ten take ten times as long: the median is as it was, the job takes four times as long.
TEST(Gate, ATailThatTheMedianDoesNotSeeIsSaid) {
  const GateSide base = made_side({1}, 1, 300);
  GateSide tail = made_side({2}, 1, 300);
  for (std::size_t i = 0; i < 300; ++i) {
    if (i % 5 < 2) tail.runs.front().steps_ns[i] *= 10;
  }
  const GateResult result = judge_gate(base, tail, {});
  EXPECT_EQ(result.verdict, GateVerdict::kPassed);
  ASSERT_EQ(result.warnings.size(), 1U);
  EXPECT_EQ(result.warnings.front(), result.checks.front().tail);
  EXPECT_NE(result.warnings.front().find("the mean step is 36"), std::string::npos) << result.warnings.front();
  EXPECT_NE(result.warnings.front().find("90th percentile"), std::string::npos);
  GateOptions strict;
  strict.strict = true;
  EXPECT_EQ(step_doubt(judge_gate(base, tail, strict)), GateDoubt::kNotProven);
  EXPECT_TRUE(judge_gate(tail, base, {}).warnings.empty());
}

// The shown times have the shown ratio.
TEST(Gate, OfFewRunsTimesAndRatioAreOneEstimate) {
  GateSide base, other;
  std::uint64_t seed = 1;
  for (const double factor : {1.0, 1.0, 1.0, 1.0, 1.5}) base.runs.push_back(made_run(seed++, factor));
  for (int i = 0; i < 5; ++i) other.runs.push_back(made_run(seed++, 1.05));
  const GateCheck few = judge_gate(base, other, {}).checks.front();
  EXPECT_TRUE(few.is_geometric_mean);
  EXPECT_NEAR(*few.other / *few.base, *few.ratio, 1e-9);
  EXPECT_LT(*few.ratio, 1);
  EXPECT_FALSE(judge_gate(made_side({1}), made_side({2}), {}).checks.front().is_geometric_mean);
  const GateCheck many =
      judge_gate(made_side({1, 2, 3, 4, 5, 6, 7}), made_side({11, 12, 13, 14, 15, 16, 17}), {}).checks.front();
  EXPECT_FALSE(many.is_geometric_mean);
  EXPECT_NEAR(*many.other / *many.base, *many.ratio, 1e-9);
}

TEST(Gate, ProgramsMixedOnASideAreNotComparable) {
  GateSide mixed = made_side({1, 2});
  mixed.runs[0].world_size = 2;
  mixed.runs[1].world_size = 1024;
  EXPECT_EQ(*judge_gate(mixed, mixed, {}).not_comparable,
            "base has runs of several programs, with world sizes 1024, 2; new has runs of several programs, with world "
            "sizes 1024, 2");
  mixed.runs[1].world_size = 2;
  EXPECT_FALSE(judge_gate(mixed, mixed, {}).not_comparable);
  mixed.runs[0].backend = "gloo";
  mixed.runs[1].backend = "nccl";
  EXPECT_TRUE(judge_gate(mixed, made_side({3}), {}).not_comparable);
}

TEST(Gate, TheSameStepsOnBothSidesAreSaid) {
  const GateSide side = made_side({1});
  EXPECT_EQ(judge_gate(side, side, {}).warnings,
            std::vector<std::string>{"run1 is on both sides: it is compared with itself"});
  GateSide copy = side;
  copy.runs.front().source = "copy";
  EXPECT_EQ(judge_gate(side, copy, {}).warnings.front(),
            "base's run1 and new's copy have the very same steps: is one a copy of the other?");
}

TEST(Gate, ANoteIsSaidOnce) {
  GateSide side = made_side({1});
  side.warnings = {"a: named more than once", "a: named more than once"};
  EXPECT_EQ(judge_gate(side, made_side({2}), {}).warnings.size(), 1U);
}

TEST(Gate, LostDataNeverPassAndStillFail) {
  GateSide lossy = made_side({2});
  lossy.losses.emplace_back("rank 3 could not be read");
  const GateResult same = judge_gate(made_side({1}), lossy, {});
  EXPECT_EQ(same.verdict, GateVerdict::kCannotTell);
  EXPECT_EQ(step_doubt(same), GateDoubt::kLost);
  GateSide slow = made_side({2}, 1.1);
  slow.losses = lossy.losses;
  EXPECT_EQ(judge_gate(made_side({1}), slow, {}).verdict, GateVerdict::kFailed);
}

TEST(Gate, TimesThatCannotBeTrustedTellNothing) {
  GateSide withheld = made_side({2}, 1.5);
  withheld.steps_withheld = "30 of 32 launches have no kernel";
  const GateResult result = judge_gate(made_side({1}), withheld, {});
  EXPECT_EQ(result.verdict, GateVerdict::kCannotTell);
  EXPECT_EQ(step_doubt(result), GateDoubt::kWithheld);
}

TEST(Gate, NothingToCompareIsNoPass) {
  const GateResult result = judge_gate({}, {}, {});
  EXPECT_EQ(result.verdict, GateVerdict::kCannotTell);
  EXPECT_EQ(step_doubt(judge_gate(made_side({1}), {}, {})), GateDoubt::kMissing);
}

TEST(Gate, AnotherGpuIsNotComparedUnlessAsked) {
  GateSide other = made_side({2});
  other.runs.front().device_name = "NVIDIA A100";
  const GateResult refused = judge_gate(made_side({1}), other, {});
  EXPECT_EQ(refused.verdict, GateVerdict::kCannotTell);
  EXPECT_EQ(step_doubt(refused), GateDoubt::kNotComparable);
  EXPECT_EQ(*refused.not_comparable, "another GPU: base NVIDIA H200, new NVIDIA A100");
  GateOptions options;
  options.allow_mixed = true;
  const GateResult compared = judge_gate(made_side({1}), other, options);
  EXPECT_EQ(compared.verdict, GateVerdict::kPassed);
  EXPECT_EQ(compared.warnings.size(), 1U);
  other.runs.front().device_name.clear();
  const GateResult unknown = judge_gate(made_side({1}), other, {});
  EXPECT_EQ(unknown.verdict, GateVerdict::kPassed);
  EXPECT_EQ(unknown.warnings.size(), 1U);
}

TEST(Gate, KindsOfTimesAndNumbersOfRanksAreNotMixed) {
  GateSide listed = made_side({2});
  listed.runs.front().kind = GateTimeKind::kListedSteps;
  EXPECT_TRUE(judge_gate(made_side({1}), listed, {}).not_comparable);
  GateSide eight = made_side({1}), four = made_side({2});
  eight.runs.front().world_size = 8;
  four.runs.front().world_size = 4;
  EXPECT_TRUE(judge_gate(eight, four, {}).not_comparable);
  // Of one size, but one file is missing on a side.
  four.runs.front().world_size = 8;
  eight.runs.front().rank_count = 8;
  four.runs.front().rank_count = 7;
  const GateResult missing = judge_gate(eight, four, {});
  EXPECT_EQ(step_doubt(missing), GateDoubt::kLost);
  // As many on both sides are comparable, and it is said that not all are there.
  eight.runs.front().rank_count = 7;
  const GateResult some = judge_gate(eight, four, {});
  EXPECT_EQ(some.verdict, GateVerdict::kPassed);
  ASSERT_EQ(some.warnings.size(), 1U);
  EXPECT_EQ(some.warnings.front(), "7 of 8 ranks are compared: the slowest may be another");
}

TEST(Gate, OtherUnitsAreNoticed) {
  const GateResult result = judge_gate(made_side({1}), made_side({2}, 1000), {});
  ASSERT_EQ(result.warnings.size(), 1U);
  EXPECT_NE(result.warnings.front().find("same unit"), std::string::npos);
}

GateSide with_memory(std::initializer_list<std::int64_t> peaks, bool reserved = true) {
  GateSide side;
  std::uint64_t seed = 1;
  for (const std::int64_t peak : peaks) {
    side.runs.push_back(made_run(seed++));
    side.runs.back().allocated_peak_bytes = peak;
    if (reserved) side.runs.back().reserved_peak_bytes = 2 * peak;
  }
  return side;
}

TEST(Gate, MemoryFailsBeyondItsLimitOnly) {
  GateOptions options;
  options.memory = GateLimit{0.05, std::nullopt};
  EXPECT_EQ(judge_gate(with_memory({1000}), with_memory({1050}), options).verdict, GateVerdict::kPassed);
  const GateResult more = judge_gate(with_memory({1000}), with_memory({1051}), options);
  EXPECT_EQ(more.verdict, GateVerdict::kFailed);
  EXPECT_EQ(find_check(more, GateQuantity::kStepTime).verdict, GateVerdict::kPassed);
  EXPECT_EQ(find_check(more, GateQuantity::kReservedPeak).verdict, GateVerdict::kFailed);
  options.memory = GateLimit{std::nullopt, 100};
  EXPECT_EQ(
      find_check(judge_gate(with_memory({1000}), with_memory({1100}), options), GateQuantity::kAllocatedPeak).verdict,
      GateVerdict::kPassed);
  EXPECT_EQ(
      find_check(judge_gate(with_memory({1000}), with_memory({1101}), options), GateQuantity::kAllocatedPeak).verdict,
      GateVerdict::kFailed);
}

TEST(Gate, ALowerBoundOfTheBaseProvesNoFailure) {
  GateOptions options;
  options.memory = GateLimit{0.05, std::nullopt};
  GateSide lossy = with_memory({1000});
  lossy.losses.emplace_back("the snapshot is cut");
  const GateResult result = judge_gate(lossy, with_memory({2000}), options);
  EXPECT_EQ(result.verdict, GateVerdict::kCannotTell);
  EXPECT_EQ(find_check(result, GateQuantity::kReservedPeak).doubt, GateDoubt::kLost);
  GateSide lossy_new = with_memory({2000});
  lossy_new.losses = lossy.losses;
  EXPECT_EQ(judge_gate(with_memory({1000}), lossy_new, options).verdict, GateVerdict::kFailed);
  // The slowest rank of the base may be missing.
  GateSide all = made_side({2}, 1.1);
  all.runs.front().rank_count = 8;
  EXPECT_EQ(step_doubt(judge_gate(made_side({1}), all, {})), GateDoubt::kLost);
  EXPECT_EQ(judge_gate(all, made_side({1}, 1.3), {}).verdict, GateVerdict::kFailed);
}

TEST(Gate, SeveralRunsHaveToAgreeOnMemory) {
  GateOptions options;
  options.memory = GateLimit{0.05, std::nullopt};
  EXPECT_EQ(judge_gate(with_memory({1000, 1000, 1200}), with_memory({1100}), options).verdict, GateVerdict::kPassed);
  EXPECT_EQ(judge_gate(with_memory({1000, 1000, 1010}), with_memory({1100, 1090}), options).verdict,
            GateVerdict::kFailed);
}

TEST(Gate, WithoutALimitMemoryIsShownAndFailsNothing) {
  const GateResult result = judge_gate(with_memory({1000}), with_memory({5000}), {});
  EXPECT_EQ(result.verdict, GateVerdict::kPassed);
  EXPECT_EQ(find_check(result, GateQuantity::kAllocatedPeak).verdict, GateVerdict::kNotAsked);
  EXPECT_EQ(judge_gate(made_side({1}), made_side({2}), {}).checks.size(), 1U);
}

TEST(Gate, MissingMemoryIsNoPass) {
  GateOptions options;
  options.memory = GateLimit{0.05, std::nullopt};
  const GateResult both = judge_gate(made_side({1}), made_side({2}), options);
  EXPECT_EQ(both.verdict, GateVerdict::kCannotTell);
  EXPECT_EQ(find_check(both, GateQuantity::kAllocatedPeak).reason, "base and new have no memory peaks");
  EXPECT_FALSE(both.only_too_few());
  const GateResult one = judge_gate(with_memory({1000}), made_side({2}), options);
  EXPECT_EQ(find_check(one, GateQuantity::kReservedPeak).reason, "new has no memory peaks");
  // One level of two is enough, and is said.
  const GateResult allocated_only = judge_gate(with_memory({1000}, false), with_memory({1000}), options);
  EXPECT_EQ(allocated_only.verdict, GateVerdict::kPassed);
  EXPECT_EQ(allocated_only.warnings.back(), "base has no reserved memory: only allocated memory was compared");
  const GateResult crossed = judge_gate(with_memory({0}), with_memory({1000}), options);
  EXPECT_EQ(crossed.verdict, GateVerdict::kCannotTell);
}

TEST(Gate, SnapshotsHaveNoStepsAndNeedNone) {
  GateSide base = with_memory({1000}), other = with_memory({2000});
  for (GateSide* side : {&base, &other}) {
    side->runs.front().steps_ns.clear();
    side->runs.front().kind = GateTimeKind::kNone;
  }
  GateOptions options;
  options.memory = GateLimit{0.05, std::nullopt};
  const GateResult result = judge_gate(base, other, options);
  EXPECT_EQ(result.checks.size(), 2U);
  EXPECT_EQ(result.verdict, GateVerdict::kFailed);
  EXPECT_EQ(judge_gate(base, other, {}).verdict, GateVerdict::kCannotTell);  // nothing was asked that they can answer
}

}  // namespace
}  // namespace stepscope

// Calls against records in every order in which they can come.
#include "agent/ledger.h"

#include <gtest/gtest.h>

namespace stepscope::agent {
namespace {

void record(Ledger& ledger, std::uint32_t correlation, TimeNs start_ns = 10, TimeNs end_ns = 20) {
  ledger.note_record(0, correlation, true, start_ns, end_ns);
}

TEST(Ledger, IsEvenWhenEachLaunchHasItsRecordWhicheverComesFirst) {
  Ledger ledger(64);
  ledger.note_call(1, CallClass::kLaunch, true);
  EXPECT_EQ(ledger.outstanding_count(), 1U);
  record(ledger, 1);
  record(ledger, 2);
  EXPECT_EQ(ledger.outstanding_count(), 0U);
  ledger.note_call(2, CallClass::kLaunch, true);
  EXPECT_EQ(ledger.outstanding_count(), 0U);
  ledger.settle();
  EXPECT_EQ(ledger.host().launch_count, 2U);
  EXPECT_EQ(ledger.host().unmatched_count, 0U);
  EXPECT_EQ(ledger.device(0).gpu_event_count, 2U);
  EXPECT_EQ(ledger.device(0).unmatched_count, 0U);
}

TEST(Ledger, CountsALaunchWithoutRecordAndARecordWithoutLaunch) {
  Ledger ledger(64);
  ledger.note_call(1, CallClass::kLaunch, true);
  record(ledger, 2);
  ledger.settle();
  EXPECT_EQ(ledger.host().unmatched_count, 1U);
  EXPECT_EQ(ledger.device(0).unmatched_count, 1U);
  EXPECT_EQ(ledger.outstanding_count(), 0U);
}

TEST(Ledger, AsksNoRecordOfCallsThatMakeNone) {
  Ledger ledger(64);
  ledger.note_call(1, CallClass::kLaunch, false);  // failed, or into a graph
  ledger.note_call(2, CallClass::kCopy, true);     // 0 bytes
  ledger.note_call(3, CallClass::kSync, true);
  EXPECT_EQ(ledger.outstanding_count(), 0U);
  ledger.settle();
  EXPECT_EQ(ledger.host().unmatched_count, 0U);
  EXPECT_EQ(ledger.host().launch_count, 0U);
}

TEST(Ledger, AGraphHasAnyNumberOfRecordsAKernelHasOne) {
  Ledger ledger(64);
  ledger.note_call(1, CallClass::kGraph, true);
  ledger.note_call(2, CallClass::kLaunch, true);
  for (int i = 0; i < 100; ++i) record(ledger, 1);
  record(ledger, 2);
  record(ledger, 2);
  ledger.settle();
  EXPECT_EQ(ledger.device(0).unmatched_count, 1U);
  EXPECT_EQ(ledger.device(0).gpu_event_count, 102U);
}

TEST(Ledger, JudgesWhatALaterNumberPushesOut) {
  Ledger ledger(4);
  ledger.note_call(1, CallClass::kLaunch, true);
  ledger.note_call(5, CallClass::kLaunch, true);
  EXPECT_EQ(ledger.host().unmatched_count, 1U);
  EXPECT_EQ(ledger.outstanding_count(), 1U);
  record(ledger, 5);
  EXPECT_EQ(ledger.outstanding_count(), 0U);
}

TEST(Ledger, CountsTimesThatCannotBe) {
  Ledger ledger(64);
  ledger.note_call(1, CallClass::kGraph, true);
  record(ledger, 1, 0, 20);
  record(ledger, 1, 20, 0);
  record(ledger, 1, 20, 10);
  record(ledger, 1, 20, 20);
  EXPECT_EQ(ledger.device(0).bad_time_count, 3U);
}

TEST(Ledger, KeepsDevicesApart) {
  Ledger ledger(64);
  ledger.note_record(0, 1, true, 1, 2);
  ledger.note_record(3, 2, true, 1, 2);
  ledger.note_record(3, 3, true, 1, 2);
  EXPECT_EQ(ledger.device(0).gpu_event_count, 1U);
  EXPECT_EQ(ledger.device(3).gpu_event_count, 2U);
}

}  // namespace
}  // namespace stepscope::agent

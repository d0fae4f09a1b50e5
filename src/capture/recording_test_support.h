// For tests of the capture room: a recording from its start to its end in one object, and easy questions to it.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "capture/recorder.h"

namespace stepscope {

// Records while it lives; stop() hands over.
class TestRecording {
 public:
  explicit TestRecording(const RecorderOptions& options = {}) { is_on_ = start_recorder(options).has_value(); }
  ~TestRecording() {
    if (is_on_) (void)stop_recorder().has_value();
  }
  TestRecording(const TestRecording&) = delete;
  TestRecording& operator=(const TestRecording&) = delete;

  [[nodiscard]] bool is_on() const { return is_on_; }
  Recording stop() {
    is_on_ = false;
    auto stopped = stop_recorder();
    EXPECT_TRUE(stopped);
    return stopped ? *std::move(stopped) : Recording{};
  }

 private:
  bool is_on_ = false;
};

inline std::uint64_t record_count(const Recording& recording) {
  std::uint64_t count = 0;
  for (const ThreadRecords& thread : recording.threads) count += thread.records.size();
  return count;
}

inline std::uint64_t dropped_count(const Recording& recording) {
  std::uint64_t count = 0;
  for (const ThreadRecords& thread : recording.threads) count += thread.dropped_count;
  return count;
}

// The names of a thread's records, in order, with spaces between.
inline std::string names_of(const ThreadRecords& thread) {
  std::string text;
  for (const Record& record : thread.records) {
    if (!text.empty()) text += ' ';
    text += name_text(record.name);
  }
  return text;
}

inline const Record* find_record(const Recording& recording, std::string_view name) {
  for (const ThreadRecords& thread : recording.threads) {
    for (const Record& record : thread.records) {
      if (name_text(record.name) == name) return &record;
    }
  }
  return nullptr;
}

inline const RecordDetail* find_detail(const Recording& recording, std::string_view name) {
  for (const ThreadRecords& thread : recording.threads) {
    for (const Record& record : thread.records) {
      if (name_text(record.name) == name && record.detail > 0) return &thread.details[record.detail - 1];
    }
  }
  return nullptr;
}

// What is true of every recording, whatever threads did.
inline void expect_sound(const Recording& recording) {
  EXPECT_LE(recording.start_ns, recording.end_ns);
  for (const ThreadRecords& thread : recording.threads) {
    TimeNs last = recording.start_ns;
    for (const Record& record : thread.records) {
      ASSERT_LE(recording.start_ns, record.start_ns);
      ASSERT_LE(record.start_ns, record.end_ns);
      ASSERT_LE(last, record.end_ns);
      ASSERT_LE(record.end_ns, recording.end_ns);
      ASSERT_FALSE(name_text(record.name).empty());
      ASSERT_LE(record.detail, thread.details.size());
      last = record.end_ns;
    }
  }
}

}  // namespace stepscope

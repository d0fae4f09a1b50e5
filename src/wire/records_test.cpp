// Records through the encoder and back: every kind, every field, every size of number.
#include <gtest/gtest.h>

#include "wire/record_decoder.h"
#include "wire/record_encoder.h"
#include "wire/record_test_support.h"

namespace stepscope::wire {
namespace {

// Encodes what it is handed and remembers it as text.
class Tee : public WireVisitor {
 public:
  RecordEncoder encoder;
  RecordTexts given;
  void on(const CaptureInfo& r) override { add(r); }
  void on(const WireStringDefinition& r) override { add(r); }
  void on(const WireFrameDefinition& r) override { add(r); }
  void on(const WireStackDefinition& r) override { add(r); }
  void on(const WireThread& r) override { add(r); }
  void on(const WireDevice& r) override { add(r); }
  void on(const WireOp& r) override { add(r); }
  void on(const WireSpan& r) override { add(r); }
  void on(const WireCall& r) override { add(r); }
  void on(const WireGpuEvent& r) override { add(r); }
  void on(const WireGraphNode& r) override { add(r); }
  void on(const WireSync& r) override { add(r); }
  void on(const WireOverhead& r) override { add(r); }
  void on(const WireMemory& r) override { add(r); }
  void on(const WireSample& r) override { add(r); }
  void on(const WireCounter& r) override { add(r); }
  void on(const WireWindow& r) override { add(r); }
  void on(const WireLedger& r) override { add(r); }
  void on(const WireRemark& r) override { add(r); }
  void on(const WireEnd& r) override { add(r); }
  void on(const WireMemoryLevel& r) override { add(r); }

 private:
  template <class Record>
  void add(const Record& record) {
    encoder.add(record);
    given.on(record);
  }
};

TEST(Records, RandomOnesComeBackAsTheyWere) {
  RandomFields random(20);
  for (int round = 0; round < 300; ++round) {
    Tee tee;
    for (int i = 0; i < 40; ++i) random.give(tee);
    RecordTexts got;
    RecordDecoder decoder;
    const DecodedPayload decoded = decoder.decode(tee.encoder.payload(), got);
    ASSERT_FALSE(decoded.malformed_at.has_value());
    ASSERT_EQ(decoded.record_count, 40U);
    ASSERT_EQ(got.texts, tee.given.texts);
  }
}

TEST(Records, ClearedEncoderStartsAChunkThatStandsAlone) {
  RecordEncoder encoder;
  WireOp op;
  op.thread_id = 77;
  op.start_ns = 1'700'000'000'000'000'000;
  op.end_ns = op.start_ns + 5;
  encoder.add(op);
  encoder.clear();
  EXPECT_EQ(encoder.record_count(), 0U);
  encoder.add(op);
  RecordTexts got;
  RecordDecoder decoder;
  EXPECT_EQ(decoder.decode(encoder.payload(), got).record_count, 1U);
  EXPECT_EQ(got.texts, std::vector{record_text(op)});
}

// A writer of 1.0 ends an allocation at its totals: what came later reads as not said.
TEST(Records, AnAllocationOfFormatOneHasNoCall) {
  RecordEncoder encoder;
  WireMemory memory;
  memory.time_ns = 9;
  memory.thread_id = 7;
  memory.address = 0x7000;
  memory.bytes = 512;
  memory.total_reserved_bytes = 1024;
  encoder.add(memory);
  const std::string old(encoder.payload());
  encoder.clear();
  memory.source = WireMemorySource::kCuda;
  memory.correlation = 3;
  memory.kind = WireMemoryKind::kManaged;
  memory.is_async = true;
  encoder.add(memory);
  // Four fields more, which a reader of 1.0 leaves unread.
  EXPECT_EQ(encoder.payload().substr(2, old.size() - 2), std::string_view(old).substr(2));
  EXPECT_EQ(encoder.payload().size(), old.size() + 4);
  RecordTexts got;
  RecordDecoder decoder;
  (void)decoder.decode(old, got);
  (void)decoder.decode(encoder.payload(), got);
  const std::string now = record_text(memory);
  memory.source = WireMemorySource::kAllocator;
  memory.correlation = 0;
  memory.kind = WireMemoryKind::kUnknown;
  memory.is_async = false;
  EXPECT_EQ(got.texts, (std::vector{record_text(memory), now}));
}

// Of a newer minor version: unknown kinds, and known ones with fields behind those we know.
TEST(Records, NewerRecordsAreSkippedAndCounted) {
  RecordEncoder encoder;
  encoder.add(WireEnd{5, 6});
  std::string payload(encoder.payload());
  payload += std::string(
      "\xC8\x03"
      "abc",
      5);
  encoder.clear();
  encoder.add(WireEnd{7, 8});
  std::string longer(encoder.payload());
  longer += std::string("\x01\x02", 2);
  longer[1] = static_cast<char>(longer[1] + 2);
  payload += longer;
  RecordTexts got;
  RecordDecoder decoder;
  const DecodedPayload decoded = decoder.decode(payload, got);
  EXPECT_EQ(decoded.unknown_record_count, 1U);
  EXPECT_EQ(decoded.record_count, 2U);
  EXPECT_FALSE(decoded.malformed_at.has_value());
  // The time is a difference from the last one of the chunk.
  EXPECT_EQ(got.texts, (std::vector{record_text(WireEnd{5, 6}), record_text(WireEnd{12, 8})}));
}

TEST(Records, MalformedOnesEndTheChunkAtTheirPlace) {
  RecordEncoder encoder;
  encoder.add(WireEnd{5, 0});
  const std::string sound(encoder.payload());
  const std::pair<const char*, std::string> cases[] = {
      {"body longer than the payload", std::string("\x0A\x7F", 2)},
      {"length that never ends", std::string(12, '\xFF')},
      {"thread number nobody has", std::string("\x07\x01\x05", 3)},
      {"stream number nobody has", std::string("\x0A\x01\x05", 3)},
      {"launch shape nobody has", std::string("\x0A\x08\x00\x00\x00\x00\x00\x00\x00\x09", 10)},
      {"string number of 33 bits", std::string("\x13\x06\x00\x80\x80\x80\x80\x10", 8)},
      {"text longer than its record", std::string("\x02\x02\x02\x09", 4)},
  };
  for (const auto& [name, bytes] : cases) {
    RecordTexts got;
    RecordDecoder decoder;
    const DecodedPayload decoded = decoder.decode(sound + bytes, got);
    EXPECT_EQ(decoded.record_count, 1U) << name;
    ASSERT_TRUE(decoded.malformed_at.has_value()) << name;
    EXPECT_EQ(*decoded.malformed_at, sound.size()) << name;
  }
}

TEST(Records, AnyBytesAreSurvived) {
  std::mt19937_64 random(7);
  RandomFields fields(8);
  for (int round = 0; round < 3000; ++round) {
    Tee tee;
    for (int i = 0; i < 10; ++i) fields.give(tee);
    std::string payload(tee.encoder.payload());
    for (int i = 0; i < 3; ++i) payload[random() % payload.size()] = static_cast<char>(random());
    RecordTexts got;
    RecordDecoder decoder;
    const DecodedPayload decoded = decoder.decode(payload, got);
    EXPECT_EQ(decoded.record_count, got.texts.size());
  }
}

}  // namespace
}  // namespace stepscope::wire

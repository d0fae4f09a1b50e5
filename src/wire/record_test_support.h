// For tests: any record as text, and random records of every kind, through the one description in layout.h.
#pragma once

#include <algorithm>
#include <bit>
#include <deque>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "wire/layout.h"
#include "wire/visitor.h"

namespace stepscope::wire {

// Walks a record and says each field.
class FieldText {
 public:
  template <class Number>
  void number(Number& number) {
    out_ << ' ' << +number;
  }
  template <class Number>
  void signed_number(Number& number) {
    out_ << ' ' << +number;
  }
  void maybe(MaybeInt& number) { out_ << " ?" << number.raw; }
  void real(double& number) { out_ << ' ' << std::bit_cast<std::uint64_t>(number); }
  void text(std::string& text) { out_ << " [" << text << ']'; }
  void rest(std::string_view& text) { out_ << " [" << text << ']'; }
  template <class Enum>
  void enumeration(Enum& value, Enum) {
    out_ << " e" << static_cast<int>(value);
  }
  template <class... Bools>
  void flags(Bools&... flags) {
    ((out_ << (flags ? " yes" : " no")), ...);
  }
  template <class Number>
  void series(Series, Number& number) {
    out_ << ' ' << number;
  }
  void thread(std::int64_t& id) { out_ << " t" << id; }
  void host_times(TimeNs& start_ns, TimeNs& end_ns) { out_ << ' ' << start_ns << '-' << end_ns; }
  void host_time(TimeNs& time_ns) { out_ << ' ' << time_ns; }
  void thread_stack(WireStack& stack) { out_ << " s" << stack; }
  void thread_sequence(MaybeInt& sequence) { maybe(sequence); }
  void stream(std::int32_t& device, std::int64_t& stream) { out_ << " d" << device << '/' << stream; }
  void device_times(TimeNs& start_ns, TimeNs& end_ns) { host_times(start_ns, end_ns); }
  void stream_correlation(std::uint32_t& correlation) { out_ << " c" << correlation; }
  void stream_graph(MaybeInt& graph_id, MaybeInt& graph_node) {
    maybe(graph_id);
    maybe(graph_node);
  }
  void launch_shape(LaunchShape& shape) {
    for (const std::int32_t number : shape.numbers) out_ << ' ' << number;
  }

  [[nodiscard]] std::string text() const { return out_.str(); }

 private:
  std::ostringstream out_;
};

template <class Record>
[[nodiscard]] std::string record_text(Record record) {
  FieldText fields;
  walk(fields, record);
  return std::to_string(static_cast<int>(kKindOf<Record>)) + ":" + fields.text();
}

// Collects what it is handed, as text.
class RecordTexts : public WireVisitor {
 public:
  std::vector<std::string> texts;
  void on(const CaptureInfo& r) override { texts.push_back(record_text(r)); }
  void on(const WireStringDefinition& r) override { texts.push_back(record_text(r)); }
  void on(const WireFrameDefinition& r) override { texts.push_back(record_text(r)); }
  void on(const WireStackDefinition& r) override { texts.push_back(record_text(r)); }
  void on(const WireThread& r) override { texts.push_back(record_text(r)); }
  void on(const WireDevice& r) override { texts.push_back(record_text(r)); }
  void on(const WireOp& r) override { texts.push_back(record_text(r)); }
  void on(const WireSpan& r) override { texts.push_back(record_text(r)); }
  void on(const WireCall& r) override { texts.push_back(record_text(r)); }
  void on(const WireGpuEvent& r) override { texts.push_back(record_text(r)); }
  void on(const WireGraphNode& r) override { texts.push_back(record_text(r)); }
  void on(const WireSync& r) override { texts.push_back(record_text(r)); }
  void on(const WireOverhead& r) override { texts.push_back(record_text(r)); }
  void on(const WireMemory& r) override { texts.push_back(record_text(r)); }
  void on(const WireSample& r) override { texts.push_back(record_text(r)); }
  void on(const WireCounter& r) override { texts.push_back(record_text(r)); }
  void on(const WireWindow& r) override { texts.push_back(record_text(r)); }
  void on(const WireLedger& r) override { texts.push_back(record_text(r)); }
  void on(const WireRemark& r) override { texts.push_back(record_text(r)); }
  void on(const WireEnd& r) override { texts.push_back(record_text(r)); }
  void on(const WireMemoryLevel& r) override { texts.push_back(record_text(r)); }
};

// Fills the fields of a record with numbers of all sizes, the extremes often among them.
class RandomFields {
 public:
  explicit RandomFields(std::uint64_t seed) : random_(seed) {}

  template <class Number>
  void number(Number& number) {
    number = any<Number>();
  }
  template <class Number>
  void signed_number(Number& number) {
    number = any<Number>();
  }
  void maybe(MaybeInt& number) { number = one_in(2) ? MaybeInt() : MaybeInt(any<std::int64_t>()); }
  void real(double& number) { number = std::bit_cast<double>(random_()); }
  void text(std::string& text) { text = any_text(); }
  void rest(std::string_view& text) { text = texts_.emplace_back(any_text()); }
  template <class Enum>
  void enumeration(Enum& value, Enum last) {
    value = static_cast<Enum>(random_() % (static_cast<std::uint64_t>(last) + 1));
  }
  template <class... Bools>
  void flags(Bools&... flags) {
    ((flags = one_in(2)), ...);
  }
  template <class Number>
  void series(Series, Number& number) {
    number = any<Number>();
  }
  void thread(std::int64_t& id) { id = one_in(8) ? any<std::int64_t>() : static_cast<std::int64_t>(random_() % 3); }
  void host_times(TimeNs& start_ns, TimeNs& end_ns) {
    start_ns = any<TimeNs>();
    end_ns = any<TimeNs>();
  }
  void host_time(TimeNs& time_ns) { time_ns = any<TimeNs>(); }
  void thread_stack(WireStack& stack) { stack = any<WireStack>(); }
  void thread_sequence(MaybeInt& sequence) { maybe(sequence); }
  void stream(std::int32_t& device, std::int64_t& stream) {
    device = one_in(8) ? any<std::int32_t>() : static_cast<std::int32_t>(random_() % 2);
    stream = one_in(8) ? any<std::int64_t>() : static_cast<std::int64_t>(random_() % 3);
  }
  void device_times(TimeNs& start_ns, TimeNs& end_ns) { host_times(start_ns, end_ns); }
  void stream_correlation(std::uint32_t& correlation) { correlation = any<std::uint32_t>(); }
  void stream_graph(MaybeInt& graph_id, MaybeInt& graph_node) {
    maybe(graph_id);
    maybe(graph_node);
  }
  void launch_shape(LaunchShape& shape) {
    for (std::int32_t& number : shape.numbers) number = one_in(2) ? 0 : any<std::int32_t>();
  }

  // A random record of a random kind to `visitor`.
  void give(WireVisitor& visitor) {
    constexpr auto kKinds = static_cast<std::size_t>(kRecordKinds) - 1;
    static constexpr void (RandomFields::*kGive[])(WireVisitor&) = {&RandomFields::give_one<CaptureInfo>,
                                                                    &RandomFields::give_one<WireStringDefinition>,
                                                                    &RandomFields::give_one<WireFrameDefinition>,
                                                                    &RandomFields::give_one<WireStackDefinition>,
                                                                    &RandomFields::give_one<WireThread>,
                                                                    &RandomFields::give_one<WireDevice>,
                                                                    &RandomFields::give_one<WireOp>,
                                                                    &RandomFields::give_one<WireSpan>,
                                                                    &RandomFields::give_one<WireCall>,
                                                                    &RandomFields::give_one<WireGpuEvent>,
                                                                    &RandomFields::give_one<WireGraphNode>,
                                                                    &RandomFields::give_one<WireSync>,
                                                                    &RandomFields::give_one<WireOverhead>,
                                                                    &RandomFields::give_one<WireMemory>,
                                                                    &RandomFields::give_one<WireSample>,
                                                                    &RandomFields::give_one<WireCounter>,
                                                                    &RandomFields::give_one<WireWindow>,
                                                                    &RandomFields::give_one<WireLedger>,
                                                                    &RandomFields::give_one<WireRemark>,
                                                                    &RandomFields::give_one<WireEnd>,
                                                                    &RandomFields::give_one<WireMemoryLevel>};
    static_assert(std::size(kGive) == kKinds);
    (this->*kGive[random_() % kKinds])(visitor);
  }

 private:
  template <class Record>
  void give_one(WireVisitor& visitor) {
    Record record;
    walk(*this, record);
    visitor.on(record);
  }
  bool one_in(std::uint64_t n) { return random_() % n == 0; }
  template <class Number>
  Number any() {
    switch (random_() % 6) {
      case 0:
        return std::numeric_limits<Number>::max();
      case 1:
        return std::numeric_limits<Number>::min();
      case 2:
        return 0;
      default:
        return static_cast<Number>(random_() >> (random_() % 64));
    }
  }
  std::string any_text() {
    std::string text(random_() % 12, '\0');
    for (char& c : text) c = static_cast<char>(random_() % 3 == 0 ? 0 : random_());
    return text;
  }

  std::mt19937_64 random_;
  std::deque<std::string> texts_;
};

}  // namespace stepscope::wire

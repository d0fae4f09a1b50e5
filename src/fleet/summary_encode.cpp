// Writes a payload: the table of all texts, each once in the order of first use, then what SummaryLayout shows.
#include <bit>
#include <unordered_map>
#include <vector>

#include "fleet/rank_runs.h"
#include "fleet/summary_layout.h"
#include "fleet/summary_payload.h"
#include "wire/bytes.h"

namespace stepscope {
namespace {

class Writer {
 public:
  void count(std::uint64_t number) { body_.varint(number); }
  void number(std::int64_t number, std::int64_t from) { body_.varint(wire::zigzag(wire::difference(number, from))); }
  void time(TimeNs number, TimeNs from) { this->number(number, from); }
  void length(DurationNs number, DurationNs from) { this->number(number, from); }
  void index(std::uint64_t number, std::size_t) { body_.varint(number); }
  void rise(std::uint32_t number, std::uint32_t from, std::size_t) { body_.varint(number - from); }
  void beyond(std::int64_t number, std::int64_t from, std::uint64_t) {
    body_.varint(static_cast<std::uint64_t>(wire::difference(number, from)));
  }
  void fall(std::uint32_t number, std::uint32_t from) { body_.varint(from - number); }
  void flag(bool is_set) { body_.varint(is_set ? 1 : 0); }
  void real(double number) { body_.fixed64(std::bit_cast<std::uint64_t>(number)); }

  void text(const std::string& text) {
    const auto [at, is_new] = numbers_.try_emplace(text, static_cast<std::uint32_t>(numbers_.size()));
    if (is_new) {
      table_.varint(text.size());
      table_.raw(text);
    }
    body_.varint(at->second);
  }

  template <class T>
  bool has(const std::optional<T>& maybe) {
    flag(maybe.has_value());
    return maybe.has_value();
  }
  void maybe(const std::optional<std::int64_t>& number) { body_.maybe(number.has_value(), number.value_or(0)); }
  void maybe(const std::optional<double>& number) {
    if (has(number)) real(*number);
  }
  void maybe(const std::optional<std::string>& text) {
    if (has(text)) this->text(*text);
  }

  template <class List>
  void size(const List& list, std::size_t) {
    body_.varint(list.size());
  }
  template <class List>
  void fixed_size(const List&, std::size_t) {}

  void kernel_class(KernelClass kernel_class) { text(std::string(kernel_class_name(kernel_class))); }
  template <class Enum, std::size_t N>
  void word(Enum value, const std::array<std::string_view, N>& words) {
    text(std::string(words[static_cast<std::size_t>(value)]));
  }

  void ranks(const std::vector<std::int64_t>& ranks) {
    const std::vector<RankRun> runs = make_rank_runs(ranks);
    body_.varint(runs.size());
    std::int64_t before = 0;
    for (const RankRun& run : runs) {
      number(run.first, before);
      before = run.first;
      body_.varint(static_cast<std::uint64_t>(run.stride));
      body_.varint(static_cast<std::uint64_t>(run.count));
    }
  }

  // Only causes that took any time.
  void idle(const std::vector<SummaryStep>& steps) {
    std::vector<std::size_t> causes;
    for (std::size_t cause = 0; cause < kHostLabelCount; ++cause) {
      for (const SummaryStep& step : steps) {
        if (step.idle_ns[cause] == 0) continue;
        causes.push_back(cause);
        break;
      }
    }
    body_.varint(causes.size());
    for (const std::size_t cause : causes) {
      text(std::string(host_label_name(static_cast<HostLabel>(cause))));
      DurationNs before = 0;
      for (const SummaryStep& step : steps) {
        length(step.idle_ns[cause], before);
        before = step.idle_ns[cause];
      }
    }
  }

  std::string finish() && {
    wire::ByteWriter whole;
    whole.varint(numbers_.size());
    whole.raw(table_.bytes());
    whole.raw(body_.bytes());
    return std::move(whole.bytes());
  }

 private:
  wire::ByteWriter body_, table_;
  std::unordered_map<std::string, std::uint32_t> numbers_;
};

}  // namespace

std::string encode_rank(const RankSummary& rank) {
  Writer writer;
  SummaryLayout<Writer>(writer, kSummaryVersion).rank(rank);
  return std::move(writer).finish();
}

std::string encode_unreadable(const UnreadableRank& file) {
  Writer writer;
  SummaryLayout<Writer>(writer, kSummaryVersion).unreadable(file);
  return std::move(writer).finish();
}

}  // namespace stepscope

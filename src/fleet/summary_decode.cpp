// Reads a payload of which nothing is believed: every count is bounded, every index in its list, every time within what
// sums can bear, and memory is taken from a budget before it is taken from the system.
//
// The first thing that is wrong ends it: from then on all reads give nothing, so no loop runs on, and the words of the
// first failure are kept.
#include <bit>
#include <limits>
#include <string>
#include <vector>

#include "fleet/rank_runs.h"
#include "fleet/summary_layout.h"
#include "fleet/summary_payload.h"
#include "wire/bytes.h"

namespace stepscope {
namespace {

class Reader {
 public:
  Reader(std::string_view payload, DecodeBudget& budget) : whole_(payload.size()), bytes_(payload), budget_(budget) {
    read_texts();
  }

  [[nodiscard]] bool is_failed() const { return !error_.empty(); }
  // After the last field.
  [[nodiscard]] Status finish() {
    if (!is_failed() && bytes_.left() > 0) fail("bytes behind the end");
    if (is_failed()) return Error{ErrorCode::kDamaged, error_, {}};
    return Done{};
  }

  void count(std::uint64_t& number) { number = varint(); }
  void number(std::int64_t& number, std::int64_t from) {
    number = is_failed() ? 0 : wire::sum(from, wire::from_zigzag(varint()));
  }
  void time(TimeNs& number, TimeNs from) { bounded(number, from, kMostTimeNs); }
  void length(DurationNs& number, DurationNs from) { bounded(number, from, kMostLengthNs); }
  void index(std::uint32_t& number, std::size_t limit) {
    const std::uint64_t read = varint();
    if (read >= limit) fail("a number of a row that does not exist");
    number = is_failed() ? 0 : static_cast<std::uint32_t>(read);
  }
  void rise(std::uint32_t& number, std::uint32_t from, std::size_t limit) {
    const std::uint64_t read = varint();
    if (read >= limit || from + read >= limit) fail("an edge to a point that does not exist");
    number = is_failed() ? 0 : static_cast<std::uint32_t>(from + read);
  }
  void beyond(std::int64_t& number, std::int64_t from, std::uint64_t least) {
    const std::uint64_t read = varint();
    const auto room =
        static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()) - static_cast<std::uint64_t>(from);
    if (read < least || read > room) fail("numbers of steps that do not rise");
    number = is_failed() ? 0 : static_cast<std::int64_t>(static_cast<std::uint64_t>(from) + read);
  }
  void fall(std::uint32_t& number, std::uint32_t from) {
    const std::uint64_t read = varint();
    if (read == 0 || read > from) fail("an edge from a point that does not come before");
    number = is_failed() ? 0 : static_cast<std::uint32_t>(from - read);
  }
  void flag(bool& is_set) {
    const std::uint64_t read = varint();
    if (read > 1) fail("a flag that is neither 0 nor 1");
    is_set = read == 1;
  }
  void real(double& number) {
    if (bytes_.left() < sizeof number) fail("a number that is cut");
    number = is_failed() ? 0 : std::bit_cast<double>(bytes_.fixed64());
  }
  void text(std::string& text) {
    text.clear();
    const std::string_view found = text_view();
    if (take_memory(found.size())) text = found;
  }

  template <class T>
  bool has(std::optional<T>& maybe) {
    bool is_there = false;
    flag(is_there);
    if (is_there) maybe.emplace();
    return is_there;
  }
  void maybe(std::optional<std::int64_t>& number) {
    std::int64_t read = 0;
    if (is_failed() || !has_more()) return;
    if (bytes_.maybe(read)) number = read;
    if (bytes_.failed()) fail("a number that is cut or too long");
  }
  void maybe(std::optional<double>& number) {
    if (has(number)) real(*number);
  }
  void maybe(std::optional<std::string>& text) {
    if (has(text)) this->text(*text);
  }

  // Each row of a list has a byte at least, so a list is never longer than what is left.
  template <class List>
  void size(List& list, std::size_t most) {
    const std::uint64_t read = varint();
    if (read > most || read > bytes_.left()) return fail("a list that is too long");
    fixed_size(list, static_cast<std::size_t>(read));
  }
  template <class List>
  void fixed_size(List& list, std::size_t size) {
    if (is_failed() || !take_memory(size * sizeof(typename List::value_type))) return;
    list.resize(size);
  }

  void kernel_class(KernelClass& kernel_class) {
    const std::string_view word = text_view();
    for (std::size_t i = 0; i < kKernelClassCount; ++i) {
      kernel_class = static_cast<KernelClass>(i);
      if (kernel_class_name(kernel_class) == word) return;
    }
    fail_on_word(word);
  }
  template <class Enum, std::size_t N>
  void word(Enum& value, const std::array<std::string_view, N>& words) {
    const std::string_view word = text_view();
    for (std::size_t i = 0; i < N; ++i) {
      value = static_cast<Enum>(i);
      if (words[i] == word) return;
    }
    fail_on_word(word);
  }

  void ranks(std::vector<std::int64_t>& ranks) {
    const std::uint64_t runs = varint();
    if (runs > kMostRankRuns) return fail("a group of too many ranks");
    std::int64_t before = 0;
    for (std::uint64_t i = 0; i < runs && !is_failed(); ++i) {
      RankRun run;
      bounded(run.first, before, kMostRank);
      const std::uint64_t stride = varint(), count = varint();
      if (stride == 0 || stride > kMostRank || count == 0 || count > kMostGroupRanks - ranks.size()) {
        return fail("a group of too many ranks");
      }
      if (!ranks.empty() && run.first <= ranks.back()) return fail("ranks that are not ascending");
      if (!take_memory(count * sizeof(std::int64_t))) return;
      for (std::uint64_t k = 0; k < count; ++k) ranks.push_back(run.first + static_cast<std::int64_t>(k * stride));
      before = run.first;
    }
  }

  void idle(std::vector<SummaryStep>& steps) {
    const std::uint64_t causes = varint();
    if (causes > kHostLabelCount) return fail("more causes of idle time than there are");
    for (std::uint64_t i = 0; i < causes && !is_failed(); ++i) {
      const std::size_t cause = find_cause(text_view());
      DurationNs before = 0;
      for (SummaryStep& step : steps) {
        length(step.idle_ns[cause], before);
        before = step.idle_ns[cause];
      }
    }
  }

 private:
  void read_texts() {
    const std::uint64_t count = varint();
    // A text takes a byte at least.
    if (count > bytes_.left()) return fail("more texts than bytes");
    if (!take_memory(count * sizeof(std::string_view))) return;
    texts_.reserve(count);
    for (std::uint64_t i = 0; i < count && !is_failed(); ++i) {
      const std::uint64_t size = varint();
      if (size > kMostSummaryTextBytes) return fail("a text that is too long");
      if (size > bytes_.left()) return fail("a text that is cut");
      texts_.push_back(bytes_.raw(size));
    }
  }

  static constexpr std::int64_t kMostRank = std::int64_t{1} << 31;

  void fail(std::string_view what) {
    if (is_failed()) return;
    error_ = std::string(what) + ", at byte " + std::to_string(whole_ - bytes_.left()) + " of its payload";
    bytes_.fail();
  }
  void fail_on_word(std::string_view word) {
    fail("the word `" + std::string(word) + "`, which this version does not know");
  }
  bool has_more() {
    if (bytes_.left() > 0) return true;
    fail("it ends too soon");
    return false;
  }
  std::uint64_t varint() {
    if (is_failed() || !has_more()) return 0;
    const std::uint64_t read = bytes_.varint();
    if (bytes_.failed()) fail("a number that is cut or too long");
    return is_failed() ? 0 : read;
  }
  void bounded(std::int64_t& number, std::int64_t from, std::int64_t most) {
    this->number(number, from);
    if (number > most || number < -most) fail("a time or number that cannot be");
    if (is_failed()) number = 0;
  }
  std::string_view text_view() {
    const std::uint64_t at = varint();
    if (at >= texts_.size()) fail("a text that does not exist");
    return is_failed() ? std::string_view() : texts_[at];
  }
  bool take_memory(std::uint64_t bytes) {
    if (bytes > budget_.left_bytes) {
      fail("it unpacks to more than a summary can hold");
      return false;
    }
    budget_.left_bytes -= bytes;
    return true;
  }
  std::size_t find_cause(std::string_view word) {
    for (std::size_t i = 0; i < kHostLabelCount; ++i) {
      if (host_label_name(static_cast<HostLabel>(i)) == word) return i;
    }
    fail_on_word(word);
    return 0;
  }

  std::size_t whole_;
  wire::ByteReader bytes_;
  DecodeBudget& budget_;
  std::vector<std::string_view> texts_;
  std::string error_;
};

}  // namespace

Result<RankSummary> decode_rank(std::string_view payload, DecodeBudget& budget, std::uint32_t version) {
  Reader reader(payload, budget);
  RankSummary rank;
  SummaryLayout<Reader>(reader, version).rank(rank);
  const Status status = reader.finish();
  if (!status) return status.error();
  return rank;
}

Result<UnreadableRank> decode_unreadable(std::string_view payload, DecodeBudget& budget, std::uint32_t version) {
  Reader reader(payload, budget);
  UnreadableRank file;
  SummaryLayout<Reader>(reader, version).unreadable(file);
  const Status status = reader.finish();
  if (!status) return status.error();
  return file;
}

}  // namespace stepscope

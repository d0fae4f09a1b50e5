// PYTORCH_CUDA_ALLOC_CONF: "key:value,key:[a:1,b:2]", as torch reads it.
//
// Stricter than torch in one thing: what torch would skip or cut ("128abc" is 128 there) is an error here, because a
// what-if of a setting that was not meant is a wrong answer. Limits of values are torch's, so that a text accepted here
// is one that a run accepts.
#include <bit>
#include <charconv>
#include <cmath>
#include <vector>

#include "memory/allocator_rules.h"

namespace stepscope {
namespace {

struct Token {
  std::string_view text;
  std::size_t place = 0;  // of its first character, from 1
};

bool is_mark(char c) { return c == ',' || c == ':' || c == '[' || c == ']'; }
bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

std::vector<Token> split_tokens(std::string_view text) {
  std::vector<Token> tokens;
  for (std::size_t at = 0; at < text.size();) {
    if (is_blank(text[at])) {
      ++at;
      continue;
    }
    std::size_t end = at + 1;
    if (!is_mark(text[at])) {
      while (end < text.size() && !is_mark(text[end]) && !is_blank(text[end])) ++end;
    }
    tokens.push_back({text.substr(at, end - at), at + 1});
    at = end;
  }
  return tokens;
}

std::string quoted(std::string_view text) {
  constexpr std::size_t kMostShown = 60;
  return '"' + std::string(text.substr(0, kMostShown)) + (text.size() > kMostShown ? "...\"" : "\"");
}

template <class Number>
std::optional<Number> read_number(std::string_view text) {
  Number number{};
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure != std::errc() || end != text.data() + text.size()) return {};
  return number;
}

bool is_power_of_two(std::int64_t number) {
  return number > 0 && std::has_single_bit(static_cast<std::uint64_t>(number));
}

class ConfigReader {
 public:
  explicit ConfigReader(std::string_view text) : tokens_(split_tokens(text)), end_place_(text.size() + 1) {}

  Result<AllocatorConfig> read() {
    while (at_ < tokens_.size()) {
      if (const Status pair = read_pair(); !pair) return pair.error();
      if (at_ == tokens_.size()) break;
      if (peek() != ",") return wrong("a comma", "between two settings");
      ++at_;
    }
    if (const Status sizes = apply_sizes(); !sizes) return sizes.error();
    return config_;
  }

 private:
  [[nodiscard]] std::string_view peek() const { return at_ < tokens_.size() ? tokens_[at_].text : std::string_view(); }
  [[nodiscard]] std::size_t place() const { return at_ < tokens_.size() ? tokens_[at_].place : end_place_; }

  [[nodiscard]] static Error invalid(std::string message) {
    return {ErrorCode::kInvalidArgument, std::move(message), {}, {}};
  }

  // "KEY wants WHAT, not "FOUND" (at character N)"; `where` follows `what` for those without a key.
  [[nodiscard]] Error wrong(std::string_view what, std::string_view where = {}) const {
    std::string message = key_.empty() || !where.empty() ? "allocator settings want" : std::string(key_) + " wants";
    message += ' ' + std::string(what);
    if (!where.empty()) message += ' ' + std::string(where);
    message += at_ < tokens_.size() ? ", not " + quoted(peek()) : ", and the text ends";
    return invalid(message + " (at character " + std::to_string(place()) + ")");
  }

  Status read_pair() {
    key_ = {};
    if (at_ < tokens_.size() && is_mark(peek().front())) return wrong("a key");
    key_ = peek();
    key_place_ = place();
    ++at_;
    if (key_ == "no_caching") return read_no_caching();
    if (peek() != ":") return wrong("a colon and a value");
    ++at_;
    return read_value();
  }

  Status read_no_caching() {
    if (tokens_.size() != 1) {
      return invalid("no_caching stands alone: without the cache no other setting acts (at character " +
                     std::to_string(key_place_) + ")");
    }
    config_.caching = false;
    return Done{};
  }

  Status read_value() {
    if (key_ == "expandable_segments") return read_flag(config_.expandable_segments);
    if (key_ == "max_split_size_mb") return read_megabytes(max_split_mb_);
    if (key_ == "max_non_split_rounding_mb") return read_megabytes(max_non_split_mb_);
    if (key_ == "large_segment_size_mb") return read_megabytes(large_segment_mb_);
    if (key_ == "garbage_collection_threshold") return read_threshold();
    if (key_ == "roundup_power2_divisions") return read_divisions();
    if (key_ == "backend") return read_backend();
    if (key_ == "per_process_memory_fraction") return read_fraction();
    return skip_other();
  }

  Status read_flag(bool& flag) {
    if (peek() != "True" && peek() != "False") return wrong("True or False");
    flag = peek() == "True";
    ++at_;
    return Done{};
  }

  struct Megabytes {
    std::optional<std::int64_t> count;
    std::size_t place = 0;
  };

  Status read_megabytes(Megabytes& into) {
    constexpr std::int64_t kMost = kMostBytes / kMiB;
    const auto number = read_number<std::int64_t>(peek());
    if (!number || *number < 0) return wrong("a whole number of megabytes");
    into = {std::min(*number, kMost), place()};
    ++at_;
    return Done{};
  }

  Status read_threshold() {
    const auto number = read_number<double>(peek());
    if (!number || !(*number > 0 && *number < 1)) return wrong("a part of 1, over 0.0 and under 1.0");
    config_.garbage_collection_threshold = *number;
    ++at_;
    return Done{};
  }

  Status read_backend() {
    if (peek() == "cudaMallocAsync" || peek() == "hipMallocAsync") {
      return Error{ErrorCode::kUnsupported,
                   "backend:" + std::string(peek()) +
                       " cannot be simulated: there the driver holds the memory, by rules that are not known (at "
                       "character " +
                       std::to_string(place()) + ")",
                   {},
                   {}};
    }
    if (peek() != "native") return wrong("native");
    ++at_;
    return Done{};
  }

  Status read_fraction() {
    const auto number = read_number<double>(peek());
    if (!number || !(*number >= 0 && *number <= 1)) return wrong("a part of 1, from 0.0 to 1.0");
    if (*number < 1) {
      return Error{ErrorCode::kUnsupported,
                   "per_process_memory_fraction is a part of the device, whose size no snapshot has: give the bytes as "
                   "the capacity instead (at character " +
                       std::to_string(place()) + ")",
                   {},
                   {}};
    }
    ++at_;
    return Done{};
  }

  Status read_divisions() {
    if (peek() == "[") return read_division_list();
    const auto number = read_number<std::int64_t>(peek());
    if (!number || !is_power_of_two(*number)) return wrong("a power of two, or a list like [256:1,512:2,>:8]");
    config_.roundup_power2_divisions.fill(*number);
    ++at_;
    return Done{};
  }

  // Each pair sets the sizes from its number of megabytes to twice that; the first also all below, > all above.
  Status read_division_list() {
    auto& divisions = config_.roundup_power2_divisions;
    divisions.fill(0);
    std::optional<std::size_t> last;
    ++at_;
    while (peek() != "]") {
      const std::string_view boundary = peek();
      const auto megabytes = read_number<std::int64_t>(boundary);
      if (boundary != ">" && (!megabytes || !is_power_of_two(*megabytes))) {
        return wrong("a power of two of megabytes, or >, in its list");
      }
      ++at_;
      if (peek() != ":") return wrong("a colon and a number of divisions in its list");
      ++at_;
      const auto count = read_number<std::int64_t>(peek());
      if (!count || (*count != 0 && !is_power_of_two(*count))) return wrong("0 or a power of two of divisions");
      ++at_;
      if (boundary == ">") {
        for (std::size_t i = last ? *last + 1 : 1; i < divisions.size(); ++i) divisions[i] = *count;
      } else {
        const auto power = static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(*megabytes)) - 1);
        const std::size_t index = std::min(power, divisions.size() - 1);
        if (!last) std::fill_n(divisions.begin(), index, *count);
        divisions[index] = *count;
        last = index;
      }
      if (peek() == ",") {
        ++at_;
      } else if (peek() != "]") {
        return wrong("a comma or ] in its list");
      }
    }
    ++at_;
    return Done{};
  }

  // Keys that change when memory is asked for, pinned memory of the host, or address space: not what is reserved.
  Status skip_other() {
    static constexpr std::string_view kKnown[] = {
        "release_lock_on_cudamalloc", "release_lock_on_hipmalloc",   "graph_capture_record_stream_reuse",
        "throw_on_cudamalloc_oom",    "expandable_segments_reserve", "expandable_segments_reserve_by_class"};
    bool is_known = key_.starts_with("pinned_");
    for (const std::string_view known : kKnown) is_known = is_known || key_ == known;
    if (!is_known) {
      return invalid("no allocator setting is named " + quoted(key_) + " (at character " + std::to_string(key_place_) +
                     "); those that change what is reserved: expandable_segments, max_split_size_mb, "
                     "max_non_split_rounding_mb, large_segment_size_mb, roundup_power2_divisions, "
                     "garbage_collection_threshold, and no_caching alone");
    }
    if (peek() == "[") {
      while (at_ < tokens_.size() && peek() != "]") ++at_;
      if (at_ == tokens_.size()) return wrong("] at the end of its list");
    } else if (peek().empty() || is_mark(peek().front())) {
      return wrong("a value");
    }
    ++at_;
    return Done{};
  }

  // The large segment's size first, wherever it stands: the limits of two others follow from it.
  Status apply_sizes() {
    if (const auto large = large_segment_mb_.count) {
      if (*large * kMiB <= kOwnSegmentBytes)
        return too_small("large_segment_size_mb", "more than 10", large_segment_mb_);
      config_.large_segment_bytes = *large * kMiB;
    }
    const std::int64_t least = config_.large_segment_bytes / kMiB;
    const std::string wanted = "at least " + std::to_string(least) + " (the size of a large segment)";
    config_.max_non_split_rounding_bytes = config_.large_segment_bytes;
    if (const auto rounding = max_non_split_mb_.count) {
      if (*rounding < least) return too_small("max_non_split_rounding_mb", wanted, max_non_split_mb_);
      config_.max_non_split_rounding_bytes = *rounding * kMiB;
    }
    if (const auto split = max_split_mb_.count) {
      if (*split < least) return too_small("max_split_size_mb", wanted, max_split_mb_);
      config_.max_split_size_bytes = *split * kMiB;
    }
    return Done{};
  }

  [[nodiscard]] static Error too_small(std::string_view key, std::string_view wanted, const Megabytes& found) {
    return invalid(std::string(key) + " wants " + std::string(wanted) + ", not " +
                   std::to_string(found.count.value_or(0)) + " (at character " + std::to_string(found.place) + ")");
  }

  std::vector<Token> tokens_;
  std::size_t end_place_;
  std::size_t at_ = 0;
  std::string_view key_;
  std::size_t key_place_ = 0;
  Megabytes max_split_mb_, max_non_split_mb_, large_segment_mb_;
  AllocatorConfig config_;
};

}  // namespace

Result<AllocatorConfig> parse_allocator_config(std::string_view conf) {
  for (const std::string_view name : {"PYTORCH_CUDA_ALLOC_CONF=", "PYTORCH_ALLOC_CONF=", "PYTORCH_HIP_ALLOC_CONF="}) {
    if (conf.starts_with(name)) conf.remove_prefix(name.size());
  }
  if (conf == "default") return AllocatorConfig{};
  return ConfigReader(conf).read();
}

}  // namespace stepscope

// One visitor over the declared columns serves all tables, so a new column of the model needs no line here.
#include "export/arrow_trace.h"

#include <array>
#include <limits>
#include <unordered_map>

#include "export/json_text.h"

namespace stepscope {
namespace {

static_assert(sizeof(StringId) == sizeof(std::uint32_t));

std::shared_ptr<const ArrowColumn> words(const std::vector<std::string_view>& texts) {
  return std::make_shared<const ArrowColumn>(own_text("", "", texts));
}

// Word by value, in the order of each enum.
std::shared_ptr<const ArrowColumn> words_of(GpuEventKind) { return words({"kernel", "copy", "set"}); }
std::shared_ptr<const ArrowColumn> words_of(TimeFault) { return words({"none", "bad_duration", "duplicate"}); }
std::shared_ptr<const ArrowColumn> words_of(ApiKind) {
  return words({"launch", "graph_launch", "copy", "set", "stream_sync", "event_sync", "device_sync", "allocate", "free",
                "event_record", "stream_wait", "module_load", "other"});
}
std::shared_ptr<const ArrowColumn> words_of(char) {
  // A letter as itself; a byte that is none as 0xNN, so that each word is there once, as categories must be.
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::array<std::string, 256> names;
  for (std::size_t i = 0; i < names.size(); ++i) {
    names[i] =
        i < 0x80 ? std::string(1, static_cast<char>(i)) : std::string{'0', 'x', kDigits[i >> 4], kDigits[i & 15]};
  }
  return words({names.begin(), names.end()});
}

// The same bytes under another integer type of their size.
template <class To, class From>
std::span<const To> see_as(const std::vector<From>& values) {
  static_assert(sizeof(To) == sizeof(From));
  return {reinterpret_cast<const To*>(values.data()), values.size()};  // NOLINT: an integer in a struct of its own
}

struct Columns {
  const ArrowTrace& trace;
  ArrowOwner owner;
  ArrowTable table;

  template <class Id_, class Tag>
  void operator()(std::string_view name, std::string_view doc, const Column<Id_, Id<Tag>>& column) {
    add(view_numbers_or_null<std::uint32_t>(std::string(name), std::string(doc), see_as<std::uint32_t>(column.raw()),
                                            std::numeric_limits<std::uint32_t>::max(), owner));
  }
  template <class Id_>
  void operator()(std::string_view name, std::string_view doc, const Column<Id_, StringId>& column) {
    const ArrowTrace::Strings& strings = trace.strings();
    const std::span<const std::uint32_t> ids = see_as<std::uint32_t>(column.raw());
    if (strings.word_of.empty()) {
      add(view_words<std::uint32_t>(std::string(name), std::string(doc), ids, strings.words, owner));
      return;
    }
    auto indexes = std::make_shared<std::vector<std::uint32_t>>();
    indexes->reserve(ids.size());
    for (const std::uint32_t id : ids) indexes->push_back(strings.word_of[id]);
    const std::span<const std::uint32_t> view(*indexes);
    add(view_words<std::uint32_t>(std::string(name), std::string(doc), view, strings.words, std::move(indexes)));
  }
  template <class Id_>
  void operator()(std::string_view name, std::string_view doc, const Column<Id_, MaybeInt>& column) {
    add(view_maybe(std::string(name), std::string(doc), column.raw(), owner));
  }
  template <class Id_, class T>
  void operator()(std::string_view name, std::string_view doc, const Column<Id_, T>& column) {
    if constexpr (std::is_enum_v<T> || std::is_same_v<T, char>) {
      add(view_words<std::uint8_t>(std::string(name), std::string(doc), see_as<std::uint8_t>(column.raw()),
                                   words_of(T{}), owner));
    } else {
      add(view_numbers<T>(std::string(name), std::string(doc), std::span<const T>(column.raw()), owner));
    }
  }
  void add(ArrowColumn column) { table.columns.push_back(std::move(column)); }
};

// visit(name, table) for each table of the trace.
template <class Visit>
void for_each_table(const Trace& trace, Visit&& visit) {
  visit("ops", trace.ops);
  visit("spans", trace.spans);
  visit("frames", trace.frames);
  visit("calls", trace.calls);
  visit("gpu_events", trace.gpu_events);
  visit("gpu_spans", trace.gpu_spans);
  visit("collectives", trace.collectives);
  visit("memory_events", trace.memory_events);
  visit("flows", trace.flows);
  visit("counters", trace.counters);
  visit("other_events", trace.other_events);
  visit("processes", trace.processes);
  visit("threads", trace.threads);
  visit("devices", trace.devices);
  visit("streams", trace.streams);
}

// Strings that become the word of another once their broken UTF-8 is repaired: id -> id of that other, which is none of
// these. Nearly always empty.
std::unordered_map<std::uint32_t, std::uint32_t> find_same_words(const StringPool& pool) {
  std::unordered_map<std::uint32_t, std::uint32_t> same;
  std::unordered_map<std::string, std::uint32_t> repaired;
  std::string valid;
  for (std::uint32_t i = 0; i < pool.size(); ++i) {
    const std::string_view text = pool.view(StringId{i});
    valid.clear();
    append_valid_utf8(text, valid);
    if (valid == text) continue;
    const StringId whole = pool.find(valid);
    const auto [at, is_new] = repaired.try_emplace(valid, whole.empty() ? i : whole.value);
    if (at->second != i) same.emplace(i, at->second);
  }
  return same;
}

}  // namespace

std::vector<std::string_view> ArrowTrace::names() {
  std::vector<std::string_view> all;
  for_each_table(Trace{}, [&](std::string_view name, const auto&) { all.push_back(name); });
  return all;
}

Result<std::shared_ptr<const ArrowTable>> ArrowTrace::table(std::string_view name) const {
  std::shared_ptr<const ArrowTable> found;
  for_each_table(*trace_, [&](std::string_view each, const auto& table) {
    if (each != name) return;
    Columns columns{*this, trace_, {}};
    table.for_each_column(columns);
    found = std::make_shared<const ArrowTable>(std::move(columns.table));
  });
  if (found != nullptr) return found;
  std::string message = "no table '";
  message.append(name).append("'; there are");
  for (const std::string_view each : names()) message.append(" ").append(each);
  return Error{ErrorCode::kNotFound, message, ""};
}

const ArrowTrace::Strings& ArrowTrace::strings() const {
  std::call_once(strings_made_, [this] {
    const StringPool& pool = trace_->strings;
    const std::unordered_map<std::uint32_t, std::uint32_t> same = find_same_words(pool);
    std::vector<std::string_view> words;
    words.reserve(pool.size());
    for (std::uint32_t i = 0; i < pool.size(); ++i) {
      if (!same.empty()) strings_.word_of.push_back(static_cast<std::uint32_t>(words.size()));
      if (!same.contains(i)) words.push_back(pool.view(StringId{i}));
    }
    for (const auto& [id, whole] : same) strings_.word_of[id] = strings_.word_of[whole];
    strings_.words = std::make_shared<const ArrowColumn>(own_text("", "", words));
  });
  return strings_;
}

}  // namespace stepscope

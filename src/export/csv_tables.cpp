// A cell is written by its type; numbers that stand for words are written as words.
#include "export/csv_tables.h"

#include <array>
#include <charconv>
#include <cmath>
#include <string>
#include <type_traits>
#include <utility>

#include "export/json_text.h"
#include "export/text_buffer.h"

namespace stepscope {
namespace {

class CsvWriter {
 public:
  CsvWriter(const Trace& trace, TextBuffer& out) : trace_(trace), out_(out) {}

  template <class Rows>
  void write(const Rows& rows) {
    out_.put("row");
    rows.for_each_column([&](std::string_view name, std::string_view, const auto&) {
      out_.put(',');
      out_.put(name);
    });
    out_.put('\n');
    const std::size_t count = rows.size();
    for (std::size_t row = 0; row < count && !out_.failed(); ++row) {
      out_.put_integer(static_cast<std::int64_t>(row));
      rows.for_each_column([&](std::string_view, std::string_view, const auto& column) {
        out_.put(',');
        put(column.raw()[row]);
      });
      out_.put('\n');
    }
  }

 private:
  void put(MaybeInt number) {
    if (number.has_value()) out_.put_integer(number.value());
  }
  template <class Tag>
  void put(Id<Tag> id) {
    if (id.has_value()) out_.put_integer(id.value);
  }
  void put(double number) {
    if (!std::isfinite(number)) return;
    std::array<char, 32> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number);
    out_.put(std::string_view(digits.data(), static_cast<std::size_t>(end.ptr - digits.data())));
  }
  void put(std::uint64_t number) {
    std::array<char, 24> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number);
    out_.put(std::string_view(digits.data(), static_cast<std::size_t>(end.ptr - digits.data())));
  }
  void put(char letter) { put_field(std::string_view(&letter, 1)); }
  void put(StringId text) { put_field(trace_.text(text)); }
  void put(GpuEventKind kind) {
    static constexpr std::array<std::string_view, 3> kWords = {"kernel", "copy", "set"};
    out_.put(kWords[static_cast<std::size_t>(kind)]);
  }
  void put(TimeFault fault) {
    static constexpr std::array<std::string_view, 3> kWords = {"", "bad duration", "duplicate"};
    out_.put(kWords[static_cast<std::size_t>(fault)]);
  }
  void put(ApiKind kind) {
    static constexpr std::array<std::string_view, 13> kWords = {
        "launch",   "graph launch", "copy",         "set",         "stream sync", "event sync", "device sync",
        "allocate", "free",         "event record", "stream wait", "module load", "other"};
    out_.put(kWords[static_cast<std::size_t>(kind)]);
  }
  template <class T>
  void put(T number)
    requires(std::is_integral_v<T>)
  {
    out_.put_integer(number);
  }

  void put_field(std::string_view text) {
    if (text.find_first_of(",\"\r\n") == std::string_view::npos && is_plain_json_text(text)) return out_.put(text);
    field_.clear();
    append_valid_utf8(text, field_);
    out_.put('"');
    for (std::string_view rest = field_; !rest.empty();) {
      const std::size_t end = std::min(rest.find('"'), rest.size());
      // No reader keeps a NUL: Python's csv module of old refuses it.
      for (std::string_view piece = rest.substr(0, end); !piece.empty();) {
        const std::size_t nul = std::min(piece.find('\0'), piece.size());
        out_.put(piece.substr(0, nul));
        if (nul < piece.size()) out_.put("\xef\xbf\xbd");
        piece.remove_prefix(std::min(nul + 1, piece.size()));
      }
      if (end < rest.size()) out_.put("\"\"");
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    out_.put('"');
  }

  const Trace& trace_;
  TextBuffer& out_;
  std::string field_;
};

// visit(name, table) for each.
template <class Visit>
void for_each_table(const Trace& trace, Visit visit) {
  visit("processes", trace.processes);
  visit("threads", trace.threads);
  visit("devices", trace.devices);
  visit("streams", trace.streams);
  visit("ops", trace.ops);
  visit("spans", trace.spans);
  visit("frames", trace.frames);
  visit("calls", trace.calls);
  visit("gpu_events", trace.gpu_events);
  visit("collectives", trace.collectives);
  visit("gpu_spans", trace.gpu_spans);
  visit("memory_events", trace.memory_events);
  visit("flows", trace.flows);
  visit("counters", trace.counters);
  visit("other_events", trace.other_events);
}

}  // namespace

std::vector<std::string_view> csv_table_names() {
  std::vector<std::string_view> names;
  for_each_table(Trace(), [&](std::string_view name, const auto&) { names.push_back(name); });
  return names;
}

Status write_csv_table(const Trace& trace, std::string_view table, const TextSink& sink) {
  TextBuffer out(sink);
  bool is_known = false;
  for_each_table(trace, [&](std::string_view name, const auto& rows) {
    if (name != table) return;
    is_known = true;
    CsvWriter(trace, out).write(rows);
  });
  if (!is_known) return Error{ErrorCode::kNotFound, "no table is called " + std::string(table), ""};
  return out.finish();
}

}  // namespace stepscope

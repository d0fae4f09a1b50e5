// Reads drawn traces: `where` lines first, then rows, so that a drawn name already has its attributes.
#include "support/trace_from_text.h"

#include <gtest/gtest.h>

#include <charconv>
#include <map>
#include <string>
#include <vector>

#include "base/interval.h"
#include "trace/builder.h"

namespace stepscope {
namespace {

constexpr std::size_t kLabelColumns = 10;

struct Attributes {
  std::string name;
  std::map<std::string, std::string, std::less<>> values;
  std::optional<Interval> exact;
};

struct Drawn {
  std::string label, name;
  Interval at;
  Attributes attributes;
};

std::vector<std::string> split_lines(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::string trim(std::string_view text, std::string_view fill) {
  const std::size_t begin = text.find_first_not_of(fill);
  if (begin == std::string_view::npos) return "";
  return std::string(text.substr(begin, text.find_last_not_of(fill) - begin + 1));
}

std::optional<std::int64_t> to_number(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

bool is_attribute(std::string_view word) {
  for (std::string_view each : {"corr", "ext", "seq", "fwd", "bytes", "shapes", "types", "concrete"}) {
    if (word == each) return true;
  }
  return false;
}

// "aten::mm ext 1 @ 100..250": words up to the first attribute are the name.
Attributes parse_attributes(std::string_view text) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    if (end > at) words.emplace_back(text.substr(at, end - at));
    at = end + 1;
  }
  Attributes found;
  std::size_t i = 0;
  for (; i < words.size() && !is_attribute(words[i]) && words[i] != "@"; ++i) {
    found.name += (found.name.empty() ? "" : " ") + words[i];
  }
  for (; i + 1 < words.size(); i += 2) {
    if (words[i] != "@") {
      found.values[words[i]] = words[i + 1];
      continue;
    }
    const std::size_t dots = words[i + 1].find("..");
    const auto begin = to_number(std::string_view(words[i + 1]).substr(0, dots));
    const auto end =
        dots == std::string::npos ? std::nullopt : to_number(std::string_view(words[i + 1]).substr(dots + 2));
    if (!begin || !end) ADD_FAILURE() << "exact times are written `@ 100..250`, not `" << words[i + 1] << "`";
    found.exact = Interval{begin.value_or(0), end.value_or(0)};
  }
  if (i < words.size()) ADD_FAILURE() << "an attribute without a value: " << text;
  return found;
}

std::vector<Drawn> parse_row(std::string_view line, const std::map<std::string, Attributes>& where,
                             const PictureOptions& options) {
  std::vector<Drawn> events;
  const std::string label = trim(line.substr(0, std::min(kLabelColumns, line.size())), " ");
  const std::string_view picture = line.size() > kLabelColumns ? line.substr(kLabelColumns) : std::string_view();
  if (label.find('[') != std::string::npos) ADD_FAILURE() << "a picture begins 10 columns after its label: " << line;
  for (std::size_t open = picture.find('['); open != std::string_view::npos; open = picture.find('[', open + 1)) {
    const std::size_t close = picture.find(']', open);
    if (close == std::string_view::npos) {
      ADD_FAILURE() << "`[` without `]` in row " << label;
      break;
    }
    Drawn event;
    event.label = label;
    const std::string shown = trim(picture.substr(open + 1, close - open - 1), " =-");
    event.at = {static_cast<TimeNs>(open) * options.ns_per_column,
                static_cast<TimeNs>(close + 1) * options.ns_per_column};
    if (auto at = where.find(shown); at != where.end()) event.attributes = at->second;
    event.name = event.attributes.name.empty() ? shown : event.attributes.name;
    if (event.attributes.exact) event.at = *event.attributes.exact;
    events.push_back(std::move(event));
  }
  return events;
}

class Painter {
 public:
  void add(const Drawn& event) {
    const std::string kind = event.label.substr(0, event.label.find_first_of("@/"));
    if (kind == "step" || kind == "span") return add_span(event, kind == "step");
    if (kind == "op") return add_op(event);
    if (kind == "py") return add_frame(event);
    if (kind == "call") return add_call(event);
    if (kind.starts_with("gpu")) return add_gpu(event, kind.substr(3));
    if (kind.starts_with("note")) return add_note(event, kind.substr(4));
    ADD_FAILURE() << "unknown label `" << event.label << "`";
  }
  Trace finish() {
    Builder builder;
    builder.add(std::move(fragment_));
    return builder.finish(1);
  }

 private:
  static MaybeInt number(const Drawn& event, std::string_view key) {
    const auto at = event.attributes.values.find(key);
    if (at == event.attributes.values.end()) return {};
    const auto parsed = to_number(at->second);
    if (!parsed) ADD_FAILURE() << key << " of " << event.name << " is no number: " << at->second;
    return parsed ? MaybeInt(*parsed) : MaybeInt();
  }
  StringId text(const Drawn& event, std::string_view key) {
    const auto at = event.attributes.values.find(key);
    return at == event.attributes.values.end() ? StringId{} : fragment_.strings.intern(at->second);
  }
  ThreadId thread(const Drawn& event) {
    const std::size_t at = event.label.find('@');
    return fragment_.thread("1", at == std::string::npos ? "main" : event.label.substr(at + 1));
  }
  void add_span(const Drawn& event, bool is_step) {
    Spans::Row row;
    row.start_ns = event.at.start_ns;
    row.end_ns = event.at.end_ns;
    row.thread = thread(event);
    row.name = fragment_.strings.intern(is_step ? "ProfilerStep#" + event.name : event.name);
    row.external_id = number(event, "ext");
    row.file_order = order_++;
    fragment_.spans.push_back(row);
  }
  void add_op(const Drawn& event) {
    Ops::Row row;
    row.start_ns = event.at.start_ns;
    row.end_ns = event.at.end_ns;
    row.thread = thread(event);
    row.name = fragment_.strings.intern(event.name);
    row.external_id = number(event, "ext");
    row.sequence = number(event, "seq");
    row.forward_thread = number(event, "fwd");
    row.shapes = text(event, "shapes");
    row.types = text(event, "types");
    row.concrete_inputs = text(event, "concrete");
    row.file_order = order_++;
    fragment_.ops.push_back(row);
  }
  void add_frame(const Drawn& event) {
    Frames::Row row;
    row.start_ns = event.at.start_ns;
    row.end_ns = event.at.end_ns;
    row.thread = thread(event);
    row.name = fragment_.strings.intern(event.name);
    row.file_order = order_++;
    fragment_.frames.push_back(row);
  }
  void add_call(const Drawn& event) {
    Calls::Row row;
    row.start_ns = event.at.start_ns;
    row.end_ns = event.at.end_ns;
    row.thread = thread(event);
    row.name = fragment_.strings.intern(event.name);
    row.correlation = number(event, "corr");
    row.external_id = number(event, "ext");
    row.file_order = order_++;
    fragment_.calls.push_back(row);
  }
  static std::string stream_key(const Drawn& event) { return event.label.substr(event.label.find('/') + 1); }
  void add_gpu(const Drawn& event, std::string_view device) {
    GpuEvents::Row row;
    const std::int64_t device_number = to_number(device).value_or(0);
    row.start_ns = event.at.start_ns;
    row.end_ns = event.at.end_ns;
    row.device = fragment_.device(device_number);
    row.stream = fragment_.stream(device_number, stream_key(event));
    row.name = fragment_.strings.intern(event.name);
    row.kind = event.name.starts_with("Memcpy")   ? GpuEventKind::kCopy
               : event.name.starts_with("Memset") ? GpuEventKind::kSet
                                                  : GpuEventKind::kKernel;
    row.correlation = number(event, "corr");
    row.external_id = number(event, "ext");
    row.bytes = number(event, "bytes");
    row.occupancy_percent = -1;
    row.file_order = order_++;
    fragment_.gpu_events.push_back(row);
  }
  void add_note(const Drawn& event, std::string_view device) {
    GpuSpans::Row row;
    const std::int64_t device_number = to_number(device).value_or(0);
    row.start_ns = event.at.start_ns;
    row.end_ns = event.at.end_ns;
    row.device = fragment_.device(device_number);
    row.stream = fragment_.stream(device_number, stream_key(event));
    row.category = fragment_.strings.intern("gpu_user_annotation");
    row.name = fragment_.strings.intern(event.name);
    row.external_id = number(event, "ext");
    row.file_order = order_++;
    fragment_.gpu_spans.push_back(row);
  }

  Fragment fragment_;
  std::uint64_t order_ = 0;
};

template <class Table>
typename Table::Id first_named(const Trace& trace, const Table& table, std::string_view name) {
  for (auto id : table.ids().ids()) {
    if (trace.text(table.name[id]) == name) return id;
  }
  ADD_FAILURE() << "no row is named " << name;
  return {};
}

}  // namespace

Trace trace_from_text(std::string_view picture, const PictureOptions& options) {
  std::vector<std::string> rows;
  std::map<std::string, Attributes> where;
  std::size_t indent = std::string::npos;
  bool in_where = false;
  for (const std::string& line : split_lines(picture)) {
    if (trim(line, " ").empty()) continue;
    if (trim(line, " ") == "where") {
      in_where = true;
    } else if (in_where) {
      const std::size_t equals = line.find(" = ");
      if (equals == std::string::npos) ADD_FAILURE() << "a where line needs ` = `: " << line;
      where[trim(line.substr(0, equals), " ")] =
          parse_attributes(equals == std::string::npos ? "" : line.substr(equals + 3));
    } else {
      indent = std::min(indent, line.find_first_not_of(' '));
      rows.push_back(line);
    }
  }
  Painter painter;
  for (const std::string& row : rows) {
    for (const Drawn& event : parse_row(std::string_view(row).substr(indent), where, options)) painter.add(event);
  }
  return painter.finish();
}

GpuEventId gpu_event_named(const Trace& trace, std::string_view name) {
  return first_named(trace, trace.gpu_events, name);
}
CallId call_named(const Trace& trace, std::string_view name) { return first_named(trace, trace.calls, name); }
OpId op_named(const Trace& trace, std::string_view name) { return first_named(trace, trace.ops, name); }

ThreadId thread_named(const Trace& trace, std::string_view key) {
  for (ThreadId id : trace.threads.ids().ids()) {
    if (trace.text(trace.threads.key[id]) == key) return id;
  }
  ADD_FAILURE() << "no thread is named " << key;
  return {};
}

}  // namespace stepscope

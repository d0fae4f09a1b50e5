// Columns are walked through the tables' own lists, so that a column added later is compared too.
#include "support/describe_trace.h"

#include <sstream>
#include <type_traits>

namespace stepscope {
namespace {

class Describer {
 public:
  explicit Describer(const Trace& trace) : trace_(trace) {}

  std::string describe() {
    table("processes", trace_.processes);
    table("threads", trace_.threads);
    table("devices", trace_.devices);
    table("streams", trace_.streams);
    table("ops", trace_.ops);
    table("spans", trace_.spans);
    table("frames", trace_.frames);
    table("calls", trace_.calls);
    table("gpu_events", trace_.gpu_events);
    table("collectives", trace_.collectives);
    table("gpu_spans", trace_.gpu_spans);
    table("memory_events", trace_.memory_events);
    table("flows", trace_.flows);
    table("counters", trace_.counters);
    table("other_events", trace_.other_events);
    for (const Note& note : trace_.notes.all()) {
      out_ << note_kind_name(note.kind) << ' ' << note_severity_name(note.severity) << ' ' << note.count << ' '
           << note.first_offset << ' ' << note.example << '\n';
    }
    const TraceInfo& info = trace_.info;
    out_ << info.text_bytes << ' ' << info.event_count << ' ' << info.metadata_event_count << ' ' << info.base_ns << ' '
         << info.rank.value_or(-1) << ' ' << info.trace_name << '\n';
    return out_.str();
  }

 private:
  template <class Table>
  void table(const char* name, const Table& rows) {
    rows.for_each_column([&](std::string_view column, std::string_view, const auto& cells) {
      out_ << name << '.' << column << ':';
      for (const auto& cell : cells.raw()) {
        out_ << ' ';
        write(cell);
      }
      out_ << '\n';
    });
  }
  void write(StringId id) { out_ << trace_.text(id); }
  void write(MaybeInt number) { out_ << number.raw; }
  template <class Tag>
  void write(Id<Tag> id) {
    out_ << id.value;
  }
  template <class T>
  void write(T value)
    requires(std::is_arithmetic_v<T>)
  {
    out_ << +value;
  }
  template <class T>
  void write(T value)
    requires(std::is_enum_v<T>)
  {
    out_ << static_cast<int>(value);
  }

  const Trace& trace_;
  std::ostringstream out_;
};

}  // namespace

std::string describe_traces(const Result<std::vector<Trace>>& traces) {
  if (!traces) return traces.error().message;
  std::string text;
  for (const Trace& trace : *traces) text += Describer(trace).describe() + "----\n";
  return text;
}

}  // namespace stepscope

// Rows of a thread are sorted by start, the longer first, so the open ones nest; damaged ones that do not are dropped
// when they have ended.
#include "memory/trace_stacks.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace stepscope {
namespace {

// "train.py(12): step" -> its parts; a name of another form is a function without a file ("nn.Module: Linear_0").
struct FrameParts {
  std::string_view file, function;
  MaybeInt line;
};
FrameParts split_frame(std::string_view name) {
  const std::size_t close = name.find("): ");
  const std::size_t open = close == std::string_view::npos ? close : name.rfind('(', close);
  if (open == std::string_view::npos || open == 0) return {{}, name, {}};
  std::int64_t line = 0;
  const char* const end = name.data() + close;
  const auto [stop, error] = std::from_chars(name.data() + open + 1, end, line);
  if (error != std::errc() || stop != end) return {{}, name, {}};
  return {name.substr(0, open), name.substr(close + 3), line};
}

// Operators that do nothing but allocate: whoever asked for the memory stands around them.
bool only_allocates(std::string_view op) {
  constexpr std::array<std::string_view, 4> kNames = {"aten::empty", "aten::new_empty", "aten::resize_",
                                                      "aten::_reshape_alias"};
  return std::any_of(kNames.begin(), kNames.end(), [&](std::string_view each) { return op.starts_with(each); });
}

}  // namespace

template <class Table>
void TraceStacks::Open<Table>::begin(IdRange<Id> range) {
  next = range.begin;
  end = range.end;
  rows.clear();
}

template <class Table>
void TraceStacks::Open<Table>::advance(const Table& table, TimeNs time_ns) {
  const auto drop = [&](TimeNs until_ns) {
    while (!rows.empty() && table.end_ns[rows.back()] < until_ns) rows.pop_back();
  };
  for (; next < end && table.start_ns[Id(next)] <= time_ns; ++next) {
    drop(table.start_ns[Id(next)]);
    rows.push_back(Id(next));
  }
  drop(time_ns);
}

TraceStacks::TraceStacks(const Trace& trace, MemorySnapshot& into)
    : trace_(trace),
      snapshot_(into),
      stacks_(into.stacks, into.stack_frames),
      frame_of_python_(trace.strings.size()),
      frame_of_native_(trace.strings.size()) {}

void TraceStacks::begin_thread(ThreadId thread) {
  frames_.begin(trace_.frames_of_thread[thread]);
  ops_.begin(trace_.ops_of_thread[thread]);
  calls_.begin(trace_.calls_of_thread[thread]);
}

SnapshotFrameId TraceStacks::frame(StringId name, bool is_python) {
  SnapshotFrameId& known = (is_python ? frame_of_python_ : frame_of_native_)[name.value];
  if (known.has_value()) return known;
  const std::string_view text = trace_.text(name);
  const FrameParts parts = is_python ? split_frame(text) : FrameParts{{}, text, {}};
  SnapshotFrames::Row row;
  row.name = snapshot_.strings.intern(parts.function);
  row.file = snapshot_.strings.intern(parts.file);
  row.line = parts.line;
  known = snapshot_.frames.push_back(row);
  return known;
}

SnapshotStackId TraceStacks::at(TimeNs time_ns) {
  frames_.advance(trace_.frames, time_ns);
  ops_.advance(trace_.ops, time_ns);
  calls_.advance(trace_.calls, time_ns);
  wanted_.clear();
  const auto add = [&](const auto& table, const auto& rows, bool is_python) {
    for (auto row = rows.rbegin(); row != rows.rend(); ++row) {
      // Rows below one that is open may have ended: damage, or a fork of the nesting.
      if (table.end_ns[*row] >= time_ns) wanted_.push_back(frame(table.name[*row], is_python));
    }
  };
  add(trace_.calls, calls_.rows, false);
  const std::size_t ops_begin = wanted_.size();
  add(trace_.ops, ops_.rows, false);
  std::size_t allocating = 0;
  while (ops_begin + allocating + 1 < wanted_.size() &&
         only_allocates(snapshot_.text(snapshot_.frames.name[wanted_[ops_begin + allocating]]))) {
    ++allocating;
  }
  const auto first = wanted_.begin() + static_cast<std::ptrdiff_t>(ops_begin);
  wanted_.erase(first, first + static_cast<std::ptrdiff_t>(allocating));
  add(trace_.frames, frames_.rows, true);
  return wanted_.empty() ? SnapshotStackId{} : stacks_.find_or_add(wanted_);
}

}  // namespace stepscope

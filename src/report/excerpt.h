// An excerpt of the timeline around a piece of evidence: host threads and streams, as rows of cells.
//
// Data only: terminal/ draws it. The time is cut into cells of equal length and each cell says what filled most of it,
// so an excerpt of 3 million events is as small as one of ten.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyze/facts.h"

namespace stepscope {

// A named stretch of a host row; drawn as [name   ].
struct ExcerptBox {
  TimeNs start_ns = 0;
  TimeNs end_ns = 0;
  std::string name;
};

// What filled most of a cell, and how much of it.
struct ExcerptCell {
  std::uint8_t what = 0;  // KernelClass of a stream row, HostLabel of a host row
  float filled_ratio = 0;
};

enum class ExcerptRowKind : std::uint8_t { kBoxes, kHost, kStream };

struct ExcerptRow {
  ExcerptRowKind kind = ExcerptRowKind::kBoxes;
  std::string label;               // "main thread", "spans", "stream 7"
  std::vector<ExcerptBox> boxes;   // kBoxes
  std::vector<ExcerptCell> cells;  // kHost, kStream
};

struct Excerpt {
  Interval shown;
  Interval evidence;
  TimeNs origin_ns = 0;  // times are shown from here: the start of the step that holds the evidence
  std::string origin_name;
  std::vector<ExcerptRow> rows;
};

[[nodiscard]] Excerpt build_excerpt(const Trace& trace, const Facts& facts, Interval evidence, std::size_t cell_count);

}  // namespace stepscope

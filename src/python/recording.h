// One recording as Python holds it: the trace, and facts that are computed when they are first asked for.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "export/arrow_trace.h"
#include "python/analysis_tables.h"
#include "report/ranks.h"
#include "report/report.h"

namespace stepscope::python {

// What a user may ask beyond the file; equal requests share their facts.
struct Request {
  std::string steps_name;
  bool whole_file_window = false;
  std::optional<std::int64_t> device;
  std::optional<double> peak_flops_per_s;
  std::size_t top = 5;
};

class Recording {
 public:
  explicit Recording(Trace trace) : trace_(std::make_shared<const Trace>(std::move(trace))), arrow_(trace_) {}

  [[nodiscard]] const Trace& trace() const { return *trace_; }
  [[nodiscard]] const ArrowTrace& arrow() const { return arrow_; }
  // Thread-safe; kept for the latest request. Throws std::invalid_argument (ValueError) where no span has the name or
  // no device the number that is asked for, as `report` below.
  [[nodiscard]] std::shared_ptr<const Facts> facts(const Request& request) const;
  [[nodiscard]] Report report(const Request& request) const;

 private:
  std::shared_ptr<const Trace> trace_;
  ArrowTrace arrow_;
  mutable std::mutex guard_;
  mutable std::string facts_key_;
  mutable std::shared_ptr<const Facts> facts_;
};

using RecordingPointer = std::shared_ptr<const Recording>;

// Several ranks of one run, looked at together where they are one. Throws as facts, naming the file.
[[nodiscard]] RankReports report_together(const std::vector<RecordingPointer>& recordings, const Request& request);

}  // namespace stepscope::python

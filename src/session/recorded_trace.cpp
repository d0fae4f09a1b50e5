// A trace with what the session knows about it and the model has no place for.
#include "session/recorded_trace.h"

#include <algorithm>
#include <utility>

#include "export/chrome_trace.h"

namespace stepscope {
RecordedTrace make_recorded_trace(CycleRecords records, const RunIdentity& identity,
                                  const RecordedTraceOptions& options, std::shared_ptr<WrittenFiles> files) {
  auto content = std::make_shared<RecordedTrace::Content>();
  for (const SessionStep& step : records.steps) content->steps.push_back(step.number);
  content->worker_name = options.worker_name.empty() ? identity.default_worker_name() : options.worker_name;
  content->process_id = identity.process_id;
  content->start_ns = records.host.start_ns;
  content->end_ns = records.host.end_ns;
  content->files = std::move(files);
  BuiltTrace built = build_trace(std::move(records), identity, options.flags);
  content->trace = std::move(built.trace);
  content->dropped_count = content->trace.notes.count(NoteKind::kRecordsDropped);
  content->open_span_count = built.open_span_count;
  content->flops = built.flops;
  return RecordedTrace(std::move(content));
}

RecordedTrace::RecordedTrace(std::shared_ptr<Content> content) : content_(std::move(content)) {}

Status RecordedTrace::write_chrome_trace(const std::string& path) const {
  Status written = write_chrome_trace_file(content_->trace, path);
  if (written) content_->files->add(path);
  return written;
}

Result<std::string> RecordedTrace::chrome_trace_text() const {
  std::string text;
  const Status written = stepscope::write_chrome_trace(content_->trace, [&](std::string_view piece) -> Status {
    text += piece;
    return Done{};
  });
  if (!written) return written.error();
  return text;
}

TraceCounts RecordedTrace::counts() const {
  const Trace& trace = content_->trace;
  return {.threads = trace.threads.size(),
          .operators = trace.ops.size(),
          .spans = trace.spans.size(),
          .counters = trace.counters.size(),
          .instants = trace.other_events.size(),
          .memory_events = trace.memory_events.size(),
          .calls = trace.calls.size(),
          .gpu_events = trace.gpu_events.size()};
}

std::uint64_t RecordedTrace::dropped_count() const { return content_->dropped_count; }
std::uint64_t RecordedTrace::open_span_count() const { return content_->open_span_count; }
std::optional<double> RecordedTrace::flops() const { return content_->flops; }
const std::vector<std::int64_t>& RecordedTrace::steps() const { return content_->steps; }
const std::string& RecordedTrace::host_name() const { return content_->trace.info.host_name; }
std::int64_t RecordedTrace::process_id() const { return content_->process_id; }
const std::string& RecordedTrace::worker_name() const { return content_->worker_name; }
std::int64_t RecordedTrace::start_ns() const { return content_->start_ns; }
std::int64_t RecordedTrace::end_ns() const { return content_->end_ns; }
std::int64_t RecordedTrace::base_ns() const { return content_->trace.info.base_ns; }

}  // namespace stepscope

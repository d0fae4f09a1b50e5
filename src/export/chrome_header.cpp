// What stands before the events.
//
// Beside PyTorch's keys there is one of ours, `stepscope`, which other readers ignore. It has what PyTorch's keys
// cannot say: the order in which rows of threads and streams are numbered, and the notes of the recording. A file that
// was damaged when it was read stays marked as read in part after it was converted.
#include <algorithm>
#include <iterator>
#include <set>

#include "export/chrome_parts.h"
#include "export/json_text.h"
#include "trace/group_ranks.h"
#include "trace/producers.h"

namespace stepscope {
namespace {

std::string quoted(std::string_view text) {
  std::string json;
  append_json_string(text, json);
  return json;
}

void put_key_if(bool is_set, const char* key, TextBuffer& out) {
  if (!is_set) return;
  out.put("  \"");
  out.put(std::string_view(key));
  out.put("\": 1,\n");
}

void put_number_if(const std::optional<std::int64_t>& number, const char* key, TextBuffer& out) {
  if (!number) return;
  out.put("  \"");
  out.put(std::string_view(key));
  out.put("\": ");
  out.put_integer(*number);
  out.put(",\n");
}

void put_devices(ChromeText& text) {
  const Devices& devices = text.trace.devices;
  TextBuffer& out = text.out;
  out.put("  \"deviceProperties\": [");
  for (const DeviceId id : devices.ids().ids()) {
    out.put(id.value == 0 ? std::string_view("\n    {") : std::string_view(",\n    {"));
    out.put("\"id\": ");
    out.put_integer(devices.number[id]);
    if (!devices.name[id].empty()) {
      out.put(", \"name\": ");
      text.strings.put_quoted(devices.name[id]);
    }
    auto put = [&](std::string_view key, MaybeInt number) {
      if (!number.has_value()) return;
      out.put(key);
      out.put_integer(number.value());
    };
    put(", \"totalGlobalMem\": ", devices.memory_bytes[id]);
    put(", \"computeMajor\": ", devices.compute_major[id]);
    put(", \"computeMinor\": ", devices.compute_minor[id]);
    put(", \"numSms\": ", devices.sm_count[id]);
    out.put('}');
  }
  out.put("\n  ],\n");
}

std::string process_groups_json(const std::vector<ProcessGroup>& groups) {
  std::string json = "[";
  for (const ProcessGroup& group : groups) {
    if (json.size() > 1) json += ", ";
    json += "{\"pg_name\": " + quoted(group.name);
    if (!group.description.empty()) json += ", \"pg_desc\": " + quoted(group.description);
    if (!group.backend.empty()) json += ", \"backend_config\": " + quoted(group.backend);
    if (group.size) json += ", \"pg_size\": " + std::to_string(*group.size);
    if (!group.ranks.empty()) json += ", \"ranks\": " + write_group_ranks(group.ranks);
    json += '}';
  }
  return json + "]";
}

void put_distributed(const TraceInfo& info, TextBuffer& out) {
  if (!info.rank && !info.world_size && info.backend.empty() && info.process_groups.empty()) return;
  out.put("  \"distributedInfo\": {");
  std::string_view separator;
  auto put = [&](std::string_view key, const std::string& json) {
    out.put(separator);
    out.put(key);
    out.put(json);
    separator = ", ";
  };
  if (!info.backend.empty()) put("\"backend\": ", quoted(info.backend));
  if (info.rank) put("\"rank\": ", std::to_string(*info.rank));
  if (info.world_size) put("\"world_size\": ", std::to_string(*info.world_size));
  if (!info.process_groups.empty()) put("\"pg_config\": ", process_groups_json(info.process_groups));
  out.put("},\n");
}

void put_notes(const Notes& notes, TextBuffer& out) {
  out.put("    \"notes\": [");
  bool is_first = true;
  for (const Note& note : notes.all()) {
    out.put(is_first ? std::string_view("\n      ") : std::string_view(",\n      "));
    is_first = false;
    out.put("{\"kind\": ");
    out.put(quoted(note_kind_name(note.kind)));
    out.put(", \"severity\": ");
    out.put(quoted(note_severity_name(note.severity)));
    out.put(", \"count\": ");
    out.put_integer(static_cast<std::int64_t>(note.count));
    out.put(", \"first_offset\": ");
    out.put_integer(static_cast<std::int64_t>(note.first_offset));
    out.put(", \"example\": ");
    out.put(quoted(note.example));
    out.put('}');
  }
  out.put("]");
}

// What only captures have.
void put_recording(const TraceInfo& info, TextBuffer& out) {
  auto put = [&](std::string_view key, const std::string& value) {
    if (value.empty()) return;
    out.put(key);
    out.put(quoted(value));
    out.put(",\n");
  };
  // Who recorded decides what the advice says; without it a reader takes PyTorch's profiler.
  if (info.producer == "capture" || info.producer == kSessionProducer) put("    \"producer\": ", info.producer);
  put("    \"command_line\": ", info.command_line);
  put("    \"python_version\": ", info.python_version);
  put("    \"torch_version\": ", info.torch_version);
  if (info.process_start_ns) {
    out.put("    \"process_start_ns\": ");
    out.put_integer(*info.process_start_ns);
    out.put(",\n");
  }
  std::string_view separator = "    \"windows\": [";
  for (const Interval& window : info.windows) {
    out.put(separator);
    out.put('[');
    out.put_integer(window.start_ns);
    out.put(", ");
    out.put_integer(window.end_ns);
    out.put(']');
    separator = ", ";
  }
  if (!info.windows.empty()) out.put("],\n");
  separator = "    \"remarks\": [";
  for (const std::string& remark : info.remarks) {
    out.put(separator);
    out.put(quoted(remark));
    separator = ", ";
  }
  if (!info.remarks.empty()) out.put("],\n");
}

void put_own(ChromeText& text) {
  const Trace& trace = text.trace;
  TextBuffer& out = text.out;
  out.put("  \"stepscope\": {\n    \"threads\": [");
  for (const ThreadId id : trace.threads.ids().ids()) {
    if (id.value > 0) out.put(", ");
    out.put('[');
    text.strings.put_quoted(trace.processes.key[trace.threads.process[id]]);
    out.put(", ");
    text.strings.put_quoted(trace.threads.key[id]);
    out.put(']');
  }
  out.put("],\n    \"streams\": [");
  for (const StreamId id : trace.streams.ids().ids()) {
    if (id.value > 0) out.put(", ");
    out.put('[');
    out.put_integer(trace.devices.number[trace.streams.device[id]]);
    out.put(", ");
    text.strings.put_quoted(trace.streams.key[id]);
    out.put(']');
  }
  out.put("],\n");
  put_recording(trace.info, out);
  put_notes(trace.notes, out);
  out.put("\n  },\n");
}

constexpr std::string_view kDistributedInfo = "distributedInfo";

bool has_key(const ChromeMetadata& metadata, std::string_view key) {
  return std::any_of(metadata.begin(), metadata.end(), [&](const auto& pair) { return pair.first == key; });
}

void put_metadata(const ChromeMetadata& metadata, TextBuffer& out) {
  for (const auto& [key, json] : metadata) {
    out.put("  ");
    out.put(quoted(key));
    out.put(": ");
    out.put(json);
    out.put(",\n");
  }
}

}  // namespace

Status check_chrome_metadata(const ChromeMetadata& metadata) {
  constexpr std::string_view kOwnKeys[] = {
      "schemaVersion",   "deviceProperties",    "cuda_driver_version", "cuda_runtime_version",
      "cupti_version",   "record_shapes",       "profile_memory",      "with_stack",
      "with_flops",      "with_modules",        "host_name",           "stepscope",
      "displayTimeUnit", "baseTimeNanoseconds", "traceEvents",         "traceName"};
  std::set<std::string_view> seen;
  for (const auto& [key, json] : metadata) {
    const bool is_own = std::find(std::begin(kOwnKeys), std::end(kOwnKeys), key) != std::end(kOwnKeys);
    if (is_own) return Error{ErrorCode::kInvalidArgument, "metadata: the trace itself has a key '" + key + "'", {}};
    if (!seen.insert(key).second) return Error{ErrorCode::kInvalidArgument, "metadata: '" + key + "' twice", {}};
    if (!is_json_value(json)) {
      return Error{ErrorCode::kInvalidArgument, "metadata: the value of '" + key + "' is no JSON", {}};
    }
  }
  return Done{};
}

void write_chrome_header(ChromeText& text, const ChromeMetadata& metadata) {
  const TraceInfo& info = text.trace.info;
  TextBuffer& out = text.out;
  out.put("{\n  \"schemaVersion\": 1,\n");
  put_devices(text);
  if (!has_key(metadata, kDistributedInfo)) put_distributed(info, out);
  put_metadata(metadata, out);
  put_number_if(info.cuda_driver_version, "cuda_driver_version", out);
  put_number_if(info.cuda_runtime_version, "cuda_runtime_version", out);
  put_number_if(info.cupti_version, "cupti_version", out);
  put_key_if(info.record_shapes, "record_shapes", out);
  put_key_if(info.profile_memory, "profile_memory", out);
  put_key_if(info.with_stack, "with_stack", out);
  put_key_if(info.with_flops, "with_flops", out);
  put_key_if(info.with_modules, "with_modules", out);
  if (!info.host_name.empty()) {
    out.put("  \"host_name\": ");
    out.put(quoted(info.host_name));
    out.put(",\n");
  }
  put_own(text);
  out.put("  \"displayTimeUnit\": \"ms\",\n  \"baseTimeNanoseconds\": ");
  out.put_integer(info.base_ns);
  out.put(",\n  \"traceEvents\": [");
}

void write_chrome_footer(ChromeText& text) {
  text.out.put("\n  ],\n  \"traceName\": ");
  text.out.put(quoted(text.trace.info.trace_name));
  text.out.put("\n}\n");
}

}  // namespace stepscope

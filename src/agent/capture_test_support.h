// Captures for tests: one kept in memory, and the reader of those on disk.
#pragma once

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "capture/capture_file.h"
#include "wire/chunk.h"
#include "wire/record_decoder.h"

namespace stepscope::agent {

// Everything that a capture holds, as lists.
struct Records : WireVisitor {
  std::vector<CaptureInfo> infos;
  std::map<WireString, std::string> strings;
  std::vector<WireThread> threads;
  std::vector<WireOp> ops;
  std::vector<WireSpan> spans;
  std::vector<WireCall> calls;
  std::vector<WireGpuEvent> gpu_events;
  std::vector<WireGraphNode> graph_nodes;
  std::vector<WireWindow> windows;
  std::vector<WireMemory> memory;
  std::vector<WireMemoryLevel> memory_levels;
  std::vector<WireCounter> counters;
  std::vector<WireSample> samples;
  std::vector<WireOverhead> overheads;
  std::map<std::int32_t, WireLedger> ledgers;
  std::vector<std::string> remarks;
  bool has_end = false;

  using WireVisitor::on;
  void on(const CaptureInfo& info) override { infos.push_back(info); }
  void on(const WireStringDefinition& string) override { strings[string.id] = string.text; }
  void on(const WireThread& thread) override { threads.push_back(thread); }
  void on(const WireOp& op) override { ops.push_back(op); }
  void on(const WireSpan& span) override { spans.push_back(span); }
  void on(const WireCall& call) override { calls.push_back(call); }
  void on(const WireGpuEvent& event) override { gpu_events.push_back(event); }
  void on(const WireGraphNode& node) override { graph_nodes.push_back(node); }
  void on(const WireWindow& window) override { windows.push_back(window); }
  void on(const WireMemory& event) override { memory.push_back(event); }
  void on(const WireMemoryLevel& level) override { memory_levels.push_back(level); }
  void on(const WireCounter& counter) override { counters.push_back(counter); }
  void on(const WireSample& sample) override { samples.push_back(sample); }
  void on(const WireOverhead& overhead) override { overheads.push_back(overhead); }
  void on(const WireLedger& ledger) override { ledgers[ledger.device] = ledger; }
  void on(const WireRemark& remark) override { remarks.push_back(strings[remark.text]); }
  void on(const WireEnd&) override { has_end = true; }

  // The last ledger: launches, unmatched of all devices, dropped of all kinds.
  [[nodiscard]] WireLedger total() const {
    WireLedger sum;
    for (const auto& [device, ledger] : ledgers) {
      sum.launch_count += ledger.launch_count;
      sum.gpu_event_count += ledger.gpu_event_count;
      sum.unmatched_count += ledger.unmatched_count;
      sum.bad_time_count += ledger.bad_time_count;
      sum.dropped_by_cupti_count += ledger.dropped_by_cupti_count;
      sum.dropped_by_cap_count += ledger.dropped_by_cap_count;
      sum.dropped_host_count += ledger.dropped_host_count;
    }
    return sum;
  }
  [[nodiscard]] bool has_remark(const std::string& part) const {
    for (const std::string& remark : remarks) {
      if (remark.find(part) != std::string::npos) return true;
    }
    return false;
  }
};

// A capture file that is only in memory.
class MemoryCapture : public CaptureFile {
 public:
  Records records;

  using CaptureFile::on;
  void on(const WireThread& record) override { records.on(record); }
  void on(const WireOp& record) override { records.on(record); }
  void on(const WireSpan& record) override { records.on(record); }
  void on(const WireCall& record) override { records.on(record); }
  void on(const WireGpuEvent& record) override { records.on(record); }
  void on(const WireGraphNode& record) override { records.on(record); }
  void on(const WireMemory& record) override { records.on(record); }
  void on(const WireMemoryLevel& record) override { records.on(record); }
  void on(const WireCounter& record) override { records.on(record); }
  void on(const WireLedger& record) override { records.on(record); }
  WireString intern(std::string_view text) override {
    if (text.empty()) return 0;
    const auto [known, is_new] = ids_.try_emplace(std::string(text), static_cast<WireString>(ids_.size() + 1));
    if (is_new) records.strings[known->second] = text;
    return known->second;
  }
  Status flush() override { return Done{}; }
  Status close(TimeNs) override { return Done{}; }
  [[nodiscard]] Status status() const override { return Done{}; }
  [[nodiscard]] std::uint64_t file_bytes() const override { return 0; }
  [[nodiscard]] std::uint64_t record_count() const override { return 0; }
  [[nodiscard]] std::uint64_t dropped_record_count() const override { return 0; }

 private:
  std::map<std::string, WireString> ids_;
};

// What can be read of a capture, as far as it goes. `damage_count`: places where something was lost.
inline Records read_capture(const std::filesystem::path& path, int* damage_count = nullptr) {
  Records records;
  std::ifstream file(path, std::ios::binary);
  wire::ChunkReader reader(
      [&](char* into, std::size_t size) -> Result<std::size_t> {
        file.read(into, static_cast<std::streamsize>(size));
        return static_cast<std::size_t>(file.gcount());
      },
      [&](wire::ChunkDamage, std::uint64_t, std::uint64_t, std::optional<std::uint32_t>) {
        if (damage_count != nullptr) ++*damage_count;
      });
  if (!reader.open()) return records;
  wire::RecordDecoder decoder;
  while (true) {
    Result<std::optional<wire::Chunk>> chunk = reader.next();
    if (!chunk || !chunk.value().has_value()) return records;
    if (decoder.decode(chunk.value()->payload, records).malformed_at.has_value() && damage_count != nullptr) {
      ++*damage_count;
    }
  }
}

// A folder of its own for a test, removed with it.
class TestFolder {
 public:
  TestFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "stepscope_agent_XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  ~TestFolder() { std::filesystem::remove_all(path_); }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;

  [[nodiscard]] std::string path() const { return path_.string(); }
  [[nodiscard]] std::vector<std::filesystem::path> files() const {
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::directory_iterator(path_)) files.push_back(entry.path());
    return files;
  }

 private:
  std::filesystem::path path_;
};

}  // namespace stepscope::agent

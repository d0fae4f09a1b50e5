// For tests: captures made record by record, as the bytes of their file.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "import/bytes/byte_source.h"
#include "import/capture/capture.h"
#include "wire/chunk.h"
#include "wire/record_encoder.h"

namespace stepscope::capture_format {

class MadeCapture {
 public:
  MadeCapture() : bytes_(wire::file_header()) {}

  template <class Record>
  MadeCapture& add(const Record& record) {
    encoder_.add(record);
    return *this;
  }
  WireString text(std::string_view text) {
    const auto [at, is_new] = texts_.try_emplace(std::string(text), static_cast<WireString>(texts_.size() + 1));
    if (is_new) encoder_.add(WireStringDefinition{at->second, text});
    return at->second;
  }
  // Frames outermost first, as "file:line:function".
  WireStack stack(const std::vector<std::string>& frames) {
    WireStack caller = 0;
    for (const std::string& frame : frames) {
      const auto [at, is_new] =
          stacks_.try_emplace(std::pair(caller, frame), static_cast<WireStack>(stacks_.size() + 1));
      if (is_new) {
        const std::size_t first = frame.find(':'), second = frame.find(':', first + 1);
        WireFrameDefinition made;
        made.id = at->second;
        made.file = text(frame.substr(0, first));
        made.line = static_cast<std::uint32_t>(std::stoul(frame.substr(first + 1)));
        made.function = text(frame.substr(second + 1));
        encoder_.add(made);
        encoder_.add(WireStackDefinition{at->second, caller, made.id});
      }
      caller = at->second;
    }
    return caller;
  }
  MadeCapture& end_chunk() {
    bytes_ += chunks_->encode(wire::ChunkKind::kRecords, encoder_.payload(), encoder_.record_count());
    encoder_.clear();
    return *this;
  }
  std::string whole() {
    add(WireEnd{});
    return cut();
  }
  [[nodiscard]] std::size_t payload_bytes() const { return encoder_.payload().size(); }
  // Without a last record.
  std::string cut() {
    end_chunk();
    return bytes_;
  }

 private:
  std::string bytes_;
  wire::RecordEncoder encoder_;
  std::unique_ptr<wire::ChunkEncoder> chunks_ = std::make_unique<wire::ChunkEncoder>();
  std::map<std::string, WireString> texts_;
  std::map<std::pair<WireStack, std::string>, WireStack> stacks_;
};

// A training step in small: two steps with operators, a launch, its kernel, a synchronization, samples and all else.
[[nodiscard]] inline MadeCapture made_training() {
  constexpr TimeNs kBase = 1'702'944'000'000'000'000;
  MadeCapture file;
  CaptureInfo info;
  info.process_id = 4242;
  info.start_ns = kBase;
  info.command_line = "python train.py";
  info.host_name = "node7";
  info.rank = 1;
  info.world_size = 2;
  info.cuda_runtime_version = 13000;
  info.python_version = "3.12.3";
  info.torch_version = "2.11.0";
  info.process_start_ns = kBase - 60'000'000'000;
  info.working_directory = "/home/user/work";
  info.python_path = "/home/user/work\n/usr/lib/python3.12\n/env/lib/python3.12/site-packages";
  info.records_stacks = info.records_gpu = true;
  file.add(info).end_chunk();
  WireThread main;
  main.thread_id = 77;
  main.name = file.text("python");
  file.add(main);
  WireDevice device;
  device.number = 0;
  device.name = file.text("NVIDIA H200");
  device.sm_count = 132;
  file.add(device);
  const std::string module = "/home/user/work/train.py:90:<module>";
  for (int step = 0; step < 2; ++step) {
    const TimeNs at = kBase + 1'000'000 + step * 1'000'000;
    WireOp op;
    op.thread_id = 77;
    op.start_ns = at + 10'000;
    op.end_ns = at + 60'000;
    op.name = file.text("aten::mm");
    op.sequence = 5 + step;
    op.shapes = file.text("[[2, 3], [3, 4]]");
    op.stack = file.stack({module, "/home/user/work/train.py:52:step"});
    WireCall launch;
    launch.thread_id = 77;
    launch.start_ns = at + 20'000;
    launch.end_ns = at + 25'000;
    launch.name = file.text("cudaLaunchKernel");
    launch.correlation = 100 + static_cast<std::uint32_t>(step);
    launch.stack = op.stack;
    WireGpuEvent kernel;
    kernel.start_ns = at + 30'000;
    kernel.end_ns = at + 430'000;
    kernel.stream = 7;
    kernel.name = file.text("sm90_gemm");
    kernel.correlation = launch.correlation;
    kernel.grid_x = 132;
    kernel.grid_y = kernel.grid_z = 1;
    kernel.block_x = 128;
    kernel.block_y = kernel.block_z = 1;
    WireCall wait;
    wait.thread_id = 77;
    wait.start_ns = at + 100'000;
    wait.end_ns = at + 440'000;
    wait.name = file.text("cudaStreamSynchronize");
    wait.correlation = 200 + static_cast<std::uint32_t>(step);
    wait.stack = file.stack({module, "/home/user/work/train.py:53:step"});
    WireSync sync;
    sync.start_ns = wait.start_ns;
    sync.end_ns = wait.end_ns;
    sync.stream = 7;
    sync.name = file.text("Stream Synchronize");
    sync.correlation = wait.correlation;
    WireSample sample;
    sample.thread_id = 77;
    sample.time_ns = at + 700'000;
    sample.stack = file.stack({module, "/home/user/work/data.py:12:load"});
    WireSpan span;
    span.thread_id = 77;
    span.start_ns = at;
    span.end_ns = at + 900'000;
    span.name = file.text("ProfilerStep#" + std::to_string(3 + step));
    span.source = WireSpanSource::kStep;
    WireMemory memory;
    memory.thread_id = 77;
    memory.time_ns = at + 15'000;
    memory.address = 0xFFFF'0000'0000'1000;
    memory.bytes = step == 0 ? 4096 : -4096;
    memory.device_type = 1;
    memory.device_number = 0;
    WireCounter counter{at, file.text("queue"), 2.5};
    WireOverhead overhead{at + 5'000, at + 6'000, 77, file.text("Buffer Flush")};
    file.add(launch).add(op).add(kernel).add(wait).add(sync).add(sample).add(span).add(memory).add(counter);
    file.add(overhead).end_chunk();
  }
  WireWindow window;
  window.start_ns = kBase + 900'000;
  window.end_ns = kBase + 3'000'000;
  WireLedger ledger;
  ledger.device = 0;
  ledger.launch_count = ledger.gpu_event_count = 2;
  file.add(window).add(ledger);
  file.add(WireRemark{kBase, file.text("attached to torch 2.11.0")});
  return file;
}

[[nodiscard]] inline Result<std::vector<Trace>> read_bytes(std::string bytes, unsigned threads = 1) {
  const std::unique_ptr<ByteSource> source = bytes_of(std::move(bytes));
  return read(*source, "made", {.threads = threads, .progress = {}});
}

}  // namespace stepscope::capture_format

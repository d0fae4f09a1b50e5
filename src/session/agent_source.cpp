// Times come on the agent's clock. Both clocks map the same counter, so a time goes back to ticks by the agent's
// mapping and on to ns by ours: exact to a tick, however far the two drifted apart since the program began.
#include "session/agent_source.h"

#include <dlfcn.h>

#include <array>
#include <utility>

#include "capture/agent_link.h"
#include "capture/recorder.h"
#include "capture/state_bits.h"
#include "capture/tick_clock.h"
#include "stepscope/session.h"

namespace stepscope {
namespace {

class Collecting {
 public:
  explicit Collecting(const bridge::Agent& agent) : ours_(recorder_clock()) {
    bridge::Clock clock{};
    agent.read_clock(&clock);
    agents_ = {clock.base_ticks, clock.base_ns, clock.ns_per_tick_q40};
  }

  // 0 is no time but a record's gap: it stays what it is.
  [[nodiscard]] TimeNs to_ours(std::int64_t agent_ns) const {
    return agent_ns == 0 ? 0 : ours_.to_ns(agents_.to_ticks(agent_ns));
  }

  void add(const bridge::GpuDevice& device) {
    recording.devices.push_back({static_cast<std::int32_t>(device.number), device.name, known(device.memory_bytes),
                                 known(device.sm_count), known(device.compute_major), known(device.compute_minor)});
  }
  void add(const bridge::GpuCall& call) {
    recording.calls.push_back(
        {to_ours(call.start_ns), to_ours(call.end_ns), call.name, call.thread_id, call.correlation});
  }
  void add(const bridge::GpuWork& work) {
    DeviceWork row;
    row.start_ns = to_ours(work.start_ns);
    row.end_ns = to_ours(work.end_ns);
    row.name = work.name;
    row.kind = work.kind == bridge::GpuWorkKind::kKernel ? DeviceWorkKind::kKernel
               : work.kind == bridge::GpuWorkKind::kCopy ? DeviceWorkKind::kCopy
                                                         : DeviceWorkKind::kSet;
    row.device = work.device;
    row.stream = work.stream;
    if (work.correlation != 0) row.correlation = work.correlation;
    row.bytes = known(work.bytes);
    for (std::size_t i = 0; i < 3; ++i) {
      row.grid[i] = work.grid[i];
      row.block[i] = work.block[i];
    }
    row.registers_count = work.registers_count;
    row.shared_bytes = work.shared_bytes;
    recording.work.push_back(std::move(row));
  }

  DeviceRecording recording;
  bool ran_out_of_memory = false;

 private:
  static MaybeInt known(std::int64_t value) { return value == -1 ? MaybeInt{} : MaybeInt{value}; }

  TickMapping ours_, agents_;
};

// The agent's code is between the two: no exception may pass through it.
template <class Record>
void take_record(void* context, const Record* record) {
  auto& collecting = *static_cast<Collecting*>(context);
  try {
    collecting.add(*record);
  } catch (...) {
    collecting.ran_out_of_memory = true;
  }
}

}  // namespace

Status AgentSource::take(bridge::GpuAnswer answer, const char* reason) {
  switch (answer) {
    case bridge::GpuAnswer::kStarted:
    case bridge::GpuAnswer::kNoCuda:  // only where the GPU was not asked for
      break;
    case bridge::GpuAnswer::kBusy:
      warn_(std::string("no GPU rows: ") + reason);
      break;
    case bridge::GpuAnswer::kFailed:
      return Error{ErrorCode::kUnsupported, reason, {}, {}};
  }
  return Done{};
}

Status AgentSource::prepare() {
  std::array<char, 1024> reason{};
  return take(agent_.prepare_gpu(needs_cuda_, reason.data(), reason.size()), reason.data());
}

Status AgentSource::start() {
  std::array<char, 1024> reason{};
  const bridge::GpuAnswer answer = agent_.start_gpu(needs_cuda_, reason.data(), reason.size());
  is_started_ = answer == bridge::GpuAnswer::kStarted;
  return take(answer, reason.data());
}

Result<DeviceRecording> AgentSource::stop() {
  if (!std::exchange(is_started_, false)) return DeviceRecording{};
  Collecting collecting(agent_);
  const bridge::GpuSink sink{&collecting, take_record<bridge::GpuDevice>, take_record<bridge::GpuCall>,
                             take_record<bridge::GpuWork>, [](void* context, std::uint64_t dropped_count) {
                               static_cast<Collecting*>(context)->recording.dropped_count = dropped_count;
                             }};
  agent_.stop_gpu(&sink);
  if (collecting.ran_out_of_memory) {
    return Error{ErrorCode::kIo, "there was no memory for the GPU's records", {}, {}};
  }
  return std::move(collecting.recording);
}

std::unique_ptr<DeviceSource> make_agent_source(bool is_asked_for, const std::function<void(std::string)>& warn) {
  // First of all the agent learns that it has something to hear: its capture goes before a session.
  (void)hear_agent(detail::load_recorder_state());
  std::string_view refusal;
  const bridge::Agent* const agent = find_agent(&refusal);
  if (agent != nullptr) return std::make_unique<AgentSource>(*agent, is_asked_for, warn);
  if (!refusal.empty()) warn(std::string(refusal));
  return nullptr;
}

Status load_agent(const std::string& path) {
  if (find_agent() != nullptr) return Done{};
  if (dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL) == nullptr) {
    const char* const why = dlerror();
    return Error{
        ErrorCode::kNotFound, std::string("the agent cannot be loaded: ") + (why != nullptr ? why : path), path, {}};
  }
  std::string_view refusal;
  if (find_agent(&refusal) != nullptr) return Done{};
  return Error{ErrorCode::kUnsupported,
               refusal.empty() ? "this is no agent of Stepscope (libstepscope_agent.so)" : std::string(refusal),
               path,
               {}};
}

}  // namespace stepscope

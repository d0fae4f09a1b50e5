// The agent as a session's source of GPU records, through the bridge of capture/agent_bridge.h.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "capture/agent_bridge.h"
#include "capture/device_source.h"

namespace stepscope {

class AgentSource : public DeviceSource {
 public:
  // `is_asked_for`: the session wants the GPU by name, so CUPTI is loaded also before the program loads CUDA. `warn`
  // hears what is no failure: the agent's own capture has the GPU for now.
  AgentSource(const bridge::Agent& agent, bool is_asked_for, std::function<void(std::string)> warn)
      : agent_(agent), needs_cuda_(is_asked_for ? 0 : 1), warn_(std::move(warn)) {}

  [[nodiscard]] std::string name() const override { return "Stepscope's agent"; }
  Status prepare() override;
  Status start() override;
  Result<DeviceRecording> stop() override;

 private:
  Status take(bridge::GpuAnswer answer, const char* reason);

  const bridge::Agent& agent_;
  const int needs_cuda_;
  const std::function<void(std::string)> warn_;
  bool is_started_ = false;
};

// Of the agent that is in this process now; nullptr: there is none, or one that does not understand us (`warn` hears
// why).
[[nodiscard]] std::unique_ptr<DeviceSource> make_agent_source(bool is_asked_for,
                                                              const std::function<void(std::string)>& warn);

}  // namespace stepscope

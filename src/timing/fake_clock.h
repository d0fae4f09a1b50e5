// A scripted Clock: a host and one in-order device whose times the test decides, and errors on demand.
//
// Tests of timers must not measure the machine they run on. Here time passes only where the script says: each reading
// of the clock, each call and each launch costs what was set, and the device works through what was launched in order,
// beside the host, as one CUDA stream does. An event is reached when the device gets to it; the time between two events
// that the host did not yet see reached is an error, as with CUDA, so that a timer which forgets to wait fails its
// test. Header only, so that no installed library contains it.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>

#include "stepscope/clock.h"

namespace stepscope {

class FakeClock final : public Clock {
 public:
  enum class Call : std::uint8_t { kSynchronize, kNow, kRecordEvent, kWaitEvent, kElapsed, kReleaseEvent };

  // What each call costs the host, in ns. now_ns returns the time after its cost was added.
  std::int64_t now_cost_ns = 0;
  std::int64_t synchronize_cost_ns = 0;
  std::int64_t record_cost_ns = 0;
  std::int64_t wait_cost_ns = 0;
  bool device = true;
  std::string clock_name = "fake";

  // --- the script ---

  // The host works, or sleeps.
  void advance_host(std::int64_t ns) { host_ns_ += ns; }
  // The host spends `host_ns` on a launch; the device then works for `device_ns`, once it has done what came before.
  void launch(std::int64_t device_ns, std::int64_t host_ns = 0) {
    host_ns_ += host_ns;
    device_free_ns_ = std::max(device_free_ns_, host_ns_) + device_ns;
  }
  // The nth call of this kind from now on (1: the next) fails; with `sticky` all later calls that can fail do too, as
  // after a CUDA error that spoils the context. kNow and kReleaseEvent cannot fail.
  void fail(Call call, std::int64_t nth, Error error, bool sticky = false) {
    failures_[index(call)] = {calls_[index(call)] + nth, std::move(error), sticky};
  }

  // --- what the test asks ---

  [[nodiscard]] std::int64_t host_ns() const { return host_ns_; }
  [[nodiscard]] std::int64_t device_free_ns() const { return device_free_ns_; }  // when all launched work has ended
  [[nodiscard]] std::int64_t calls(Call call) const { return calls_[index(call)]; }
  [[nodiscard]] std::size_t live_events() const { return events_.size(); }
  [[nodiscard]] std::size_t most_live_events() const { return most_live_events_; }

  // --- Clock ---

  [[nodiscard]] std::string name() const override { return clock_name; }
  [[nodiscard]] bool is_device() const override { return device; }
  Status synchronize() override {
    if (const auto error = count(Call::kSynchronize)) return *error;
    host_ns_ = std::max(host_ns_, device_free_ns_) + synchronize_cost_ns;
    return Done{};
  }
  [[nodiscard]] std::int64_t now_ns() override {
    ++calls_[index(Call::kNow)];
    return host_ns_ += now_cost_ns;
  }
  Result<ClockEvent> record_event() override {
    if (const auto error = count(Call::kRecordEvent)) return *error;
    host_ns_ += record_cost_ns;
    events_[++last_handle_] = std::max(host_ns_, device_free_ns_);
    most_live_events_ = std::max(most_live_events_, events_.size());
    return ClockEvent{last_handle_};
  }
  Status wait_event(ClockEvent event) override {
    if (const auto error = count(Call::kWaitEvent)) return *error;
    const auto at = events_.find(event.handle);
    if (at == events_.end()) return Error{ErrorCode::kInvalidArgument, "wait for an event that does not exist", ""};
    host_ns_ = std::max(host_ns_, at->second) + wait_cost_ns;
    return Done{};
  }
  Result<double> elapsed_ns(ClockEvent begin, ClockEvent end) override {
    if (const auto error = count(Call::kElapsed)) return *error;
    const auto first = events_.find(begin.handle);
    const auto second = events_.find(end.handle);
    if (first == events_.end() || second == events_.end()) {
      return Error{ErrorCode::kInvalidArgument, "time between events that do not exist", ""};
    }
    if (first->second > host_ns_ || second->second > host_ns_) {
      return Error{ErrorCode::kInvalidArgument, "time between events that were not reached", ""};
    }
    return static_cast<double>(second->second - first->second);
  }
  void release_event(ClockEvent event) override {
    ++calls_[index(Call::kReleaseEvent)];
    events_.erase(event.handle);
  }

 private:
  struct Failure {
    std::int64_t at = std::numeric_limits<std::int64_t>::max();
    Error error;
    bool sticky = false;
  };

  static std::size_t index(Call call) { return static_cast<std::size_t>(call); }

  // Counts the call; the error that it has to return, if any.
  std::optional<Error> count(Call call) {
    const std::int64_t nth = ++calls_[index(call)];
    const Failure& failure = failures_[index(call)];
    if (!broken_ && nth == failure.at) {
      if (!failure.sticky) return failure.error;
      broken_ = failure.error;
    }
    return broken_;
  }

  std::int64_t host_ns_ = 0;
  std::int64_t device_free_ns_ = 0;
  std::uint64_t last_handle_ = 0;
  std::map<std::uint64_t, std::int64_t> events_;  // handle -> when the device reaches it
  std::size_t most_live_events_ = 0;
  std::array<std::int64_t, 6> calls_{};
  std::array<Failure, 6> failures_{};
  std::optional<Error> broken_;
};

}  // namespace stepscope

// Where in the program a GPU event was launched: the spans around its call, as one text.
#pragma once

#include <string>
#include <vector>

#include "analyze/host_label.h"
#include "analyze/steps.h"

namespace stepscope {

class LaunchPlaces {
 public:
  LaunchPlaces(const Trace& trace, const Steps& steps);

  // A number from 0 (none); the same for the same place.
  [[nodiscard]] std::uint32_t place_of(GpuEventId event) const;
  // "backward > nccl:all_reduce", outermost first; empty for 0.
  [[nodiscard]] std::string text(std::uint32_t place) const;

 private:
  struct Place {
    std::uint32_t parent = 0;
    std::size_t depth = 0;
    StringId name;
  };
  // From this time on a thread is in this place.
  struct Change {
    TimeNs time_ns = 0;
    std::uint32_t place = 0;
  };
  class Opener;
  [[nodiscard]] std::vector<Change> changes_of(ThreadId thread, const Steps& steps, Opener& opener) const;
  [[nodiscard]] std::uint32_t place_at(ThreadId thread, TimeNs time_ns) const;
  [[nodiscard]] bool is_in_backward(OpId op) const;

  const Trace& trace_;
  HostNames names_;
  ThreadId main_thread_;
  std::vector<Place> places_;
  Column<ThreadId, std::vector<Change>> changes_;
};

}  // namespace stepscope

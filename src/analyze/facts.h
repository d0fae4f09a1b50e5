// All facts of one trace, computed in one straight list. Rules and reports read this and nothing else.
#pragma once

#include "analyze/averages.h"
#include "analyze/busy.h"
#include "analyze/efficiency_facts.h"
#include "analyze/flops.h"
#include "analyze/host_collectives.h"
#include "analyze/idle.h"
#include "analyze/ledger.h"
#include "analyze/memory_levels.h"
#include "analyze/waits.h"
#include "analyze/what_if.h"

namespace stepscope {

struct FactOptions {
  StepOptions steps;
  bool whole_file_window = false;                // --window all
  std::optional<std::int64_t> device_number;     // --device N: the main device; missing: the one with most GPU time
  std::optional<double> peak_flops_per_s;        // --peak-flops
  std::vector<std::string> operators_to_remove;  // see WhatIfOptions
};

struct Facts {
  GpuTimeline timeline;
  Launches launches;
  Steps steps;
  Ledger ledger;
  KernelClasses classes;
  std::vector<DeviceBusy> busy;  // by device
  HostPath path;
  std::vector<DeviceIdle> idle;  // same order as busy
  std::vector<Wait> waits;
  HostCollectives host_collectives;  // empty where a GPU was recorded
  Flops flops;
  Efficiency efficiency;
  MemoryLevels memory;
  WhatIfs what_ifs;
  Launches device_launches;     // of the main device alone; empty where no other has GPU events
  std::size_t main_device = 0;  // index into busy and idle; meaningless when busy is empty
  [[nodiscard]] const DeviceBusy* main_busy() const { return busy.empty() ? nullptr : &busy[main_device]; }
  [[nodiscard]] const Launches& main_launches() const { return busy.size() > 1 ? device_launches : launches; }
  [[nodiscard]] const DeviceIdle* main_idle() const { return idle.empty() ? nullptr : &idle[main_device]; }
};

[[nodiscard]] Facts compute_facts(const Trace& trace, const FactOptions& options);

}  // namespace stepscope

// The number by which a Chrome trace's reader joins an operator with the calls and the GPU's rows that came of it.
//
// PyTorch writes `External id` into all three; HTA and scripts join by it. A capture has no such numbers: its rows
// refer to each other, so an operator's number is made from its row here. Other recordings keep what they have, also
// where that is nothing: a number made up would join what nobody said belongs together.
#pragma once

#include "trace/producers.h"
#include "trace/trace.h"

namespace stepscope {

class ExternalIds {
 public:
  explicit ExternalIds(const Trace& trace) : trace_(trace) {
    is_made_ = trace.info.producer == kCaptureProducer;
    for (const OpId id : trace.ops.ids().ids()) is_made_ = is_made_ && !trace.ops.external_id[id].has_value();
  }

  [[nodiscard]] MaybeInt of(OpId id) const { return is_made_ ? made(id) : trace_.ops.external_id[id]; }
  [[nodiscard]] MaybeInt of(CallId id) const {
    return is_made_ ? made(trace_.calls.op[id]) : trace_.calls.external_id[id];
  }
  [[nodiscard]] MaybeInt of(GpuEventId id) const {
    return is_made_ ? made(trace_.gpu_events.op[id]) : trace_.gpu_events.external_id[id];
  }

 private:
  // From 1: PyTorch takes 0 for none.
  [[nodiscard]] static MaybeInt made(OpId id) {
    return id.has_value() ? MaybeInt(static_cast<std::int64_t>(id.value) + 1) : MaybeInt();
  }

  const Trace& trace_;
  bool is_made_ = false;
};

}  // namespace stepscope

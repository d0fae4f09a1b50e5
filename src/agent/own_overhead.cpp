// Opening a window takes 0.1 ms and the first start of CUPTI 20 ms on an H200's host, a memory snapshot 60 to 130 ms
// after 60 steps of a small model. What is short is noted as well: the reader knows the steps, and so what is short.
#include "agent/own_overhead.h"

#include <string>

#include "agent/parts.h"
#include "base/own_overhead.h"
#include "capture/event_ring.h"

namespace stepscope::agent {

void note_own_overhead(std::string_view what, TimeNs start_ns, TimeNs end_ns) noexcept try {
  if (!is_window_open() || end_ns <= start_ns) return;
  HookEvent event;
  event.kind = HookEventKind::kOverhead;
  event.start_ns = start_ns;
  event.end_ns = end_ns;
  event.name = intern_name(std::string(kOwnOverheadPrefix).append(what));
  emit_event(event);
} catch (...) {
  // Out of memory: the time stays unnamed.
}

OwnOverhead::OwnOverhead(std::string_view what) noexcept : what_(what), start_ns_(now_ns()) {}
OwnOverhead::~OwnOverhead() { note_own_overhead(what_, start_ns_, now_ns()); }

}  // namespace stepscope::agent

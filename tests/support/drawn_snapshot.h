// A memory snapshot drawn as text, so that a test shows what happened and what must come of it side by side.
//
// One line an entry, in order; entry k has time 1000 * (k + 1) us, an annotation the time of the entry before it.
//   segment A 20M            segment_alloc; A is a name, its address 16 GiB from the last one's
//   older_segment A 20M      held before the history: no entry
//   older a A+4M 2M          a block live before the history: no entry
//   alloc a A+4M 2M          2 MiB are asked for at A + 4 MiB; the name a stands for it from here on
//   free a                   free_requested and free_completed; `request a` and `complete a` for one of them
//   segment_free A | map A+20M 20M | unmap A+20M 20M | oom 12M device_free=1M | snapshot | user_defined | unknown
//   start step#1 | end step#1
// Words behind: stream=7 pool=1:2 block=5M (the block's true size, else rounded to 512) category=activation device=1,
// and last @ frames from the inside, parted by ";": @ linear.py:5 forward; train.py:10 main. Sizes: 7, 4K, 2M, 1G.
// What is live at the end becomes the blocks of the segments; what lies between is free.
#pragma once

#include <string>

#include "memory/snapshot.h"

namespace stepscope {

// A line that is not understood fails the running test.
[[nodiscard]] MemorySnapshot drawn_snapshot(const std::string& text);

}  // namespace stepscope

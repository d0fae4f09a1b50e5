// A small trace drawn as text, so that a test's input and its expectation can be seen together.
//
//   trace_from_text(R"(
//     step      [4                ][5              ]
//     span        [data ]
//     op          .     [mm     ]  .    [mm     ]
//     call                [L1]            [L2]
//     gpu/7                  [K1=======]    [K2======]
//     where
//       mm = aten::mm ext 1
//       L1 = cudaLaunchKernel corr 1 ext 1
//       K1 = gemm_kernel corr 1 ext 1
//       L2 = cudaLaunchKernel corr 2
//       K2 = gemm_kernel corr 2
//   )")
//
// A row is its label, in a field 10 columns wide (after the common indentation), then the picture: each column is 10 us
// (see PictureOptions). `[name===]` is an event from the column of `[` to the column after `]` (half open); spaces, `=`
// and `-` around the name are fill, and what stands outside brackets is decoration. Brackets do not nest in one row:
// draw nested events in several rows with the same label.
//
// Labels: `step` (a span named ProfilerStep#NAME), `span`, `op`, `py` (Python frame), `call` (runtime call), each
// perhaps with a thread, as in `op@bwd` (else the thread is `main`); `gpu/7` or `gpu1/7` (device 1, stream 7; kernels,
// copies by a real name that begins with Memcpy, sets with Memset); `note/7` (gpu_user_annotation).
// Lines after `where` give a drawn name its real name and its attributes: corr N, ext N, seq N, fwd N, bytes N,
// shapes JSON, types JSON, concrete JSON (JSON without spaces), and `@ A..B`, the exact times in ns. Real names may
// hold spaces. A drawn name without a line stands for itself. Two drawn events may share a name and its attributes.
#pragma once

#include <string_view>

#include "trace/trace.h"

namespace stepscope {

struct PictureOptions {
  std::int64_t ns_per_column = 10'000;
};

// Fails the test (ADD_FAILURE) and returns what it has when the picture is wrong.
[[nodiscard]] Trace trace_from_text(std::string_view picture, const PictureOptions& options = {});

// The first row with this (real) name, in table order; fails the test when there is none.
[[nodiscard]] GpuEventId gpu_event_named(const Trace& trace, std::string_view name);
[[nodiscard]] CallId call_named(const Trace& trace, std::string_view name);
[[nodiscard]] OpId op_named(const Trace& trace, std::string_view name);
[[nodiscard]] ThreadId thread_named(const Trace& trace, std::string_view key);

}  // namespace stepscope

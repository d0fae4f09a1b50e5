// Blocking calls, drawn: what they waited for, and which of them are hidden.
#include "analyze/waits.h"

#include <gtest/gtest.h>

#include "analyze/idle_test_facts.h"

namespace stepscope {
namespace {

// `.item()` in mid-step: half of the launches come after it.
TEST(Waits, AnItemInMidStepIsHidden) {
  const IdleTestFacts facts(trace_from_text(R"(
    step      [1                                        ]
    span      [forward           ]
    op           [item     ]
    op            [lsd    ]
    py        [hook       ]
    py           [inner ]
    call      [A] [C][S   ] [B] [B]
    gpu/7        [K1===][D]    [K2=][K2=]
    where
      item = aten::item
      lsd = aten::_local_scalar_dense
      hook = train.py(52): hook
      inner = torch/_tensor.py(9): item
      A = cudaLaunchKernel corr 1
      K1 = a corr 1
      C = cudaMemcpyAsync corr 2
      D = Memcpy DtoH (Device -> Pageable) corr 2
      S = cudaStreamSynchronize
      B = cudaLaunchKernel corr 3
      K2 = b corr 3
  )"));
  const auto waits = facts.waits();
  ASSERT_EQ(waits.size(), 1U);
  EXPECT_EQ(waits[0].kind, WaitKind::kStream);
  EXPECT_EQ(waits[0].condition, gpu_event_named(facts.trace, "Memcpy DtoH (Device -> Pageable)"));
  EXPECT_TRUE(waits[0].blocked);
  EXPECT_EQ(waits[0].step, 0U);
  EXPECT_TRUE(waits[0].hidden());
  const CallId call = waits[0].call;
  const HostPlace place =
      find_host_place(facts.trace, facts.trace.calls.thread[call], facts.trace.calls.start_ns[call]);
  EXPECT_EQ(place.spans, "ProfilerStep#1 > forward");
  EXPECT_EQ(place.operators, "aten::item > aten::_local_scalar_dense");
  EXPECT_EQ(place.python_line, "train.py(52): hook");
}

TEST(Waits, OneAtTheStepsEndIsLegal) {
  const IdleTestFacts facts(trace_from_text(R"(
    step      [1                    ]
    call      [A][S            ]
    gpu/7        [K1==========]
    where
      A = cudaLaunchKernel corr 1
      K1 = a corr 1
      S = cudaStreamSynchronize
  )"));
  const auto waits = facts.waits();
  ASSERT_EQ(waits.size(), 1U);
  EXPECT_TRUE(waits[0].blocked);
  EXPECT_EQ(waits[0].launches_to_come_ratio, 0.0);
  EXPECT_FALSE(waits[0].hidden());
}

TEST(Waits, WorkThatHadEndedBlocksNobody) {
  const IdleTestFacts facts(trace_from_text(R"(
    step      [1                    ]
    call      [A]       [S] [B]
    gpu/7        [K1]         [K2]
    where
      A = cudaLaunchKernel corr 1
      K1 = a corr 1
      B = cudaLaunchKernel corr 2
      K2 = b corr 2
      S = cudaStreamSynchronize
  )"));
  ASSERT_EQ(facts.waits().size(), 1U);
  EXPECT_FALSE(facts.waits()[0].blocked);
}

// A stream that outlives the call is refuted as its condition.
TEST(Waits, TheConditionEndsBeforeTheCallReturns) {
  const IdleTestFacts facts(trace_from_text(R"(
    call      [A][B][S    ]
    gpu/7       [K1=====]
    gpu/20           [K2=========]
    where
      A = cudaLaunchKernel corr 1
      K1 = a corr 1
      B = cudaLaunchKernel corr 2
      K2 = b corr 2
      S = cudaDeviceSynchronize
  )"));
  const auto waits = facts.waits();
  ASSERT_EQ(waits.size(), 1U);
  EXPECT_EQ(waits[0].kind, WaitKind::kDevice);
  EXPECT_EQ(waits[0].condition, gpu_event_named(facts.trace, "a"));
  EXPECT_FALSE(waits[0].step.has_value());
}

TEST(Waits, AnEventWaitsForWhatWasLaunchedBeforeItsRecord) {
  const IdleTestFacts facts(trace_from_text(R"(
    call      [A][R][B][E    ]
    gpu/7       [K1======][K2====]
    where
      A = cudaLaunchKernel corr 1
      K1 = a corr 1
      B = cudaLaunchKernel corr 2
      K2 = b corr 2
      R = cudaEventRecord
      E = cudaEventSynchronize
  )"));
  const auto waits = facts.waits();
  ASSERT_EQ(waits.size(), 1U);
  EXPECT_EQ(waits[0].kind, WaitKind::kEvent);
  EXPECT_EQ(waits[0].condition, gpu_event_named(facts.trace, "a"));
}

TEST(Waits, ABlockingCopyWaitsForItself) {
  const IdleTestFacts facts(trace_from_text(R"(
    step      [1                    ]
    call      [C      ][S] [F    ]  [B]
    gpu/7       [H==]               [K2]
    gpu/20                 [K1]
    where
      C = cudaMemcpyAsync corr 1
      H = Memcpy HtoD (Pageable -> Device) corr 1
      S = cudaStreamSynchronize
      F = cudaFree
      K1 = a corr 9
      B = cudaLaunchKernel corr 2
      K2 = b corr 2
  )"));
  const auto waits = facts.waits();
  ASSERT_EQ(waits.size(), 3U);
  EXPECT_EQ(waits[0].kind, WaitKind::kCopy);
  EXPECT_TRUE(waits[0].blocked);
  EXPECT_FALSE(waits[0].hidden()) << "a finding of its own";
  EXPECT_EQ(waits[1].kind, WaitKind::kStream);
  EXPECT_TRUE(waits[1].after_pageable_copy);
  EXPECT_EQ(waits[2].kind, WaitKind::kFree);
  EXPECT_FALSE(waits[2].hidden());
}

TEST(Waits, OnesInsideTheLoaderAreTheLoaders) {
  const IdleTestFacts facts(trace_from_text(R"(
    step      [1                       ]
    span      [data         ]
    call      [A][S        ] [B]
    gpu/7       [K1======]     [K2]
    where
      A = cudaLaunchKernel corr 1
      K1 = a corr 1
      B = cudaLaunchKernel corr 2
      K2 = b corr 2
      S = cudaStreamSynchronize
  )"));
  const auto waits = facts.waits();
  ASSERT_EQ(waits.size(), 1U);
  EXPECT_TRUE(waits[0].blocked);
  EXPECT_TRUE(waits[0].in_loader_or_checkpoint);
  EXPECT_FALSE(waits[0].hidden());
}

TEST(HostPlace, KnowsTheUsersFrames) {
  for (const auto name : {"train.py(52): hook", "models/attention.py(7): forward", "/home/u/run.py(1): <module>",
                          "heldout_lab.py(22): forward"}) {
    EXPECT_TRUE(is_user_frame(name)) << name;
  }
  for (const auto name :
       {"torch/nn/modules/module.py(1751): _call_impl", "/opt/venv/lib/python3.11/site-packages/x/y.py(3): f",
        "enum.py(1267): __hash__", "logging/__init__.py(1776): getEffectiveLevel", "typing.py(392): inner",
        "<built-in method item of Tensor object at 0x7f>", "nn.Module: Linear_0", "<frozen runpy>(198): _run_code",
        "/usr/lib/python3.11/threading.py(982): run", "C:\\Python311\\Lib\\enum.py(9): f",
        "transformers/trainer.py(10): train", ""}) {
    EXPECT_FALSE(is_user_frame(name)) << name;
  }
}

TEST(HostPlace, OldFilesKeepStacksBesideOperators) {
  Trace trace = trace_from_text(R"(
    op        [item        ]
  )");
  trace.ops.call_stack[OpId(0)] =
      trace.strings.intern("torch/_tensor.py(1): item;train.py(9): step;main.py(2): <module>");
  EXPECT_EQ(find_host_place(trace, thread_named(trace, "main"), 20'000).python_line, "train.py(9): step");
  EXPECT_EQ(find_host_place(trace, thread_named(trace, "main"), 900'000).python_line, "");
  EXPECT_EQ(find_host_place(trace, ThreadId(), 0).operators, "");
}

}  // namespace
}  // namespace stepscope

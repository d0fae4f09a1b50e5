// The path back from a launch over threads, look-ups with and without a cursor, and checkpoints known by their copies.
#include "analyze/host_path.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "analyze/checkpoint_copies.h"
#include "analyze/idle_test_facts.h"
#include "trace/builder.h"

namespace stepscope {
namespace {

std::string text_of(const Trace& trace, const std::vector<PathPart>& parts) {
  std::string text;
  for (const PathPart& part : parts) {
    if (!text.empty()) text += " ";
    text += std::string(trace.text(trace.threads.key[part.thread])) + ":" + std::to_string(part.start_ns / 10'000) +
            "-" + std::to_string(part.end_ns / 10'000);
  }
  return text;
}

constexpr std::string_view kBackward = R"(
    op        [fwd ]                      [opt  ]
    op@bwd             [b1 ] [b2   ]
    call@bwd             [L1]
    op@other             [x        ]
    call@lone               [L2]
    gpu/7                   [K1=]   [K2]
    where
      L1 = cudaLaunchKernel corr 1
      L2 = cudaLaunchKernel corr 2
      K1 = a corr 1
      K2 = b corr 2
  )";

TEST(HostPath, WorkersLaunchOrRunAutograd) {
  const IdleTestFacts facts(trace_from_text(kBackward));
  std::string names;
  for (const ThreadId thread : facts.path.working_threads()) {
    names += std::string(facts.trace.text(facts.trace.threads.key[thread])) + " ";
  }
  EXPECT_EQ(names.find("other"), std::string::npos) << "it neither launches nor runs autograd";
  EXPECT_EQ(facts.path.working_threads().size(), 3U) << names;
  EXPECT_TRUE(facts.path.all_slices(thread_named(facts.trace, "other")).empty());
}

TEST(HostPath, MainsPathGoesThroughTheWorkerItWaitedFor) {
  const IdleTestFacts facts(trace_from_text(R"(
    op        [fwd ]                      [opt  ]
    op@bwd             [b1 ] [b2   ]
    call@bwd             [L1]
    gpu/7                   [K1=]
    where
      L1 = cudaLaunchKernel corr 1
      K1 = a corr 1
  )"));
  const ThreadId main = facts.path.main_thread(), bwd = thread_named(facts.trace, "bwd");
  std::vector<PathPart> parts;
  facts.path.path(main, 20'000, 330'000, parts);
  EXPECT_EQ(text_of(facts.trace, parts), "main:2-9 bwd:9-22 main:22-33");
  parts.clear();
  facts.path.path(bwd, 20'000, 120'000, parts);
  EXPECT_EQ(text_of(facts.trace, parts), "main:2-9 bwd:9-12");
  parts.clear();
  facts.path.path(bwd, 100'000, 120'000, parts);
  EXPECT_EQ(text_of(facts.trace, parts), "bwd:10-12");
  parts.clear();
  facts.path.path(main, 100'000, 100'000, parts);
  EXPECT_TRUE(parts.empty());
}

TEST(HostPath, AThreadOfAnotherProcessStaysByItself) {
  Builder builder;
  Fragment fragment;
  const ThreadId main = fragment.thread("1", "main"), other = fragment.thread("2", "main2");
  for (const auto& [thread, start] : {std::pair{main, 0}, std::pair{other, 200}, std::pair{main, 400}}) {
    Calls::Row call;
    call.thread = thread;
    call.start_ns = start;
    call.end_ns = start + 100;
    call.correlation = start;
    call.name = fragment.strings.intern("cudaLaunchKernel");
    fragment.calls.push_back(call);
    GpuEvents::Row event;
    event.start_ns = start + 50;
    event.end_ns = start + 90;
    event.device = fragment.device(0);
    event.stream = fragment.stream(0, "7");
    event.correlation = start;
    event.name = fragment.strings.intern("k");
    fragment.gpu_events.push_back(event);
  }
  builder.add(std::move(fragment));
  const IdleTestFacts facts(builder.finish(1), {0, 500});
  EXPECT_EQ(facts.path.working_threads().size(), 2U);
  EXPECT_TRUE(facts.path.handoffs().empty());
  std::vector<PathPart> parts;
  facts.path.path(thread_named(facts.trace, "main2"), 0, 250, parts);
  EXPECT_EQ(text_of(facts.trace, parts), "main2:0-0");
  EXPECT_EQ(parts[0].end_ns, 250);
}

TEST(HostPath, SlicesCoverWhatIsAskedWithoutHoles) {
  const IdleTestFacts facts(trace_from_text(R"(
    op        [a ]   [b ]
  )"));
  std::vector<HostSlice> out;
  facts.path.slices(facts.path.main_thread(), 20'000, 150'000, out);
  ASSERT_EQ(out.size(), 4U);
  EXPECT_EQ(out[0].start_ns, 20'000);
  EXPECT_EQ(out[1].label, HostLabel::kNoEvent);
  EXPECT_EQ(out[1].end_ns, 70'000);
  EXPECT_EQ(out[3].end_ns, 150'000);
  out.clear();
  facts.path.slices(ThreadId(), 20'000, 30'000, out);
  ASSERT_EQ(out.size(), 1U) << "of no thread: nothing is known";
  EXPECT_EQ(out[0].label, HostLabel::kNoEvent);
}

TEST(HostPath, ACursorChangesNoAnswer) {
  Builder builder;
  Fragment fragment;
  std::mt19937 random(7);
  const ThreadId threads[] = {fragment.thread("1", "main"), fragment.thread("1", "bwd")};
  TimeNs now = 0;
  for (int i = 0; i < 2000; ++i) {
    Calls::Row call;
    call.thread = threads[random() % 2];
    call.start_ns = now += static_cast<TimeNs>(random() % 20);
    call.end_ns = now += static_cast<TimeNs>(random() % 20);
    call.correlation = i;
    call.name = fragment.strings.intern(random() % 2 == 0 ? "cudaLaunchKernel" : "cudaEventRecord");
    fragment.calls.push_back(call);
    GpuEvents::Row event;
    event.start_ns = event.end_ns = call.start_ns;
    event.device = fragment.device(0);
    event.stream = fragment.stream(0, "7");
    event.correlation = i;
    fragment.gpu_events.push_back(event);
  }
  builder.add(std::move(fragment));
  const IdleTestFacts facts(builder.finish(1), {0, now});
  HostPath::Cursor cursor = facts.path.cursor();
  for (int i = 0; i < 3000; ++i) {
    const TimeNs from = static_cast<TimeNs>(random() % static_cast<unsigned>(now + 100)) - 50;
    const TimeNs to = from + static_cast<TimeNs>(random() % 500);
    const ThreadId thread = facts.path.working_threads()[random() % 2];
    std::vector<HostSlice> fresh, moved;
    facts.path.slices(thread, from, to, fresh);
    facts.path.slices(cursor, thread, from, to, moved);
    ASSERT_EQ(fresh.size(), moved.size());
    for (std::size_t at = 0; at < fresh.size(); ++at) {
      EXPECT_EQ(fresh[at].start_ns, moved[at].start_ns);
      EXPECT_EQ(fresh[at].label, moved[at].label);
      EXPECT_EQ(fresh[at].start_ns, at == 0 ? from : fresh[at - 1].end_ns);
    }
    if (!fresh.empty()) {
      EXPECT_EQ(facts.path.label_at(thread, from), fresh[0].label);
    }
    std::vector<PathPart> fresh_path, moved_path;
    facts.path.path(thread, from, to, fresh_path);
    facts.path.path(cursor, thread, from, to, moved_path);
    EXPECT_EQ(text_of(facts.trace, fresh_path), text_of(facts.trace, moved_path));
    for (std::size_t at = 0; at < fresh_path.size(); ++at) {
      EXPECT_EQ(fresh_path[at].start_ns, at == 0 ? from : fresh_path[at - 1].end_ns);
    }
    if (to > from) {
      EXPECT_EQ(fresh_path.back().end_ns, to);
    }
  }
}

TEST(HostPath, OverheadRowsAreTheProfilers) {
  Builder builder;
  Fragment fragment;
  Calls::Row call;
  call.thread = fragment.thread("1", "main");
  call.end_ns = 100;
  call.name = fragment.strings.intern("cudaLaunchKernel");
  fragment.calls.push_back(call);
  for (const std::string_view pid : {"1", "-1"}) {
    OtherEvents::Row row;
    row.category = fragment.strings.intern("overhead");
    row.name = fragment.strings.intern("Buffer Flush");
    row.process_key = fragment.strings.intern(pid);
    row.thread_key = fragment.strings.intern("main");
    row.start_ns = pid == "1" ? 20 : 60;
    row.end_ns = row.start_ns + 10;
    row.phase = 'X';
    fragment.other_events.push_back(row);
  }
  builder.add(std::move(fragment));
  const IdleTestFacts facts(builder.finish(1), {0, 100});
  EXPECT_EQ(facts.path.label_at(facts.path.main_thread(), 25), HostLabel::kProfiler);
  EXPECT_EQ(facts.path.label_at(facts.path.main_thread(), 35), HostLabel::kLaunch);
  EXPECT_EQ(facts.path.label_at(facts.path.main_thread(), 65), HostLabel::kProfiler) << "a process of its own";
}

// Four steps of 1,000 ns, each with kernels up to 100 and, in the steps asked for, `copies` copies from 200 on.
IdleTestFacts loop_with_copies(int copies, std::int64_t bytes, std::vector<int> in_steps) {
  Builder builder;
  Fragment fragment;
  const ThreadId main = fragment.thread("1", "main");
  std::int64_t correlation = 0;
  const auto launch = [&](TimeNs start_ns, bool copy) {
    Calls::Row call;
    call.thread = main;
    call.start_ns = start_ns;
    call.end_ns = start_ns + 2;
    call.correlation = ++correlation;
    call.name = fragment.strings.intern(copy ? "cudaMemcpyAsync" : "cudaLaunchKernel");
    fragment.calls.push_back(call);
    GpuEvents::Row event;
    event.start_ns = start_ns + 3;
    event.end_ns = start_ns + 5;
    event.device = fragment.device(0);
    event.stream = fragment.stream(0, "7");
    event.kind = copy ? GpuEventKind::kCopy : GpuEventKind::kKernel;
    event.name = fragment.strings.intern(copy ? "Memcpy DtoH (Device -> Pageable)" : "gemm");
    event.correlation = correlation;
    if (copy) event.bytes = bytes;
    fragment.gpu_events.push_back(event);
  };
  for (int step = 0; step < 4; ++step) {
    Spans::Row row;
    row.start_ns = step * 1000;
    row.end_ns = row.start_ns + 1000;
    row.thread = main;
    row.name = fragment.strings.intern("ProfilerStep#" + std::to_string(step));
    fragment.spans.push_back(row);
    launch(row.start_ns + 10, true);  // the loss, far from any run
    for (int kernel = 0; kernel < 10; ++kernel) launch(row.start_ns + 40 + kernel * 6, false);
    launch(row.start_ns + 100, false);
    const bool saves = std::find(in_steps.begin(), in_steps.end(), step) != in_steps.end();
    for (int copy = 0; saves && copy < copies; ++copy) launch(row.start_ns + 200 + copy * 10, true);
    if (step == 2) launch(row.start_ns + 900, false);
  }
  builder.add(std::move(fragment));
  return IdleTestFacts(builder.finish(1));
}

TEST(HostPath, BulkCopiesToTheHostAreACheckpoint) {
  const IdleTestFacts facts = loop_with_copies(16, 4 << 20, {1, 2});
  const auto found = infer_checkpoints(facts.trace, facts.steps);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].start_ns, 1102) << "the state is collected before the first copy";
  EXPECT_EQ(found[0].end_ns, 2000) << "the file is written after the last copy";
  EXPECT_EQ(found[1].end_ns, 2900) << "until the loop goes on";
  EXPECT_EQ(facts.path.label_at(facts.path.main_thread(), 1500), HostLabel::kCheckpoint);
  EXPECT_EQ(facts.path.label_at(facts.path.main_thread(), 2950), HostLabel::kPython);
}

TEST(HostPath, FewSmallOrConstantCopiesAreNoCheckpoint) {
  const IdleTestFacts few = loop_with_copies(15, 64 << 20, {1}), small = loop_with_copies(40, 1 << 20, {1}),
                      always = loop_with_copies(16, 4 << 20, {0, 1, 2});
  EXPECT_TRUE(infer_checkpoints(few.trace, few.steps).empty());
  EXPECT_TRUE(infer_checkpoints(small.trace, small.steps).empty());
  EXPECT_TRUE(infer_checkpoints(always.trace, always.steps).empty()) << "moving state to the host in most steps";
}

}  // namespace
}  // namespace stepscope

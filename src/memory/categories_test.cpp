// Categories: one training step drawn with the frames that torch records.
#include <gtest/gtest.h>

#include "memory/facts.h"
#include "support/drawn_snapshot.h"

namespace stepscope {
namespace {

const std::string kTorch = "/x/site-packages/torch/";
const std::string kStep = R"(
  segment A 400M
  alloc weight A 10M @ )" +
                          kTorch + R"(nn/modules/linear.py:106 __init__; model.py:3 __init__
  alloc batch A+10M 2M @ train.py:4 main
  alloc activation A+12M 4M @ )" +
                          kTorch + R"(nn/modules/linear.py:134 forward; model.py:9 forward
  alloc temporary A+16M 4M @ )" +
                          kTorch + R"(nn/functional.py:5 softmax; model.py:10 forward
  free temporary
  alloc loss A+16M 512 @ train.py:6 main
  alloc detail A+20M 4M @ )" +
                          kTorch + R"(autograd/graph.py:829 _engine_run_backward; train.py:7 main
  free activation
  free loss
  alloc gradient A+24M 10M @ )" +
                          kTorch + R"(autograd/graph.py:829 _engine_run_backward; train.py:7 main
  free detail
  alloc state A+40M 10M @ )" +
                          kTorch + R"(optim/adam.py:178 _init_group; train.py:8 main
  alloc scratch A+60M 10M @ )" +
                          kTorch + R"(optim/adam.py:300 adam; train.py:8 main
  free scratch
  free batch
  alloc bucket A+80M 3M @ )" +
                          kTorch + R"(distributed/c10d.py:9 all_reduce; train.py:9 main
  alloc next A+100M 4M @ )" +
                          kTorch + R"(nn/modules/linear.py:134 forward; model.py:9 forward
  free gradient
  free bucket
)";

std::vector<std::string> categories_of(const MemorySnapshot& snapshot) {
  const MemoryFacts facts = compute_memory_facts(snapshot);
  std::vector<std::string> names;
  for (const AllocationId row : facts.allocations.ids().ids()) {
    const MemoryCategory category = facts.allocations.category[row];
    const bool is_known = category != MemoryCategory::kUnknown;
    EXPECT_EQ(facts.allocations.category_source[row] != CategorySource::kNone, is_known);
    names.emplace_back(memory_category_name(category));
  }
  return names;
}

TEST(Categories, OfOneTrainingStep) {
  EXPECT_EQ(categories_of(drawn_snapshot(kStep)),
            (std::vector<std::string>{"parameter", "input", "activation", "temporary", "activation", "autograd detail",
                                      "gradient", "optimizer state", "temporary", "unknown", "activation"}));
}

TEST(Categories, RecordedOnesAreKept) {
  const MemorySnapshot snapshot = drawn_snapshot(R"(
    segment A 40M
    alloc a A 1M category=gradient @ /x/site-packages/torch/nn/modules/linear.py:1 forward
    alloc b A+1M 1M @ /x/site-packages/torch/nn/modules/linear.py:1 forward
  )");
  const MemoryFacts facts = compute_memory_facts(snapshot);
  EXPECT_EQ(facts.allocations.category[AllocationId(0)], MemoryCategory::kGradient);
  EXPECT_EQ(facts.allocations.category_source[AllocationId(0)], CategorySource::kRecorded);
  EXPECT_EQ(facts.allocations.category_source[AllocationId(1)], CategorySource::kInferred);
}

TEST(Categories, SpansTellWhatStacksDoNot) {
  EXPECT_EQ(categories_of(drawn_snapshot(R"(
              segment A 40M
              start enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__
              alloc batch A 1M @ data.py:3 collate
              end enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__
              alloc output A+1M 1M @ /x/site-packages/torch/nn/modules/linear.py:1 forward
              start Optimizer.step#Mine.step
              alloc state A+2M 1M @ mine.py:9 update
              end Optimizer.step#Mine.step
            )")),
            (std::vector<std::string>{"input", "activation", "optimizer state"}));
}

// With stacks="python" the autograd engine's own thread has no frames.
TEST(Categories, AThreadWithoutPythonIsBackward) {
  EXPECT_EQ(categories_of(drawn_snapshot(R"(
              segment A 40M
              alloc output A 1M @ /x/site-packages/torch/nn/modules/linear.py:1 forward
              alloc detail A+1M 1M
              free detail
              free output
              alloc gradient A+1M 1M
              alloc next A+2M 1M @ /x/site-packages/torch/nn/modules/linear.py:1 forward
              free gradient
            )")),
            (std::vector<std::string>{"activation", "autograd detail", "gradient", "activation"}));
}

TEST(Categories, OlderBlocksAreJudgedByTheirEnd) {
  EXPECT_EQ(categories_of(drawn_snapshot(R"(
              older_segment A 40M
              older stays A 1M
              older state A+1M 1M @ /x/site-packages/torch/optim/adam.py:178 _init_group
              older activation A+2M 1M
              older early A+3M 1M
              free early
              alloc detail A+8M 1M @ /x/site-packages/torch/autograd/graph.py:829 _engine_run_backward; t.py:1 f
              free activation
            )")),
            (std::vector<std::string>{"parameter", "optimizer state", "activation", "unknown", "gradient"}));
}

TEST(Categories, WithoutFramesAndSpansNothingIsSaid) {
  EXPECT_EQ(categories_of(drawn_snapshot("segment A 40M\nalloc a A 1M\nfree a\nalloc b A 1M\n")),
            (std::vector<std::string>{"unknown", "unknown"}));
}

}  // namespace
}  // namespace stepscope

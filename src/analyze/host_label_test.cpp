// Names that mean data loading or checkpointing, and names that only look so.
#include "analyze/host_label.h"

#include <gtest/gtest.h>

#include "support/trace_from_text.h"

namespace stepscope {
namespace {

bool has(std::string_view name, NameTrait trait) { return (classify_host_name(name) & trait) != 0; }

TEST(HostLabel, EveryLabelHasAName) {
  for (std::size_t label = 0; label < kHostLabelCount; ++label) {
    EXPECT_FALSE(host_label_name(static_cast<HostLabel>(label)).empty());
  }
}

TEST(HostLabel, KnowsThePyTorchDataLoader) {
  EXPECT_TRUE(has("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", kLoaderName));
  EXPECT_TRUE(has("torch/utils/data/dataloader.py(733): __next__", kLoaderName));
  EXPECT_FALSE(has("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__init__", kLoaderName));
  EXPECT_FALSE(has("torch/utils/data/dataloader.py(733): _try_get_data", kLoaderName));
}

TEST(HostLabel, KnowsUsersDataSpans) {
  for (const auto name : {"data", "Data", "dataloader", "data_loading", "get_batch", "fetch", "input_pipeline",
                          "[pl][profile][_TrainingEpochLoop].train_dataloader_next"}) {
    EXPECT_TRUE(has(name, kUserLoaderName)) << name;
  }
  for (const auto name : {"data_parallel", "metadata", "batch", "DataParallel.forward", "prefetch_to_gpu"}) {
    EXPECT_FALSE(has(name, kUserLoaderName)) << name;
  }
}

TEST(HostLabel, TellsSavingFromRecomputation) {
  for (const auto name : {"checkpoint", "save_checkpoint", "Save Checkpoint", "torch.save", "save", "write ckpt 3"}) {
    EXPECT_TRUE(has(name, kCheckpointSpanName)) << name;
  }
  for (const auto name :
       {"activation_checkpoint", "CheckpointFunction", "unsaved", "forward (recompute, checkpoint)"}) {
    EXPECT_FALSE(has(name, kCheckpointSpanName)) << name;
  }
  for (const auto name : {"torch/serialization.py(944): save", "trainer.py(88): _save_checkpoint",
                          "torch/distributed/checkpoint/state_dict_saver.py(40): save"}) {
    EXPECT_TRUE(has(name, kCheckpointFrameName)) << name;
  }
  for (const auto name : {"torch/utils/checkpoint.py(482): checkpoint", "nn.Module: CheckpointWrapper_0",
                          "torch/utils/checkpoint.py(1100): save_for_backward", "model.py(7): forward"}) {
    EXPECT_FALSE(has(name, kCheckpointFrameName)) << name;
  }
}

TEST(HostLabel, UsersDataSpansCountOnlyWithoutADataLoader) {
  const Trace with = trace_from_text(R"(
    span      [data      ]
    span       [e ]
    where
      e = enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__
  )");
  const Trace without = trace_from_text(R"(
    span      [data      ]
  )");
  EXPECT_FALSE(HostNames(with).span_loads_data(with.strings.find("data")));
  EXPECT_TRUE(HostNames(without).span_loads_data(without.strings.find("data")));
}

}  // namespace
}  // namespace stepscope

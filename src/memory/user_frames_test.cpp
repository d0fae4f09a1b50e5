// Whose line it is: paths as torch writes them in real snapshots, installed in many ways.
#include "memory/user_frames.h"

#include <gtest/gtest.h>

#include "memory/facts.h"
#include "memory/native_names.h"
#include "support/drawn_snapshot.h"

namespace stepscope {
namespace {

TEST(FrameOrigin, IsToldByThePath) {
  struct Case {
    const char* file;
    FrameOrigin origin;
  };
  for (const Case& each : {
           Case{"/home/u/train.py", FrameOrigin::kUser},
           Case{"train.py", FrameOrigin::kUser},
           Case{"/tmp/ipykernel_12/3456.py", FrameOrigin::kUser},
           Case{"<stdin>", FrameOrigin::kUser},
           Case{"<ipython-input-3-abc>", FrameOrigin::kUser},
           Case{"/opt/venv/lib/python3.12/site-packages/torch/nn/modules/linear.py", FrameOrigin::kTorch},
           Case{"/usr/local/lib/python3.10/dist-packages/torch/_tensor.py", FrameOrigin::kTorch},
           Case{"/workspace/pytorch/torch/optim/adam.py", FrameOrigin::kTorch},
           Case{"C:\\venv\\Lib\\site-packages\\torch\\_ops.py", FrameOrigin::kTorch},
           Case{"/opt/venv/lib/python3.12/site-packages/transformers/trainer.py", FrameOrigin::kLibrary},
           Case{"/opt/venv/lib/python3.12/site-packages/torchvision/models/resnet.py", FrameOrigin::kLibrary},
           Case{"/usr/lib/python3.11/threading.py", FrameOrigin::kStandard},
           Case{"C:\\Python312\\Lib\\runpy.py", FrameOrigin::kStandard},
           Case{"<frozen runpy>", FrameOrigin::kStandard},
           Case{"<string>", FrameOrigin::kStandard},
           Case{"<eval_with_key>.7", FrameOrigin::kStandard},
           Case{"/tmp/torchinductor_u/ab/cabc.py", FrameOrigin::kStandard},
           Case{"??", FrameOrigin::kNative},
           Case{"", FrameOrigin::kNative},
           Case{"CUDACachingAllocator.cpp", FrameOrigin::kNative},
       }) {
    EXPECT_EQ(find_frame_origin("f", each.file, 1), each.origin) << each.file;
  }
  EXPECT_EQ(find_frame_origin("main", "a.out", MaybeInt()), FrameOrigin::kNative);
}

std::string user_line(const std::string& stack) {
  const MemorySnapshot snapshot = drawn_snapshot("alloc a A 1M @ " + stack);
  return describe_frame(snapshot, find_user_frame(snapshot, SnapshotStackId(0)));
}

TEST(UserFrame, IsTheFirstOfTheUser) {
  EXPECT_EQ(
      user_line("/x/site-packages/torch/nn/modules/linear.py:134 forward; /x/lib/python3.12/contextlib.py:81 inner; "
                "/home/u/model.py:30 Net.forward; /home/u/train.py:7 <module>"),
      "/home/u/model.py:30 Net.forward");
}

TEST(UserFrame, IsNotHiddenByNativeFrames) {
  EXPECT_EQ(user_line("??:0 torch::unwind::unwind(); CUDACachingAllocator.cpp:0 c10::cuda::malloc(int); "
                      "/home/u/train.py:7 main; ??:0 _start"),
            "/home/u/train.py:7 main");
}

TEST(UserFrame, FallsBackToLibrariesThenTorch) {
  EXPECT_EQ(user_line("/x/site-packages/torch/_ops.py:1 f; /x/site-packages/trl/sft.py:9 loss"),
            "/x/site-packages/trl/sft.py:9 loss");
  EXPECT_EQ(user_line("/x/lib/python3.12/runpy.py:1 run; /x/site-packages/torch/_ops.py:5 call"),
            "/x/site-packages/torch/_ops.py:5 call");
}

TEST(UserFrame, AProjectInAFolderCalledTorchIsFoundAfterLibraries) {
  EXPECT_EQ(user_line("/x/lib/python3.12/runpy.py:1 run; /home/u/torch/train.py:5 main"),
            "/home/u/torch/train.py:5 main");
}

TEST(NativeFrame, OfABackwardPassIsItsOperator) {
  EXPECT_EQ(user_line("??:0 torch::unwind::unwind(); ??:0 at::_ops::mm::call(at::Tensor const&); ??:0 "
                      "torch::autograd::generated::MmBackward0::apply(std::vector<at::Tensor>&&); ??:0 "
                      "torch::autograd::Engine::thread_main(int); ??:0 __clone"),
            "torch::autograd::generated::MmBackward0::apply");
}

TEST(NativeFrame, OfAForwardPassIsTheOutermostOperator) {
  EXPECT_EQ(user_line("??:0 torch::unwind::unwind(); ??:0 at::_ops::addmm::call(at::Tensor const&); ??:0 "
                      "at::_ops::linear::call(at::Tensor const&); ??:0 _start"),
            "at::_ops::linear::call");
}

TEST(NativeFrame, OfACppProgramIsItsOwnFunction) {
  EXPECT_EQ(
      user_line("??:0 at::_ops::linear::call(at::Tensor const&); ??:0 torch::nn::LinearImpl::forward(at::Tensor); "
                "??:0 Net::forward(at::Tensor); ??:0 main; ??:0 __libc_start_main"),
      "Net::forward");
}

TEST(NativeNames, LoseReturnTypesParametersAndTemplates) {
  EXPECT_EQ(shorten_native_name("void at::native::reduce<float, 4>(int, at::Tensor&)"), "at::native::reduce");
  EXPECT_EQ(shorten_native_name("at::(anonymous namespace)::wrapper_CUDA_mm(at::Tensor const&)"),
            "at::(anonymous namespace)::wrapper_CUDA_mm");
  EXPECT_EQ(shorten_native_name("c10::TensorImpl::~TensorImpl() [clone .localalias]"), "c10::TensorImpl::~TensorImpl");
  EXPECT_EQ(shorten_native_name("std::vector<at::Tensor, std::allocator<at::Tensor> > at::foreach<(x)1>(int)"),
            "at::foreach");
  EXPECT_EQ(shorten_native_name("_PyEval_EvalFrameDefault"), "_PyEval_EvalFrameDefault");
  EXPECT_EQ(shorten_native_name("(("), "((");
  EXPECT_EQ(shorten_native_name(">>> <"), ">>> <");
  EXPECT_EQ(shorten_native_name(""), "");
}

}  // namespace
}  // namespace stepscope

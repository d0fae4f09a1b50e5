// Names as the libraries write them, and names that no library would.
#include "report/kernel_name.h"

#include <gtest/gtest.h>

#include "report/text.h"

namespace stepscope {
namespace {

constexpr const char* kElementwise =
    "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<c10::BFloat16>, "
    "std::array<char*, 3ul> >(int, at::native::CUDAFunctor_add<c10::BFloat16>, std::array<char*, 3ul>)";

TEST(KernelName, DropsReturnTypeNamespacesAndParameters) {
  EXPECT_EQ(fold_kernel_name(kElementwise, 100),
            "vectorized_elementwise_kernel<4, CUDAFunctor_add<BFloat16>, array<char*, 3ul> >");
}

TEST(KernelName, FoldsTemplatesUntilItFits) {
  EXPECT_EQ(fold_kernel_name(kElementwise, 70), "vectorized_elementwise_kernel<4, CUDAFunctor_add<…>, array<…> >");
  EXPECT_EQ(fold_kernel_name(kElementwise, 36), "vectorized_elementwise_kernel<4, C…>");
}

TEST(KernelName, KeepsShortNamesAndCopies) {
  EXPECT_EQ(fold_kernel_name("gemm_kernel_a", 40), "gemm_kernel_a");
  EXPECT_EQ(fold_kernel_name("Memcpy HtoD (Pinned -> Device)", 40), "Memcpy HtoD (Pinned -> Device)");
}

TEST(KernelName, ReadsMangledIdentifiersWithoutExpandingThem) {
  EXPECT_EQ(fold_kernel_name("_ZN17cutlass__5x_cudnn6KernelINS_4conv6kernel23ImplicitGemmE", 40), "Kernel<…>");
  EXPECT_EQ(fold_kernel_name("_ZN99999999999999999999999999x", 40), "_ZN99999999999999999999999999x");
}

TEST(KernelName, NeverExceedsItsWidth) {
  const std::string deep = std::string(5000, '<') + "x" + std::string(5000, '>');
  for (const std::string& name :
       {std::string(kElementwise), deep, std::string("(anonymous namespace)::"), std::string(":::::"),
        std::string(">>>>"), std::string("operator<"), std::string("f((((((((("), std::string(100000, 'k'),
        std::string("核函数<核函数, 核函数>")}) {
    for (std::size_t width = 1; width < 60; ++width) {
      EXPECT_LE(display_width(fold_kernel_name(name, width)), width) << name.substr(0, 40);
    }
  }
}

TEST(KernelName, TellsApartWhatIsShownAlike) {
  const std::string stem = "sm80_xmma_gemm_f32f32_f32f32_f32_";
  const std::string tail = "_n_tilesize128x128x8_stage3_warpsize2x2x1_ffma_aligna4_alignc4_execute_kernel__5x_cublas";
  const std::vector<std::string> names = {stem + "nn" + tail, stem + "tn" + tail, stem + "nn" + tail, "other"};
  std::vector<std::string> shown;
  for (const std::string& name : names) shown.push_back(fold_kernel_name(name, 41));
  ASSERT_EQ(shown[0], shown[1]);
  tell_apart(names, 41, shown);
  EXPECT_EQ(shown[0], "sm80_xmma_ge…nn_n_tilesize128x128x8_stag…");
  EXPECT_EQ(shown[1], "sm80_xmma_ge…tn_n_tilesize128x128x8_stag…");
  EXPECT_EQ(shown[2], shown[0]);
  EXPECT_EQ(shown[3], "other");
}

TEST(KernelName, NumbersWhatCannotBeToldApart) {
  std::vector<std::string> names;
  for (const char* end : {"aa", "ab", "ba"}) names.push_back(std::string(100, 'x') + end);
  std::vector<std::string> shown(3, "x…x");
  tell_apart(names, 12, shown);
  EXPECT_NE(shown[0], shown[1]);
  EXPECT_NE(shown[0], shown[2]);
  EXPECT_NE(shown[1], shown[2]);
  for (const std::string& text : shown) EXPECT_LE(display_width(text), 12U);
  names = {std::string(5000, 'x') + "a", std::string(5000, 'x') + "b"};
  shown = {"x…", "x…"};
  tell_apart(names, 3, shown);
  for (const std::string& text : shown) EXPECT_LE(display_width(text), 8U);
}

}  // namespace
}  // namespace stepscope

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

}  // namespace
}  // namespace stepscope

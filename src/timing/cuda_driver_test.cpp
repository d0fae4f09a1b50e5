// Finding a driver where there is none, an old one, a broken one; its errors in words.
#include "timing/cuda_driver.h"

#include <gtest/gtest.h>

#include "timing/fake_cuda.h"

namespace stepscope {
namespace {

TEST(CudaDriver, NoLibraryIsNotFound) {
  const Result<CudaDriver> driver = load_cuda_driver("libno-such-driver.so.1");
  ASSERT_FALSE(driver);
  EXPECT_EQ(driver.error().code, ErrorCode::kNotFound);
  EXPECT_NE(driver.error().message.find("libno-such-driver.so.1"), std::string::npos) << driver.error().message;
}

TEST(CudaDriver, ALibraryThatLacksAFunctionIsTooOld) {
  const Result<CudaDriver> driver = load_cuda_driver("libm.so.6");
  ASSERT_FALSE(driver);
  EXPECT_EQ(driver.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(driver.error().message.find("cuInit"), std::string::npos) << driver.error().message;
}

TEST(CudaDriver, AMachineWithoutDevicesSaysSo) {
  FakeCuda cuda;
  cuda.device_count = 0;
  const Result<const CudaDriver*> driver = open_cuda_driver();
  ASSERT_FALSE(driver);
  EXPECT_EQ(driver.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(driver.error().message, "cuInit: CUDA_ERROR_NO_DEVICE (as the driver says it)");
}

TEST(CudaDriver, AnErrorWithoutANameKeepsItsNumber) {
  FakeCuda cuda;
  const Status status = cuda_status(*find_loaded_cuda_driver(), 4242, "cuEventRecord");
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message, "cuEventRecord: CUDA error 4242");
  EXPECT_EQ(status.error().code, ErrorCode::kIo);
}

TEST(CudaDriver, SuccessIsNoError) {
  FakeCuda cuda;
  EXPECT_TRUE(cuda_status(*find_loaded_cuda_driver(), kCuSuccess, "cuEventRecord"));
}

}  // namespace
}  // namespace stepscope

// The PTX text and its launches. The text was checked with ptxas 13.0 for sm_90 and sm_100: 6 and 10 registers.
#include "timing/timing_kernels.h"

namespace stepscope {
namespace {

constexpr const char* kPtx = R"(
.version 6.3
.target sm_60
.address_size 64

.visible .entry stepscope_hold(.param .u64 word, .param .u32 value)
{
  .reg .u64 %rd<2>;
  .reg .u32 %r<3>;
  .reg .pred %p;
  ld.param.u64 %rd0, [word];
  cvta.to.global.u64 %rd1, %rd0;
  ld.param.u32 %r0, [value];
AGAIN:
  ld.volatile.global.u32 %r1, [%rd1];
  sub.s32 %r2, %r1, %r0;
  setp.lt.s32 %p, %r2, 0;
  @%p bra AGAIN;
  ret;
}

.visible .entry stepscope_stamp(.param .u64 stamps, .param .u32 count)
{
  .reg .u64 %rd<5>;
  .reg .u32 %r<2>;
  .reg .pred %p;
  ld.param.u64 %rd0, [stamps];
  ld.param.u32 %r0, [count];
  mov.u32 %r1, %smid;
  setp.ge.u32 %p, %r1, %r0;
  @%p bra DONE;
  cvta.to.global.u64 %rd1, %rd0;
  mul.wide.u32 %rd2, %r1, 16;
  add.s64 %rd1, %rd1, %rd2;
  mov.u64 %rd3, %globaltimer;
  mov.u64 %rd4, %clock64;
  st.volatile.global.v2.u64 [%rd1], {%rd3, %rd4};
DONE:
  ret;
}
)";

}  // namespace

Result<std::shared_ptr<TimingKernels>> TimingKernels::load(std::shared_ptr<CudaContext> context) {
  const CudaDriver& driver = context->driver();
  const RelaxedCapture relaxed(driver);
  std::shared_ptr<TimingKernels> kernels(new TimingKernels(std::move(context)));
  CuResult result = driver.module_load(&kernels->module_, kPtx);
  if (result != kCuSuccess) return cuda_error(driver, result, "cuModuleLoadData");
  result = driver.module_function(&kernels->hold_, kernels->module_, "stepscope_hold");
  if (result == kCuSuccess) result = driver.module_function(&kernels->stamp_, kernels->module_, "stepscope_stamp");
  if (result != kCuSuccess) return cuda_error(driver, result, "cuModuleGetFunction");
  return kernels;
}

TimingKernels::~TimingKernels() {
  const CurrentContext current(*context_);
  const RelaxedCapture relaxed(context_->driver());
  if (module_ != nullptr) (void)context_->driver().module_unload(module_);
}

Status TimingKernels::launch(CuFunction function, unsigned block_count, CuStream stream, void** arguments) const {
  const CudaDriver& driver = context_->driver();
  const CuResult result = driver.launch(function, block_count, 1, 1, 1, 1, 1, 0, stream, arguments, nullptr);
  return cuda_status(driver, result, "cuLaunchKernel");
}

Status TimingKernels::launch_hold(CuStream stream, CuPointer word, std::uint32_t value) const {
  void* arguments[] = {&word, &value};
  return launch(hold_, 1, stream, arguments);
}

Status TimingKernels::launch_stamp(CuStream stream, CuPointer stamps, std::uint32_t count, unsigned block_count) const {
  void* arguments[] = {&stamps, &count};
  return launch(stamp_, block_count, stream, arguments);
}

}  // namespace stepscope

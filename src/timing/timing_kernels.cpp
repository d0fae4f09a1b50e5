// The PTX text and its launches. The text was checked with ptxas 13.0 for sm_90 and sm_100: 6 to 16 registers.
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

.visible .entry stepscope_read(.param .u64 data, .param .u64 bytes)
{
  .reg .u64 %rd<6>;
  .reg .u32 %r<10>;
  .reg .pred %p, %q;
  ld.param.u64 %rd0, [data];
  cvta.to.global.u64 %rd0, %rd0;
  ld.param.u64 %rd1, [bytes];
  mov.u32 %r0, %ctaid.x;
  mov.u32 %r1, %ntid.x;
  mov.u32 %r2, %tid.x;
  mad.lo.u32 %r3, %r0, %r1, %r2;
  mul.wide.u32 %rd2, %r3, 16;
  mov.u32 %r4, %nctaid.x;
  mul.lo.u32 %r4, %r4, %r1;
  mul.wide.u32 %rd3, %r4, 16;
  mov.u32 %r9, 0;
LOOP:
  setp.ge.u64 %p, %rd2, %rd1;
  @%p bra DONE;
  add.u64 %rd4, %rd0, %rd2;
  ld.global.v4.u32 {%r5, %r6, %r7, %r8}, [%rd4];
  xor.b32 %r5, %r5, %r6;
  xor.b32 %r7, %r7, %r8;
  xor.b32 %r5, %r5, %r7;
  xor.b32 %r9, %r9, %r5;
  add.u64 %rd2, %rd2, %rd3;
  bra LOOP;
DONE:
  setp.ne.u32 %q, %r9, 305419896;
  @%q bra END;
  st.global.u32 [%rd0], %r9;
END:
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
  if (result == kCuSuccess) result = driver.module_function(&kernels->read_, kernels->module_, "stepscope_read");
  if (result != kCuSuccess) return cuda_error(driver, result, "cuModuleGetFunction");
  if (Result<int> count = kernels->context_->attribute(kCuAttributeMultiprocessorCount); count && *count > 0) {
    kernels->sm_count_ = static_cast<unsigned>(*count);
  }
  return kernels;
}

TimingKernels::~TimingKernels() {
  const CurrentContext current(*context_);
  const RelaxedCapture relaxed(context_->driver());
  if (module_ != nullptr) (void)context_->driver().module_unload(module_);
}

Status TimingKernels::launch(CuFunction function, unsigned block_count, unsigned thread_count, CuStream stream,
                             void** arguments) const {
  const CudaDriver& driver = context_->driver();
  const CuResult result = driver.launch(function, block_count, 1, 1, thread_count, 1, 1, 0, stream, arguments, nullptr);
  return cuda_status(driver, result, "cuLaunchKernel");
}

Status TimingKernels::launch_hold(CuStream stream, CuPointer word, std::uint32_t value) const {
  void* arguments[] = {&word, &value};
  return launch(hold_, 1, 1, stream, arguments);
}

Status TimingKernels::launch_stamp(CuStream stream, CuPointer stamps, std::uint32_t count, unsigned block_count) const {
  void* arguments[] = {&stamps, &count};
  return launch(stamp_, block_count, 1, stream, arguments);
}

// 8 blocks of 256 threads fill an SM of every GPU since Volta.
Status TimingKernels::launch_read(CuStream stream, CuPointer data, std::uint64_t bytes) const {
  void* arguments[] = {&data, &bytes};
  return launch(read_, sm_count_ * 8, 256, stream, arguments);
}

}  // namespace stepscope

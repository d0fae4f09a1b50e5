// The kernels and the extra calls.
#include "gpu/gpu_machine.h"

#include <dlfcn.h>

namespace stepscope {
namespace {

constexpr const char* kPtx = R"(
.version 6.3
.target sm_60
.address_size 64

.visible .entry empty() { ret; }

.visible .entry fault()
{
  .reg .u64 %rd<1>;
  .reg .u32 %r<1>;
  mov.u64 %rd0, 0;
  mov.u32 %r0, 1;
  st.global.u32 [%rd0], %r0;
  ret;
}

.visible .entry spin(.param .u64 ns)
{
  .reg .u64 %rd<4>;
  .reg .pred %p;
  ld.param.u64 %rd0, [ns];
  mov.u64 %rd1, %globaltimer;
AGAIN:
  mov.u64 %rd2, %globaltimer;
  sub.u64 %rd3, %rd2, %rd1;
  setp.lt.u64 %p, %rd3, %rd0;
  @%p bra AGAIN;
  ret;
}
)";

template <class Function>
void take(void* library, const char* symbol, Function*& function) {
  function = reinterpret_cast<Function*>(dlsym(library, symbol));
}

Status take_calls(GpuCalls& calls) {
  void* library = dlopen("libcuda.so.1", RTLD_NOW);
  if (library == nullptr) return Error{ErrorCode::kNotFound, "no libcuda.so.1", {}};
  take(library, "cuStreamCreate", calls.stream_create);
  take(library, "cuStreamDestroy_v2", calls.stream_destroy);
  take(library, "cuStreamBeginCapture_v2", calls.begin_capture);
  take(library, "cuStreamEndCapture", calls.end_capture);
  take(library, "cuGraphInstantiateWithFlags", calls.graph_instantiate);
  take(library, "cuGraphLaunch", calls.graph_launch);
  take(library, "cuGraphDestroy", calls.graph_destroy);
  take(library, "cuGraphExecDestroy", calls.graph_exec_destroy);
  take(library, "cuMemAllocAsync", calls.alloc_async);
  take(library, "cuMemFreeAsync", calls.free_async);
  if (calls.stream_create == nullptr || calls.graph_instantiate == nullptr || calls.free_async == nullptr) {
    return Error{ErrorCode::kUnsupported, "the driver is too old for these tests", {}};
  }
  return Done{};
}

}  // namespace

Result<std::unique_ptr<GpuMachine>> GpuMachine::open() {
  std::unique_ptr<GpuMachine> machine(new GpuMachine);
  Result<std::shared_ptr<CudaContext>> context = CudaContext::open(-1);
  if (!context) return context.error();
  machine->context = *context;
  if (Status taken = take_calls(machine->calls); !taken) return taken.error();
  Result<std::shared_ptr<TimingKernels>> timing_kernels = TimingKernels::load(machine->context);
  if (!timing_kernels) return timing_kernels.error();
  machine->kernels_ = *timing_kernels;
  const CudaDriver& driver = machine->driver();
  CuResult result = driver.module_load(&machine->module_, kPtx);
  if (result != kCuSuccess) return cuda_error(driver, result, "cuModuleLoadData");
  const std::pair<const char*, CuFunction*> kernels[] = {
      {"empty", &machine->empty_}, {"spin", &machine->spin_}, {"fault", &machine->fault_}};
  for (const auto& [name, function] : kernels) {
    result = driver.module_function(function, machine->module_, name);
    if (result != kCuSuccess) return cuda_error(driver, result, name);
  }
  return machine;
}

GpuMachine::~GpuMachine() {
  if (module_ != nullptr) (void)driver().module_unload(module_);
}

Status GpuMachine::launch(CuFunction function, unsigned blocks, unsigned threads, CuStream stream,
                          void** arguments) const {
  return cuda_status(driver(), driver().launch(function, blocks, 1, 1, threads, 1, 1, 0, stream, arguments, nullptr),
                     "cuLaunchKernel");
}

Status GpuMachine::launch_empty(CuStream stream) const { return launch(empty_, 1, 1, stream, nullptr); }

Status GpuMachine::launch_spin(std::uint64_t ns, CuStream stream) const {
  void* arguments[] = {&ns};
  return launch(spin_, 1, 1, stream, arguments);
}

Status GpuMachine::launch_read(CuPointer data, std::uint64_t bytes, CuStream stream) const {
  return kernels_->launch_read(stream, data, bytes);
}

Status GpuMachine::launch_fault(CuStream stream) const { return launch(fault_, 1, 1, stream, nullptr); }

}  // namespace stepscope

// Prefixes are stripped first (cuda, cu, hip, musa, xpu's ze and ur), so that one list of verbs serves every vendor.
//
// Sources: names of the CUDA runtime and driver API, HIP, Level Zero and Unified Runtime as they appear in traces of
// PyTorch. An unknown verb is kOther; linking turns it into kLaunch when GPU events carry its correlation.
#include "trace/api_kind.h"

#include <array>

namespace stepscope {
namespace {

struct Verb {
  std::string_view prefix;
  ApiKind kind;
};

// First match wins: longer and more special verbs stand before shorter ones.
constexpr std::array kVerbs = {
    Verb{"GraphLaunch", ApiKind::kGraphLaunch},
    Verb{"LaunchHostFunc", ApiKind::kOther},  // queues a function of the host: no GPU event follows
    Verb{"Launch", ApiKind::kLaunch},
    Verb{"ExtLaunch", ApiKind::kLaunch},
    Verb{"ModuleLaunch", ApiKind::kLaunch},
    Verb{"ExtModuleLaunch", ApiKind::kLaunch},
    Verb{"CommandListAppendLaunch", ApiKind::kLaunch},
    Verb{"EnqueueKernelLaunch", ApiKind::kLaunch},
    Verb{"Memcpy", ApiKind::kCopy},
    Verb{"CommandListAppendMemoryCopy", ApiKind::kCopy},
    Verb{"EnqueueUSMMemcpy", ApiKind::kCopy},
    Verb{"EnqueueMemBuffer", ApiKind::kCopy},
    Verb{"Memset", ApiKind::kSet},
    Verb{"CommandListAppendMemoryFill", ApiKind::kSet},
    Verb{"EnqueueUSMFill", ApiKind::kSet},
    Verb{"StreamSynchronize", ApiKind::kStreamSync},
    Verb{"QueueFinish", ApiKind::kStreamSync},
    Verb{"CommandQueueSynchronize", ApiKind::kStreamSync},
    Verb{"CommandListHostSynchronize", ApiKind::kStreamSync},
    Verb{"EventSynchronize", ApiKind::kEventSync},
    Verb{"EventHostSynchronize", ApiKind::kEventSync},
    Verb{"EventWait", ApiKind::kEventSync},
    Verb{"DeviceSynchronize", ApiKind::kDeviceSync},
    Verb{"CtxSynchronize", ApiKind::kDeviceSync},
    Verb{"StreamWaitEvent", ApiKind::kStreamWait},
    Verb{"EventRecord", ApiKind::kEventRecord},
    Verb{"FreeHost", ApiKind::kFree},
    Verb{"HostFree", ApiKind::kFree},
    Verb{"Free", ApiKind::kFree},
    Verb{"MemFree", ApiKind::kFree},
    Verb{"MemUnmap", ApiKind::kFree},
    Verb{"HostUnregister", ApiKind::kFree},
    Verb{"MallocHost", ApiKind::kAllocate},
    Verb{"Malloc", ApiKind::kAllocate},
    Verb{"HostAlloc", ApiKind::kAllocate},
    Verb{"HostMalloc", ApiKind::kAllocate},
    Verb{"HostRegister", ApiKind::kAllocate},
    Verb{"MemCreate", ApiKind::kAllocate},
    Verb{"MemMap", ApiKind::kAllocate},
    Verb{"MemRelease", ApiKind::kAllocate},
    Verb{"MemSetAccess", ApiKind::kAllocate},
    Verb{"MemAlloc", ApiKind::kAllocate},
    Verb{"MemAddress", ApiKind::kAllocate},
    Verb{"USMDeviceAlloc", ApiKind::kAllocate},
    Verb{"ModuleLoad", ApiKind::kModuleLoad},
    Verb{"LibraryLoad", ApiKind::kModuleLoad},
    Verb{"LinkCreate", ApiKind::kModuleLoad},
    Verb{"LinkAdd", ApiKind::kModuleLoad},
    Verb{"LinkComplete", ApiKind::kModuleLoad},
    Verb{"ModuleCreate", ApiKind::kModuleLoad},
};

std::string_view strip_vendor(std::string_view name) {
  for (std::string_view vendor : {"cuda", "cu", "hip", "musa", "cnrt", "acl", "ze", "ur"}) {
    if (name.size() > vendor.size() && name.starts_with(vendor) && name[vendor.size()] >= 'A' &&
        name[vendor.size()] <= 'Z') {
      return name.substr(vendor.size());
    }
  }
  return name;
}

}  // namespace

ApiKind classify_api(std::string_view name) {
  const std::string_view verb = strip_vendor(name);
  for (const Verb& each : kVerbs) {
    if (verb.starts_with(each.prefix)) return each.kind;
  }
  return ApiKind::kOther;
}

}  // namespace stepscope

// Our words for CUPTI's interface against its headers, where there are any (CUDA_INCLUDE or the toolkit's folder; see
// tools/cupti_headers.sh). Compiling is the test.
#include "agent/cupti_abi.h"

#include <gtest/gtest.h>

#include "wire/records.h"

#if __has_include(<cupti.h>)
#include <cupti.h>

#define SAME_OFFSET(ours, our_field, theirs, their_field)                                  \
  static_assert(offsetof(ours, our_field) == offsetof(theirs, their_field) &&              \
                    sizeof(ours::our_field) == sizeof(std::declval<theirs>().their_field), \
                #ours "::" #our_field)

namespace stepscope::agent {

static_assert(int{CUPTI_ERROR_MAX_LIMIT_REACHED} == kCuptiMaxLimitReached);
static_assert(int{CUPTI_ERROR_INSUFFICIENT_PRIVILEGES} == kCuptiInsufficientPrivileges);
static_assert(int{CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED} == kCuptiMultipleSubscribers);
static_assert(int{CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES} == kCuptiVirtualPrivileges);
static_assert(int{CUPTI_ACTIVITY_KIND_MEMCPY} == int(CuptiKind::kMemcpy));
static_assert(int{CUPTI_ACTIVITY_KIND_MEMSET} == int(CuptiKind::kMemset));
static_assert(int{CUPTI_ACTIVITY_KIND_KERNEL} == int(CuptiKind::kKernel));
static_assert(int{CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL} == int(CuptiKind::kConcurrentKernel));
static_assert(int{CUPTI_ACTIVITY_KIND_OVERHEAD} == int(CuptiKind::kOverhead));
static_assert(int{CUPTI_ACTIVITY_KIND_MEMCPY2} == int(CuptiKind::kMemcpyPeer));
static_assert(int{CUPTI_ACTIVITY_KIND_SYNCHRONIZATION} == int(CuptiKind::kSynchronization));
static_assert(int{CUPTI_ACTIVITY_KIND_MEMORY2} == int(CuptiKind::kMemory));
static_assert(int{CUPTI_CB_DOMAIN_DRIVER_API} == int(CuptiDomain::kDriver));
static_assert(int{CUPTI_CB_DOMAIN_RUNTIME_API} == int(CuptiDomain::kRuntime));
static_assert(int{CUPTI_CB_DOMAIN_RESOURCE} == int(CuptiDomain::kResource));
static_assert(int{CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED} == int{kGraphNodeCreated});
static_assert(int{CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED} == int{kGraphNodeCloned});
static_assert(int{CUPTI_ACTIVITY_FLAG_FLUSH_FORCED} == int{kFlushForced});

SAME_OFFSET(CuptiCallbackData, parameters, CUpti_CallbackData, functionParams);
SAME_OFFSET(CuptiCallbackData, site, CUpti_CallbackData, callbackSite);
SAME_OFFSET(CuptiCallbackData, return_value, CUpti_CallbackData, functionReturnValue);
SAME_OFFSET(CuptiCallbackData, correlation, CUpti_CallbackData, correlationId);
SAME_OFFSET(CuptiResourceData, descriptor, CUpti_ResourceData, resourceDescriptor);
SAME_OFFSET(CuptiGraphData, node, CUpti_GraphData, node);
SAME_OFFSET(CuptiGraphData, original_node, CUpti_GraphData, originalNode);

SAME_OFFSET(CuptiKernelRecord, registers_count, CUpti_ActivityKernel9, registersPerThread);
SAME_OFFSET(CuptiKernelRecord, start_ns, CUpti_ActivityKernel9, start);
SAME_OFFSET(CuptiKernelRecord, device, CUpti_ActivityKernel9, deviceId);
SAME_OFFSET(CuptiKernelRecord, stream, CUpti_ActivityKernel9, streamId);
SAME_OFFSET(CuptiKernelRecord, grid_x, CUpti_ActivityKernel9, gridX);
SAME_OFFSET(CuptiKernelRecord, block_z, CUpti_ActivityKernel9, blockZ);
SAME_OFFSET(CuptiKernelRecord, dynamic_shared_bytes, CUpti_ActivityKernel9, dynamicSharedMemory);
SAME_OFFSET(CuptiKernelRecord, correlation, CUpti_ActivityKernel9, correlationId);
SAME_OFFSET(CuptiKernelRecord, name, CUpti_ActivityKernel9, name);
SAME_OFFSET(CuptiKernelRecord, graph_node, CUpti_ActivityKernel9, graphNodeId);
SAME_OFFSET(CuptiKernelRecord, graph, CUpti_ActivityKernel9, graphId);
static_assert(sizeof(CuptiKernelRecord) <= sizeof(CUpti_ActivityKernel9));

SAME_OFFSET(CuptiMemcpyRecord, bytes, CUpti_ActivityMemcpy5, bytes);
SAME_OFFSET(CuptiMemcpyRecord, copy_kind, CUpti_ActivityMemcpy5, copyKind);
SAME_OFFSET(CuptiMemcpyRecord, correlation, CUpti_ActivityMemcpy5, correlationId);
SAME_OFFSET(CuptiMemcpyRecord, stream, CUpti_ActivityMemcpy5, streamId);
SAME_OFFSET(CuptiMemcpyRecord, graph_node, CUpti_ActivityMemcpy5, graphNodeId);
SAME_OFFSET(CuptiMemcpyRecord, graph, CUpti_ActivityMemcpy5, graphId);
SAME_OFFSET(CuptiPeerCopyRecord, correlation, CUpti_ActivityMemcpyPtoP4, correlationId);
SAME_OFFSET(CuptiPeerCopyRecord, stream, CUpti_ActivityMemcpyPtoP4, streamId);
SAME_OFFSET(CuptiPeerCopyRecord, graph, CUpti_ActivityMemcpyPtoP4, graphId);
SAME_OFFSET(CuptiMemsetRecord, bytes, CUpti_ActivityMemset4, bytes);
SAME_OFFSET(CuptiMemsetRecord, correlation, CUpti_ActivityMemset4, correlationId);
SAME_OFFSET(CuptiMemsetRecord, graph, CUpti_ActivityMemset4, graphId);
SAME_OFFSET(CuptiSyncRecord, start_ns, CUpti_ActivitySynchronization, start);
SAME_OFFSET(CuptiSyncRecord, correlation, CUpti_ActivitySynchronization, correlationId);
SAME_OFFSET(CuptiSyncRecord, stream, CUpti_ActivitySynchronization, streamId);
SAME_OFFSET(CuptiOverheadRecord, overhead_kind, CUpti_ActivityOverhead, overheadKind);
SAME_OFFSET(CuptiOverheadRecord, start_ns, CUpti_ActivityOverhead, start);
SAME_OFFSET(CuptiOverheadRecord, thread, CUpti_ActivityOverhead, objectId.pt.threadId);
SAME_OFFSET(CuptiMemoryRecord, operation, CUpti_ActivityMemory3, memoryOperationType);
SAME_OFFSET(CuptiMemoryRecord, address, CUpti_ActivityMemory3, address);
SAME_OFFSET(CuptiMemoryRecord, time_ns, CUpti_ActivityMemory3, timestamp);
SAME_OFFSET(CuptiMemoryRecord, device, CUpti_ActivityMemory3, deviceId);
SAME_OFFSET(CuptiMemoryRecord, correlation, CUpti_ActivityMemory3, correlationId);
SAME_OFFSET(CuptiMemoryRecord, memory_kind, CUpti_ActivityMemory3, memoryKind);
SAME_OFFSET(CuptiMemoryRecord, is_async, CUpti_ActivityMemory3, isAsync);
static_assert(int{CUPTI_ACTIVITY_MEMORY_KIND_PINNED} == int(WireMemoryKind::kPinned));
static_assert(int{CUPTI_ACTIVITY_MEMORY_KIND_DEVICE} == int(WireMemoryKind::kDevice));
static_assert(int{CUPTI_ACTIVITY_MEMORY_KIND_MANAGED_STATIC} == int(WireMemoryKind::kManagedStatic));

SAME_OFFSET(CudaMemProperties, location, CUmemAllocationProp, location);
SAME_OFFSET(CudaMemLocation, number, CUmemLocation, id);
static_assert(int{CU_MEM_LOCATION_TYPE_DEVICE} == 1);
SAME_OFFSET(CudaMemCreate, handle, cuMemCreate_params, handle);
SAME_OFFSET(CudaMemCreate, properties, cuMemCreate_params, prop);
SAME_OFFSET(CudaMemMap, address, cuMemMap_params, ptr);
SAME_OFFSET(CudaMemMap, bytes, cuMemMap_params, size);
SAME_OFFSET(CudaMemMap, handle, cuMemMap_params, handle);
SAME_OFFSET(CudaMemUnmap, address, cuMemUnmap_params, ptr);
SAME_OFFSET(CudaMemUnmap, bytes, cuMemUnmap_params, size);

TEST(CuptiAbi, IsThatOfTheInstalledHeaders) { EXPECT_GE(CUPTI_API_VERSION, 18); }

}  // namespace stepscope::agent
#else
TEST(CuptiAbi, IsThatOfTheInstalledHeaders) { GTEST_SKIP() << "no CUPTI headers: tools/cupti_headers.sh gets them"; }
#endif

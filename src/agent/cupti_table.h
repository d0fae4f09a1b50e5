// CUPTI as a table of function pointers: filled by dlsym from the libcupti of this process, or by a test.
//
// The library must be the one that belongs to the CUDA runtime in the process (a wheel of PyTorch brings its own): a
// second one of another version finds the driver taken. Order: one that is loaded already; the one beside the loaded
// libcudart; the one of NVIDIA's wheels next to it; what the loader finds.
#pragma once

#include <cstdint>
#include <string>

#include "agent/cupti_abi.h"
#include "stepscope/result.h"

namespace stepscope::agent {

struct CuptiTable {
  CuptiResult (*get_version)(std::uint32_t* version) = nullptr;
  CuptiResult (*get_result_string)(CuptiResult result, const char** text) = nullptr;
  CuptiResult (*activity_enable)(CuptiKind kind) = nullptr;
  CuptiResult (*activity_disable)(CuptiKind kind) = nullptr;
  CuptiResult (*register_buffers)(CuptiBufferRequested requested, CuptiBufferCompleted completed) = nullptr;
  CuptiResult (*register_timestamp)(CuptiTimestamp now) = nullptr;  // absent before CUDA 11.6: nullptr allowed
  CuptiResult (*get_timestamp)(std::uint64_t* now) = nullptr;       // by the clock that is registered: nullptr allowed
  CuptiResult (*get_next_record)(std::uint8_t* buffer, std::size_t valid_bytes, CuptiRecord** record) = nullptr;
  CuptiResult (*get_dropped)(CuptiContext context, std::uint32_t stream, std::size_t* count) = nullptr;
  CuptiResult (*flush_all)(std::uint32_t flag) = nullptr;
  CuptiResult (*subscribe)(CuptiSubscriber* subscriber, CuptiCallback callback, void* user) = nullptr;
  CuptiResult (*subscribe_named)(CuptiSubscriber* subscriber, CuptiCallback callback, void* user,
                                 CuptiSubscriberParams* params) = nullptr;  // since CUDA 12.8: nullptr allowed
  CuptiResult (*unsubscribe)(CuptiSubscriber subscriber) = nullptr;
  CuptiResult (*enable_callback)(std::uint32_t enable, CuptiSubscriber subscriber, CuptiDomain domain,
                                 std::uint32_t id) = nullptr;
  CuptiResult (*get_callback_name)(CuptiDomain domain, std::uint32_t id, const char** name) = nullptr;
  CuptiResult (*get_graph_node)(CuptiGraphNode node, std::uint64_t* number) = nullptr;  // nullptr allowed

  std::string path;  // of the library, for remarks
};

// Errors: kNotFound (no libcupti), kUnsupported (one without a function that is needed, or older than CUDA 12).
[[nodiscard]] Result<CuptiTable> load_cupti();
// Is anything of CUDA's runtime or CUPTI in the process? Cheap; opens nothing.
[[nodiscard]] bool has_cuda();
// CUPTI_API_VERSION of CUDA 12.0. What is older has other records.
inline constexpr std::uint32_t kOldestCupti = 18;

}  // namespace stepscope::agent

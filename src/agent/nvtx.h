// Ranges of NVTX: what a library that tools inject exchanges with the NVTX headers compiled into a program.
//
// NVTX version 3 is headers only. At its first use each shared object that includes them loads the library that
// NVTX_INJECTION64_PATH names and calls its InitializeInjectionNvtx2 with a function that hands out tables; the table
// of module CORE (plain calls) and CORE2 (calls with domains) holds addresses of function pointers, where a tool puts
// its own. The numbers below are NVTX's binary interface (nvtxTypes.h and nvtxDetail/nvtxTypes.h of version 3),
// declared here so that nothing of NVIDIA is needed to build.
#pragma once

#include <cstddef>
#include <cstdint>

namespace stepscope::agent {

using NvtxFunction = void (*)();
using NvtxFunctionTable = NvtxFunction**;
using NvtxGetTable = const void* (*)(std::uint32_t id);

inline constexpr std::uint32_t kNvtxCallbacksTable = 1;
struct NvtxCallbacksTable {
  std::size_t struct_bytes;
  int (*module_functions)(std::uint32_t module, NvtxFunctionTable* table, std::uint32_t* count);
};

inline constexpr std::uint32_t kNvtxCore = 1;
enum class NvtxCore : std::uint32_t {
  kMarkEx = 1,
  kMarkA,
  kMarkW,
  kRangeStartEx,
  kRangeStartA,
  kRangeStartW,
  kRangeEnd,
  kRangePushEx,
  kRangePushA,
  kRangePushW,
  kRangePop,
};
inline constexpr std::uint32_t kNvtxCore2 = 5;
enum class NvtxCore2 : std::uint32_t {
  kMarkEx = 1,
  kRangeStartEx,
  kRangeEnd,
  kRangePushEx,
  kRangePop,
  kRegisterStringA = 10,
  kRegisterStringW,
  kDomainCreateA,
  kDomainCreateW,
};

struct NvtxDomain;  // a handle is a number of ours; nullptr is the default domain
struct NvtxString;

enum class NvtxMessage : std::int32_t { kNone, kAscii, kWide, kRegistered };
struct NvtxEvent {
  std::uint16_t version;
  std::uint16_t struct_bytes;
  std::uint32_t category;
  std::int32_t color_type;
  std::uint32_t color;
  std::int32_t payload_type;
  std::int32_t reserved;
  std::uint64_t payload;
  NvtxMessage message_type;
  union {
    const char* ascii;
    const wchar_t* wide;
    const NvtxString* registered;
  } message;
};
static_assert(sizeof(NvtxEvent) == 48 && offsetof(NvtxEvent, message) == 40);

// Puts our functions into the tables. False: there are none, or too few.
bool attach_nvtx(NvtxGetTable get_table) noexcept;

}  // namespace stepscope::agent

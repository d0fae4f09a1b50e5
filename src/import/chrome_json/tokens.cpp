// The keys of PyTorch's, ROCm's, Ascend's and JAX's traces. Chosen by length first: one comparison decides.
#include "import/chrome_json/tokens.h"

#include <algorithm>

namespace stepscope::chrome_json {
namespace {

struct ArgKey {
  std::string_view text;
  Arg arg;
};

constexpr std::array kArgKeys = {
    ArgKey{"pid", Arg::kProcess},
    ArgKey{"Addr", Arg::kAddress},
    ArgKey{"grid", Arg::kGrid},
    ArgKey{"name", Arg::kName},
    ArgKey{"Bytes", Arg::kBytes},
    ArgKey{"block", Arg::kBlock},
    ArgKey{"bytes", Arg::kBytes},
    ArgKey{"dtype", Arg::kDataType},
    ArgKey{"queue", Arg::kStream},
    ArgKey{"device", Arg::kDevice},
    ArgKey{"labels", Arg::kLabels},
    ArgKey{"stream", Arg::kStream},
    ArgKey{"graph id", Arg::kGraphId},
    ArgKey{"step_num", Arg::kStepNumber},
    ArgKey{"Device Id", Arg::kDevice},
    ArgKey{"Python id", Arg::kPythonId},
    ArgKey{"Stream Id", Arg::kStream},
    ArgKey{"Call stack", Arg::kCallStack},
    ArgKey{"Group size", Arg::kGroupSize},
    ArgKey{"Input Dims", Arg::kInputDims},
    ArgKey{"Input dims", Arg::kInputDims},
    ArgKey{"Input type", Arg::kInputTypes},
    ArgKey{"process id", Arg::kProcess},
    ArgKey{"Device Type", Arg::kDeviceType},
    ArgKey{"External id", Arg::kExternalId},
    ArgKey{"correlation", Arg::kCorrelation},
    ArgKey{"external id", Arg::kExternalId},
    ArgKey{"Fwd thread id", Arg::kForwardThread},
    ArgKey{"In msg nelems", Arg::kInCount},
    ArgKey{"cuda_graph_id", Arg::kGraphId},
    ArgKey{"shared memory", Arg::kSharedMemory},
    ArgKey{"Memset_details", Arg::kMemsetDetails},
    ArgKey{"Out msg nelems", Arg::kOutCount},
    ArgKey{"Total Reserved", Arg::kTotalReserved},
    ArgKey{"correlation_id", Arg::kCorrelation},
    ArgKey{"kernel_details", Arg::kKernelDetails},
    ArgKey{"memcpy_details", Arg::kMemcpyDetails},
    ArgKey{"Collective name", Arg::kCollectiveName},
    ArgKey{"Concrete Inputs", Arg::kConcreteInputs},
    ArgKey{"Sequence number", Arg::kSequence},
    ArgKey{"Total Allocated", Arg::kTotalAllocated},
    ArgKey{"Python parent id", Arg::kPythonParentId},
    ArgKey{"Process Group Name", Arg::kGroupName},
    ArgKey{"Process Group Ranks", Arg::kGroupRanks},
    ArgKey{"registers per thread", Arg::kRegisters},
    ArgKey{"est. achieved occupancy %", Arg::kOccupancy},
};
static_assert(std::is_sorted(kArgKeys.begin(), kArgKeys.end(),
                             [](const ArgKey& a, const ArgKey& b) { return a.text.size() < b.text.size(); }),
              "arg_of looks keys up by length");

constexpr std::size_t kLongestArgKey = 25;

// first_of_length[n] .. first_of_length[n + 1]: the keys of n bytes.
constexpr std::array<std::uint8_t, kLongestArgKey + 2> build_lengths() {
  std::array<std::uint8_t, kLongestArgKey + 2> first{};
  for (std::size_t length = 0; length < first.size(); ++length) {
    std::uint8_t i = 0;
    while (i < kArgKeys.size() && kArgKeys[i].text.size() < length) ++i;
    first[length] = i;
  }
  return first;
}
constexpr auto kFirstOfLength = build_lengths();

}  // namespace

Field field_of(std::string_view key) {
  switch (key.size()) {
    case 2:
      if (key == "ph") return Field::kPhase;
      if (key == "ts") return Field::kTime;
      if (key == "id") return Field::kId;
      break;
    case 3:
      if (key == "cat") return Field::kCategory;
      if (key == "pid") return Field::kPid;
      if (key == "tid") return Field::kTid;
      if (key == "dur") return Field::kDuration;
      break;
    case 4:
      if (key == "name") return Field::kName;
      if (key == "args") return Field::kArgs;
      break;
    default:
      break;
  }
  return Field::kCount;
}

Arg arg_of(std::string_view key) {
  if (key.size() > kLongestArgKey) return Arg::kCount;
  for (std::size_t i = kFirstOfLength[key.size()]; i < kFirstOfLength[key.size() + 1]; ++i) {
    if (kArgKeys[i].text == key) return kArgKeys[i].arg;
  }
  return Arg::kCount;
}

}  // namespace stepscope::chrome_json

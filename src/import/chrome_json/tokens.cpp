// The keys of PyTorch's, ROCm's, Ascend's and JAX's traces, of old and new versions.
#include "import/chrome_json/tokens.h"

#include "import/chrome_json/key_table.h"

namespace stepscope::chrome_json {
namespace {

using FieldKey = std::pair<std::string_view, Field>;
constexpr KeyTable<Field, 32> kFields(
    std::array{
        FieldKey{"ph", Field::kPhase},
        FieldKey{"ts", Field::kTime},
        FieldKey{"id", Field::kId},
        FieldKey{"cat", Field::kCategory},
        FieldKey{"pid", Field::kPid},
        FieldKey{"tid", Field::kTid},
        FieldKey{"dur", Field::kDuration},
        FieldKey{"name", Field::kName},
        FieldKey{"args", Field::kArgs},
    },
    Field::kCount);

using ArgKey = std::pair<std::string_view, Arg>;
constexpr KeyTable<Arg, 256> kArgs(
    std::array{
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
        ArgKey{"stepscope category", Arg::kSpanCategory},
        ArgKey{"Process Group Name", Arg::kGroupName},
        ArgKey{"Process Group Ranks", Arg::kGroupRanks},
        ArgKey{"stepscope fault", Arg::kFault},
        ArgKey{"stepscope flops", Arg::kFlops},
        ArgKey{"stepscope operator", Arg::kOperatorName},
        ArgKey{"stepscope call stack", Arg::kGraphCallStack},
        ArgKey{"registers per thread", Arg::kRegisters},
        ArgKey{"est. achieved occupancy %", Arg::kOccupancy},
    },
    Arg::kCount);

}  // namespace

Field field_of(std::string_view key) { return kFields.find(key); }

Arg arg_of(std::string_view key) { return kArgs.find(key); }

}  // namespace stepscope::chrome_json

// See overlap_advice.h. A collective's name in the file goes before that of its kernel: grouped calls run as
// ncclDevKernel_Generic, and all-to-all as SendRecv.
#include "rules/overlap_advice.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "analyze/collectives.h"

namespace stepscope {
namespace {

constexpr double kWorthALine = 0.1;  // of all communication

// What programs send so, in the order of their advice where they take the same time.
enum class Traffic : std::uint8_t { kBuckets, kShards, kOnComputeStream, kExchange, kOther };
constexpr std::size_t kTrafficCount = 5;

// Letters alone, small: AllReduce, all_reduce and _allreduce_ are one.
std::string letters_of(std::string_view name) {
  std::string out;
  for (const char letter : name) {
    if (letter >= 'A' && letter <= 'Z') out += static_cast<char>(letter - 'A' + 'a');
    if (letter >= 'a' && letter <= 'z') out += letter;
  }
  return out;
}

Traffic traffic_of_name(std::string_view name) {
  const std::string letters = letters_of(name);
  const auto has = [&](std::string_view part) { return letters.find(part) != std::string::npos; };
  if (has("alltoall")) return Traffic::kExchange;
  if (has("allgather") || has("reducescatter")) return Traffic::kShards;
  return has("allreduce") ? Traffic::kBuckets : Traffic::kOther;
}

Traffic traffic_of(const Trace& trace, GpuEventId event) {
  const CollectiveId collective = trace.gpu_events.collective[event];
  if (collective.has_value()) {
    const Traffic told = traffic_of_name(trace.text(trace.collectives.name[collective]));
    if (told != Traffic::kOther) return told;
  }
  return traffic_of_name(trace.text(trace.gpu_events.name[event]));
}

// FSDP has small kernels beside its collectives, on their streams; a model's products are on the compute stream alone.
bool is_of_a_model(KernelClass kernel_class) {
  return kernel_class == KernelClass::kMatmul || kernel_class == KernelClass::kConvolution ||
         kernel_class == KernelClass::kAttention;
}

std::vector<StreamId> compute_streams(const RuleInput& input, DeviceId device) {
  std::vector<StreamId> out;
  for (const GpuEventId id : input.trace.gpu_events_of_device[device].ids()) {
    if (!is_of_a_model(input.facts.classes.of[id])) continue;
    const StreamId stream = input.trace.gpu_events.stream[id];
    if (std::find(out.begin(), out.end(), stream) == out.end()) out.push_back(stream);
  }
  return out;
}

void add_advice(Traffic traffic, std::vector<std::string>& advice) {
  switch (traffic) {
    case Traffic::kBuckets:
      advice.emplace_back(
          "DDP(..., bucket_cap_mb=10): sooner begun than with 25, the default; 100 if there are many short "
          "collectives");
      advice.emplace_back(
          "DDP(..., gradient_as_bucket_view=True): no copies into buckets; static_graph=True if each step uses the "
          "same "
          "parameters");
      advice.emplace_back(
          "Fewer bytes: torch.distributed.algorithms.ddp_comm_hooks.default_hooks.bf16_compress_hook; no_sync()");
      break;
    case Traffic::kShards:
      advice.emplace_back(
          "FSDP: backward_prefetch=BackwardPrefetch.BACKWARD_PRE, forward_prefetch=True; limit_all_gathers=False if "
          "memory allows");
      advice.emplace_back("fully_shard: set_modules_to_forward_prefetch(), set_modules_to_backward_prefetch()");
      break;
    case Traffic::kOnComputeStream:
      advice.emplace_back(
          "Tensor parallel, on the compute stream: nothing can run under it; torch._inductor.config._micro_pipeline_tp "
          "= True and enable_symm_mem_for_group() overlap it with the products (async TP)");
      advice.emplace_back("SequenceParallel() in parallelize_module's plan; tensor parallel over fewer GPUs");
      break;
    case Traffic::kExchange:
      advice.emplace_back(
          "All-to-all of experts: async_op=True, and shared experts or the batch's other half computed before wait()");
      break;
    case Traffic::kOther:
      advice.emplace_back("async_op=True, and wait() only where the result is used");
      break;
  }
}

}  // namespace

std::vector<std::string> overlap_advice(const RuleInput& input, DeviceId device) {
  const Trace& trace = input.trace;
  const std::vector<StreamId> compute = compute_streams(input, device);
  std::array<DurationNs, kTrafficCount> time_ns{};
  DurationNs total_ns = 0;
  for (const CollectiveRun& run :
       find_collectives(trace, input.facts.timeline, input.facts.classes, input.facts.steps, device)) {
    const GpuEventId id = run.event;
    Traffic traffic = traffic_of(trace, id);
    const bool on_compute = std::find(compute.begin(), compute.end(), trace.gpu_events.stream[id]) != compute.end();
    if (on_compute && (traffic == Traffic::kBuckets || traffic == Traffic::kShards))
      traffic = Traffic::kOnComputeStream;
    const DurationNs length = input.facts.timeline.end_ns[id] - trace.gpu_events.start_ns[id];
    time_ns[static_cast<std::size_t>(traffic)] += length;
    total_ns += length;
  }
  std::array<Traffic, kTrafficCount> order{Traffic::kBuckets, Traffic::kShards, Traffic::kOnComputeStream,
                                           Traffic::kExchange, Traffic::kOther};
  const auto time_of = [&](Traffic traffic) { return time_ns[static_cast<std::size_t>(traffic)]; };
  std::stable_sort(order.begin(), order.end(), [&](Traffic a, Traffic b) { return time_of(a) > time_of(b); });
  std::vector<std::string> advice;
  for (const Traffic traffic : order) {
    const auto time = static_cast<double>(time_of(traffic));
    if (time > 0 && time >= kWorthALine * static_cast<double>(total_ns)) add_advice(traffic, advice);
  }
  if (advice.empty()) add_advice(Traffic::kOther, advice);
  return advice;
}

}  // namespace stepscope

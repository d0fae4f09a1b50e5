// Kernel names to classes: an ordered list of substrings of the lower-cased name, first match wins.
//
// The order is the knowledge. A name is a nest of templates in which outer words say more than inner ones: fused
// attention kernels hold "fprop" and "gemm", convolutions hold "gemm", an ATen elementwise kernel may hold any
// functor. So special words come before general ones. Lists and not regular expressions: std::regex costs
// milliseconds for each long name.
//
// Sources: names in the recordings and in the public sources of the libraries: cuBLAS and cuBLASLt (nvjet,
// splitKreduce), CUTLASS, cuDNN (xmma, cudnn_generated_fort_native, bn_fw_tr), FlashAttention, xFormers (fmha_cutlass),
// ATen, Inductor (triton_poi, _red, _per, _tem), XLA (fusion names), NCCL, RCCL, rocBLAS with Tensile (Cijk_),
// Composable Kernel, MIOpen, Apex, Transformer Engine, vLLM, FBGEMM, bitsandbytes.
#include <optional>
#include <span>
#include <string>

#include "analyze/kernel_class.h"

namespace stepscope {
namespace {

using Words = std::span<const std::string_view>;

// Words beyond this add nothing: the longest mangled names repeat their arguments.
constexpr std::size_t kMaxNameBytes = 1024;

std::string lower_case(std::string_view name) {
  std::string lower(name.substr(0, kMaxNameBytes));
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

bool has_any(std::string_view name, Words words) {
  for (const std::string_view word : words) {
    if (name.find(word) != std::string_view::npos) return true;
  }
  return false;
}

constexpr std::string_view kCommunicationWords[] = {"nccl",
                                                    "rccl",
                                                    "mscclpp",
                                                    "oneccl",
                                                    "nvshmem",
                                                    "all_reduce",
                                                    "allreduce",
                                                    "all_gather",
                                                    "allgather",
                                                    "all_to_all",
                                                    "alltoall",
                                                    "reduce_scatter",
                                                    "multimem_",
                                                    "reducescatter",
                                                    "deep_ep::",
                                                    "symm_mem",
                                                    "cross_device_reduce",
                                                    "userbuffers"};
constexpr std::string_view kSetWords[] = {"memset", "fillbuffer"};
constexpr std::string_view kCopyWords[] = {"memcpy", "copybuffer", "copydevicetodevice", "copyhosttodevice",
                                           "copydevicetohost"};
constexpr std::string_view kAttentionWords[] = {
    "flash_",   "flash::", "_flash",    "flashattn",  "flashinfer",
    "fmha",     "sdpa",    "attention", "attn",       "pagedkvcache",
    "dot_do_o", "mha_fwd", "mha_bwd",   "mha_varlen", "convert_dq_to_16bits"};
constexpr std::string_view kNormalisationWords[] = {"batch_norm",
                                                    "batchnorm",
                                                    "layer_norm",
                                                    "layernorm",
                                                    "rms_norm",
                                                    "rmsnorm",
                                                    "group_norm",
                                                    "groupnorm",
                                                    "instance_norm",
                                                    "instancenorm",
                                                    "gammabetabackward",
                                                    "rowwisemoments",
                                                    "computefusedparams",
                                                    "computeinternalgrad",
                                                    "computebackwardfusedparams",
                                                    "bn_fw",
                                                    "bn_bw",
                                                    "ln_fwd",
                                                    "ln_bwd",
                                                    "norm_fwd",
                                                    "norm_bwd",
                                                    "add_norm"};
constexpr std::string_view kEmbeddingWords[] = {
    "embedding",       "indexselect", "vectorized_gather_kernel", "compute_grad_weight",
    "sum_and_scatter", "krn_partial", "indexing_backward",        "compute_num_of_partial_segments"};
constexpr std::string_view kOptimizerWords[] = {"fusedoptimizer",
                                                "fusedadam",
                                                "fused_adam",
                                                "adamfunctor",
                                                "adammathfunctor",
                                                "adamcapturable",
                                                "adamw",
                                                "adam_kernel",
                                                "fusedsgd",
                                                "fused_sgd",
                                                "sgdfunctor",
                                                "fusedadagrad",
                                                "lambstage",
                                                "fused_lamb",
                                                "koptimizer",
                                                "multi_tensor_adam",
                                                "kpreconditionoptimizer",
                                                "multi_tensor_sgd",
                                                "multi_tensor_lamb"};
// Outer names of ATen: whatever functor they hold, they work element by element or reduce.
constexpr std::string_view kOuterElementwiseWords[] = {"elementwise_kernel", "multi_tensor_apply_kernel", "addpadding"};
constexpr std::string_view kOuterReductionWords[] = {"at::native::reduce_kernel", "dot_kernel"};
constexpr std::string_view kConvolutionWords[] = {
    "fprop",     "dgrad",          "wgrad",         "convolve",      "convolution",  "conv1d",           "conv2d",
    "conv3d",    "conv_depthwise", "depthwiseconv", "implicit_gemm", "implicitgemm", "winograd",         "im2col",
    "col2im",    "vol2col",        "scudnn",        "16cudnn",       "cudnn::cnn",   "cask_plugin",      "miopenconv",
    "miopensp3", "igemm_",         "grouped_conv",  "fft2d_",        "naive_conv",   "cutlass__5x_cudnn"};
constexpr std::string_view kMatmulWords[] = {
    "gemm",       "nvjet",      "gemv",   "cijk_",   "splitkreduce", "matmul", "xmma",    "triton_mm", "fused_moe",
    "grouped_mm", "triton_bmm", "marlin", "machete", "cublaslt::",   "wgmma",  "rocblas", "hipblas"};
// Softmax, losses, pooling and scans are reductions over a part of the tensor.
constexpr std::string_view kReductionWords[] = {"softmax", "reduce",        "reduction",    "nll_loss", "pool",
                                                "argmax",  "cross_entropy", "crossentropy", "argmin",   "cumsum",
                                                "scan",    "norm_kernel",   "lpnorm"};
// Element by element, or only moved: layout changes, concatenation, indexing, random numbers.
constexpr std::string_view kElementwiseWords[] = {
    "elementwise", "catarray", "nchwtonhwc", "nhwctonchw",    "tensortransform",
    "transpose",   "permute",  "copy",       "dropout",       "masked",
    "tril",        "triu",     "arange",     "distribution_", "gelu",
    "silu",        "relu",     "swiglu",     "geglu",         "act_and_mul",
    "rotary",      "_rope",    "rope_",      "upsample",      "index",
    "scatter",     "gather",   "pad_",       "flip",          "cast",
    "quantize",    "triton_",  "fusion",     "wrapped_",      "add_kernel",
    "mul_kernel",  "fill",     "pointwise",  "broadcast",     "concatenate"};

struct ClassWords {
  KernelClass kernel_class;
  Words words;
};

constexpr ClassWords kInOrder[] = {{KernelClass::kCommunication, kCommunicationWords},
                                   {KernelClass::kSet, kSetWords},
                                   {KernelClass::kCopy, kCopyWords},
                                   {KernelClass::kAttention, kAttentionWords},
                                   {KernelClass::kNormalisation, kNormalisationWords},
                                   {KernelClass::kEmbedding, kEmbeddingWords},
                                   {KernelClass::kOptimizer, kOptimizerWords},
                                   {KernelClass::kElementwise, kOuterElementwiseWords},
                                   {KernelClass::kReduction, kOuterReductionWords},
                                   {KernelClass::kConvolution, kConvolutionWords},
                                   {KernelClass::kMatmul, kMatmulWords},
                                   {KernelClass::kReduction, kReductionWords},
                                   {KernelClass::kElementwise, kElementwiseWords}};

// Inductor lists the fused operators in a kernel's name, neighbours of the real work included, so its prefix decides:
// poi(ntwise), red(uction), per(sistent reduction), for(each), tem(plate).
std::optional<KernelClass> classify_inductor(std::string_view name) {
  if (name.starts_with("triton_poi_") || name.starts_with("triton_for_")) {
    return has_any(name, kEmbeddingWords) ? KernelClass::kEmbedding : KernelClass::kElementwise;
  }
  if (name.starts_with("triton_red_") || name.starts_with("triton_per_")) {
    return has_any(name, kNormalisationWords) ? KernelClass::kNormalisation : KernelClass::kReduction;
  }
  if (name.starts_with("triton_tem_")) {
    if (has_any(name, kAttentionWords)) return KernelClass::kAttention;
    return has_any(name, kConvolutionWords) ? KernelClass::kConvolution : KernelClass::kMatmul;
  }
  return std::nullopt;
}

// No use for tensor cores: a vector times a matrix is bound by memory, a depthwise convolution has no inner sum.
constexpr std::string_view kNoUseWords[] = {"gemv", "depthwise", "splitkreduce", "splitk_reduce", "reducesplitk"};
constexpr std::string_view kSimtWords[] = {"simt", "sgemm", "ffma", "scudnn", "gemmsn", "gemmk1", "dgemm_", "cgemm_"};
constexpr std::string_view kTensorWords[] = {
    "tensorop", "tensor16x", "tensor8x", "wmma",   "hmma",     "gmma",   "imma",  "umma",   "tcgen05",
    "nvjet",    "warpgroup", "s884",     "h884",   "d884",     "s1688",  "h1688", "s16816", "h16816",
    "i16816",   "i8816",     "i16832",   "s16832", "bf16bf16", "f16f16", "tf32",  "xdl",    "mfma",
    "_mi16x",   "_mi32x",    "_mi4x",    "gtcx",   "flash",    "sdpa"};
constexpr std::string_view kHalfTypes[] = {"f16", "half"};

}  // namespace

KernelClass classify_kernel_name(std::string_view name, GpuEventKind kind) {
  if (kind == GpuEventKind::kCopy) return KernelClass::kCopy;
  if (kind == GpuEventKind::kSet) return KernelClass::kSet;
  const std::string lower = lower_case(name);
  if (const auto found = classify_inductor(lower)) return *found;
  for (const ClassWords& each : kInOrder) {
    if (has_any(lower, each.words)) return each.kernel_class;
  }
  return KernelClass::kOther;
}

TensorCores classify_tensor_cores(std::string_view name) {
  const KernelClass kernel_class = classify_kernel_name(name, GpuEventKind::kKernel);
  const bool multiplies = kernel_class == KernelClass::kMatmul || kernel_class == KernelClass::kConvolution ||
                          kernel_class == KernelClass::kAttention;
  if (!multiplies) return TensorCores::kUnknown;
  const std::string lower = lower_case(name);
  if (has_any(lower, kNoUseWords)) return TensorCores::kUnknown;
  if (has_any(lower, kSimtWords)) return TensorCores::kNotUsed;
  if (has_any(lower, kTensorWords)) return TensorCores::kUsed;
  // xFormers' kernels name only the type; in 16 bits they run on tensor cores, in 32 bits that depends on a setting.
  if (lower.find("fmha") != std::string::npos && has_any(lower, kHalfTypes)) return TensorCores::kUsed;
  // Tensile names its matrix instruction (_MI16x16...), mostly; a contraction of 32-bit floats (_SB) without one runs
  // on the vector units.
  if (lower.starts_with("cijk_") && lower.find("_sb_") != std::string::npos) return TensorCores::kNotUsed;
  return TensorCores::kUnknown;
}

}  // namespace stepscope

// Real names of every library, and what decides over the name.
#include "analyze/kernel_class.h"

#include <gtest/gtest.h>

#include "support/trace_from_text.h"

namespace stepscope {
namespace {

struct Named {
  std::string_view name;
  KernelClass kernel_class;
  TensorCores tensor_cores;
};

constexpr auto kUsed = TensorCores::kUsed;
constexpr auto kNotUsed = TensorCores::kNotUsed;
constexpr auto kNoUse = TensorCores::kUnknown;

constexpr Named kNames[] = {
    {"nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_NNT", KernelClass::kMatmul, kUsed},
    {"ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_64x3_nn", KernelClass::kMatmul, kUsed},
    {"ampere_sgemm_128x64_nn", KernelClass::kMatmul, kNotUsed},
    {"volta_fp16_s884gemm_fp16_64x64_ldg8_f2f_nn", KernelClass::kMatmul, kUsed},
    {"sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize128x128x8_stage3_warpsize2x2x1_ffma_aligna4_alignc4_execute_kernel_"
     "_"
     "5x_cublas",
     KernelClass::kMatmul, kNotUsed},
    {"void cutlass::Kernel2<cutlass_80_simt_sgemm_128x256_8x4_nt_align1>(Params)", KernelClass::kMatmul, kNotUsed},
    {"void cutlass::Kernel2<cutlass_80_tensorop_s1688gemm_128x128_16x4_nt_align4>(Params)", KernelClass::kMatmul,
     kUsed},
    {"void cublasLt::splitKreduce_kernel<32, 16, int, float>(cublasLt::cublasSplitKParams<float>)",
     KernelClass::kMatmul, kNoUse},
    {"void gemv2T_kernel_val<int, int, float, float, float, float, 128, 16, 4, 4, false, false>", KernelClass::kMatmul,
     kNoUse},
    {"Cijk_Ailk_Bljk_BBS_BH_MT128x128x32_MI32x32x8x1_SN_1LDSB0", KernelClass::kMatmul, kUsed},
    {"Cijk_Ailk_Bljk_SB_MT64x64x8_SN", KernelClass::kMatmul, kNotUsed},
    {"Cijk_Ailk_Bljk_BBS_BH_MT128x128x32_SN", KernelClass::kMatmul, kNoUse},
    {"void nhwcAddPaddingKernel<__nv_bfloat16, float, true>(int, reduced_divisor_t)", KernelClass::kElementwise,
     kNoUse},
    {"gemm_kernel_a", KernelClass::kMatmul, kNoUse},
    {"cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x64_4x1x1_cga1x1x1_kernel0_0",
     KernelClass::kAttention, kUsed},
    {"void pytorch_flash::flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<Flash_bwd_kernel_traits<64>>",
     KernelClass::kAttention, kUsed},
    {"fmha_cutlassF_f32_aligned_64x64_rf_sm80(PyTorchMemEffAttention::AttentionKernel<float>::Params)",
     KernelClass::kAttention, kNoUse},
    {"fmha_cutlassF_bf16_aligned_64x64_rf_sm80(PyTorchMemEffAttention::AttentionKernel<>::Params)",
     KernelClass::kAttention, kUsed},
    {"sm90_xmma_fprop_implicit_gemm_bf16bf16_bf16f32_f32_nhwckrsc_nhwc_tilesize128x128x64_warpgroupsize1x1x1_g1_"
     "execute",
     KernelClass::kConvolution, kUsed},
    {"void cutlass__5x_cudnn::Kernel<cutlass_tensorop_bf16_s16816fprop_optimized_bf16_256x64_32x4_nhwc_align8>(Params)",
     KernelClass::kConvolution, kUsed},
    {"void precomputed_convolve_sgemm<__nv_bfloat16, 128, 6, 7, 3, 3, 5, 1, false>(int, int)",
     KernelClass::kConvolution, kNotUsed},
    {"void at::native::(anonymous namespace)::conv_depthwise2d_forward_kernel<3, float, int>",
     KernelClass::kConvolution, kNoUse},
    {"void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float, float, false>(int)",
     KernelClass::kNormalisation, kNoUse},
    {"void at::native::(anonymous namespace)::GammaBetaBackwardCUDAKernelTemplate<float, float, 32u>",
     KernelClass::kNormalisation, kNoUse},
    {"void cudnn::bn_fw_tr_1C11_kernel_NCHW<float, float, int, 512, true, 1, true>(cudnnTensorStruct)",
     KernelClass::kNormalisation, kNoUse},
    {"void at::native::vectorized_elementwise_kernel<8, at::native::GeluCUDAKernelImpl(at::TensorIteratorBase&)>",
     KernelClass::kElementwise, kNoUse},
    {"void at::native::(anonymous namespace)::CatArrayBatchedCopy<at::native::OpaqueType<2u>, unsigned int, 4, 64, 64>",
     KernelClass::kElementwise, kNoUse},
    {"void at::native::reduce_kernel<128, 4, at::native::ReduceOp<c10::BFloat16, at::native::NormTwoOps<float>>>",
     KernelClass::kReduction, kNoUse},
    {"void at::native::(anonymous namespace)::cunn_SoftMaxForward<8, c10::BFloat16, float>", KernelClass::kReduction,
     kNoUse},
    {"void at::native::(anonymous namespace)::embedding_backward_feature_kernel<float, float, long>",
     KernelClass::kEmbedding, kNoUse},
    {"void at::native::(anonymous namespace)::multi_tensor_apply_kernel<FusedOptimizerTensorListMetadata<4>, "
     "FusedAdamMathFunctor<float, 4>>",
     KernelClass::kOptimizer, kNoUse},
    {"void at::native::(anonymous namespace)::multi_tensor_apply_kernel<TensorListMetadata<1>, UnaryOpFunctor<Sqrt>>",
     KernelClass::kElementwise, kNoUse},
    {"ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", KernelClass::kCommunication, kNoUse},
    {"ncclDevKernel_Generic_2(ncclDevKernelArgsStorage<4096ul>)", KernelClass::kCommunication, kNoUse},
    {"triton_poi_fused_add_native_layer_norm_0", KernelClass::kElementwise, kNoUse},
    {"triton_red_fused_native_layer_norm_2", KernelClass::kNormalisation, kNoUse},
    {"triton_per_fused__softmax_3", KernelClass::kReduction, kNoUse},
    {"triton_tem_fused_mm_4", KernelClass::kMatmul, kNoUse},
    {"triton_tem_fused_flex_attention_1", KernelClass::kAttention, kNoUse},
    {"memset32", KernelClass::kSet, kNoUse},
    {"__amd_rocclr_copyBuffer", KernelClass::kCopy, kNoUse},
    {"a_kernel_of_nobody", KernelClass::kOther, kNoUse},
    {"", KernelClass::kOther, kNoUse},
};

TEST(KernelClass, EveryLibrarysNames) {
  for (const Named& each : kNames) {
    EXPECT_EQ(kernel_class_name(classify_kernel_name(each.name, GpuEventKind::kKernel)),
              kernel_class_name(each.kernel_class))
        << each.name;
    EXPECT_EQ(classify_tensor_cores(each.name), each.tensor_cores) << each.name;
  }
}

TEST(KernelClass, CopiesAndSetsAreWhatTheirEventSays) {
  EXPECT_EQ(classify_kernel_name("nccl copy", GpuEventKind::kCopy), KernelClass::kCopy);
  EXPECT_EQ(classify_kernel_name("Memset (Device)", GpuEventKind::kSet), KernelClass::kSet);
}

TEST(KernelClass, AnOptimizerSpanDecidesOverTheName) {
  const Trace trace = trace_from_text(R"(
    span           [opt==============]
    call      [L1]   [L2] [L3] [L4]     [L5]
    gpu/7       [K1]   [K2] [K3]  [C]     [K5]
    where
      opt = Optimizer.step#AdamW.step
      L1 = cudaLaunchKernel corr 1
      L2 = cudaLaunchKernel corr 2
      L3 = cudaLaunchKernel corr 3
      L4 = cudaMemcpyAsync corr 4
      L5 = cudaLaunchKernel corr 5
      K1 = void at::native::vectorized_elementwise_kernel corr 1
      K2 = void at::native::elementwise_kernel corr 2
      K3 = ncclDevKernel_AllGather corr 3
      C = Memcpy DtoD (Device -> Device) corr 4
      K5 = gemm corr 5
  )");
  const KernelClasses classes = compute_kernel_classes(trace);
  EXPECT_EQ(classes.of[gpu_event_named(trace, "void at::native::vectorized_elementwise_kernel")],
            KernelClass::kElementwise);
  EXPECT_EQ(classes.of[gpu_event_named(trace, "void at::native::elementwise_kernel")], KernelClass::kOptimizer);
  EXPECT_EQ(classes.of[gpu_event_named(trace, "ncclDevKernel_AllGather")], KernelClass::kCommunication);
  EXPECT_EQ(classes.of[gpu_event_named(trace, "Memcpy DtoD (Device -> Device)")], KernelClass::kCopy);
  EXPECT_EQ(classes.of[gpu_event_named(trace, "gemm")], KernelClass::kMatmul);
}

}  // namespace
}  // namespace stepscope

"""Kinds of kernels by names as the libraries give them."""

from __future__ import annotations

import pytest

from roofline.counters.kernel_kinds import KINDS, kind_of, named_for_tensor_cores

_NATIVE = "void at::native::"
_FOREACH = f"{_NATIVE}(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous namespace)::"

NAMES = {
    "gemm": (
        "ampere_sgemm_128x64_nn",
        "volta_sgemm_128x32_tn",
        "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_tn",
        "void cutlass::Kernel2<cutlass_80_tensorop_s1688gemm_128x128_16x5_tn_align4>(T1::Params)",
        "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_execute_segment_k_off_kernel",
        "nvjet_tst_192x192_64x4_2x1_v_bz_coopB_TNN",
        "void gemv2T_kernel_val<int, int, float, float, float, 128, 16, 4, 4, cublasGemvParamsEx<int>>(T13)",
        "void gemmSN_NN_kernel<float, 256, 4, 2, 8, 3, 4, false, cublasGemvTensorStridedBatched<float const>>(float)",
        "triton_tem_fused_addmm_relu_3",
    ),
    "convolution forward": (
        "sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nhwc_tilesize128x128x16_stage4_warpsize2x2x1_g1",
        "void cutlass_cudnn_infer::Kernel<cutlass_tensorop_s1688fprop_optimized_tf32_128x128_16x4_nhwc_align4>",
        "_5x_cudnn_volta_scudnn_128x64_relu_xregs_large_nn_v1",
        "void implicit_convolve_sgemm<float, float, 1024, 5, 5, 3, 3, 3, 1, false, false, true>(int, int, int)",
        f"{_NATIVE}(anonymous namespace)::conv_depthwise2d_forward_kernel<3, float, int>(at::PackedTensorAccessor)",
        "void conv2d_grouped_direct_kernel<float, float, float, float, float, true, false, 0, 0, 0>(cudnnTensorStruct)",
        "void cudnn::cnn::conv2d_c1_k1_nhwc_kernel<float, float, float, float, float, 3, 1, 8, 3, true>(float)",
    ),
    "convolution dgrad": (
        "sm80_xmma_dgrad_implicit_gemm_indexed_f16f16_f16f32_f32_nhwckrsc_nhwc_tilesize64x64x64_stage4_g1",
        "void cudnn::cnn::dgrad2d_grouped_direct_kernel<float, float, float, float, true, false, 0, 0, 0>(float)",
        "void dgrad_engine<float, 512, 6, 5, 3, 3, 3, false>(int, int, int, float const*, int)",
        f"{_NATIVE}(anonymous namespace)::conv_depthwise2d_backward_kernel<3, 1, float, int>(at::PackedTensorAccessor)",
    ),
    "convolution wgrad": (
        "sm80_xmma_wgrad_implicit_gemm_indexed_tf32f32_tf32f32_f32_nhwckrsc_nhwc_tilesize128x128x16_stage4",
        "void cudnn::cnn::wgrad2d_grouped_direct_kernel<__half, __half, float, float, float, true, false>(float)",
        "void wgrad_alg0_engine<float, 128, 5, 5, 3, 3, 3, false, 512>(int, int, int, float const*, int, float*)",
        f"{_NATIVE}(anonymous namespace)::conv_depthwise2d_grad_weight_kernel<float, unsigned int>(at::Packed)",
        "void cudnn::winograd_nonfused::winogradWgradData4x4<float, float>(cudnn::maxwell::winograd_nonfused::Params)",
    ),
    "convolution": (
        "void cudnn::winograd_nonfused::winogradForwardData4x4<float, float>(cudnn::winograd_nonfused::Params)",
        "void fft2d_r2c_32x32<float, false, 0u, false>(float2*, float const*, int, int, int, int, int)",
        "triton_tem_fused_convolution_0",
    ),
    "attention": (
        "void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128>>(pytorch_flash::Flash_fwd_params)",
        "fmha_cutlassF_f32_aligned_64x64_rf_sm80(PyTorchMemEffAttention::AttentionKernel::Params)",
        "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_3_128x64x64_4x1x1_kernel0_0",
        "void flash_attn_bwd_dot_do_o_kernel<Flash_bwd_kernel_traits>(Flash_bwd_params)",
    ),
    "elementwise": (
        f"{_NATIVE}vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>>(int)",
        f"{_NATIVE}unrolled_elementwise_kernel<at::native::GeluCUDAKernelImpl(at::TensorIteratorBase&)>(int)",
        f"{_NATIVE}index_elementwise_kernel<128, 4, at::native::gpu_index_kernel>(int)",
        f"{_NATIVE}(anonymous namespace)::distribution_elementwise_grid_stride_kernel<float, 4, normal_>(long)",
        f"{_NATIVE}(anonymous namespace)::fused_dropout_kernel_vec<float, float, unsigned int, 1, 4, bool>(at::cuda)",
        "triton_poi_fused_convolution_relu_4",
        "triton_poi_fused_scaled_dot_product_attention_5",
        "void op_generic_tensor_kernel<2, float, float, float, 256, 1, 0>(cudnnTensorStruct, float*)",
    ),
    "normalisation": (
        f"{_NATIVE}batch_norm_transform_input_channels_last_kernel<float, float, float, 4>(float const*)",
        f"{_NATIVE}(anonymous namespace)::vectorized_layer_norm_kernel<float, float>(int, float, float const*)",
        f"{_NATIVE}(anonymous namespace)::GammaBetaBackwardCUDAKernelTemplate<float, float>(long, long)",
        f"{_NATIVE}(anonymous namespace)::RowwiseMomentsCUDAKernel<float>(long, float, float const*)",
        "void cudnn::bn_fw_tr_1C11_kernel_NCHW<__half, float, 512, true, 1, true>(cudnnTensorStruct)",
        "void cudnn::bn_bw_1C11_kernel_new<__half, float, float2, 512, true, 1>(float)",
        "triton_red_fused__native_batch_norm_legit_functional_6",
    ),
    "reduction": (
        f"{_NATIVE}reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::NormTwoOps<float, float>>>(int)",
        "void cublasLt::splitKreduce_kernel<32, 16, int, __half, __half, float, false>(cublasSplitKParams<float>)",
        f"{_NATIVE}(anonymous namespace)::nll_loss_forward_reduce_cuda_kernel_2d<float, float, long>(float*)",
        "void cub::DeviceReduceSingleTileKernel<cub::DeviceReducePolicy>(float*)",
        "triton_per_fused_sum_2",
        f"{_FOREACH}TensorListMetadata<1>, at::native::(anonymous namespace)::LpNormFunctor<float, 2>>(float)",
    ),
    "softmax": (
        f"{_NATIVE}(anonymous namespace)::cunn_SoftMaxForward<4, float, float, float>(float*, float const*, int)",
        "void (anonymous namespace)::softmax_warp_backward<c10::BFloat16, c10::BFloat16, float, 9, true, false>(int)",
        "triton_per_fused__softmax_exp_masked_fill_mul_ones_3",
    ),
    "optimiser": (
        f"{_FOREACH}FusedOptimizerTensorListMetadata<4>, FusedAdamMathFunctor<float, 4>>(float)",
        f"{_FOREACH}TensorListMetadata<2>, at::native::BinaryOpListAlphaFunctor<float, 2, 2, 0>, std::plus<float>>()",
        "triton_for_fused_0",
    ),
    "copy": (
        "Memcpy HtoD (Pinned -> Device)",
        "Memset (Device)",
        "[CUDA memcpy DtoH]",
        f"{_NATIVE}unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)>(int)",
        f"{_NATIVE}(anonymous namespace)::CatArrayBatchedCopy<float, unsigned int, 4, 64, 64>(float*)",
        "void cudnn::ops::nchwToNhwcKernel<__half, __half, float, false, true, (cudnnKernelDataType_t)0>(int)",
        f"{_FOREACH}TensorListMetadata<2>, UnaryOpFunctor<float, 2, 1, 1>, at::native::Copy<float, float>>(float)",
    ),
    "collective": (
        "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
        "ncclKernel_ReduceScatter_RING_LL_Sum_float(ncclDevComm*, unsigned long, ncclWork*)",
        "void vllm::cross_device_reduce_1stage<float, 2>(vllm::RankData*)",
    ),
    "pooling": (
        f"{_NATIVE}(anonymous namespace)::max_pool_forward_nchw<float>(int, float const*, long)",
        f"{_NATIVE}(anonymous namespace)::adaptive_average_pool<float>(float const*, float*, int)",
        "void cudnn::pooling_fw_4d_kernel<float, float, cudnn::maxpooling_func<float>, 2, false>(cudnnTensorStruct)",
    ),
    "other": ("kernel_B", "range", "", "triu_tril_kernel"),
}


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind, names in NAMES.items() for name in names])
def test_kinds(kind: str, name: str) -> None:
    """Whatever else their long names hold."""
    assert kind_of(name) == kind


def test_every_kind_is_tested() -> None:
    """The list of kinds and the rules are one."""
    assert set(NAMES) == set(KINDS)


@pytest.mark.parametrize(
    ("name", "named"),
    [
        ("ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_tn", True),
        ("cutlass_80_tensorop_s1688gemm_128x128_16x5_tn_align4", True),
        ("sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nhwc_tensor16x8x8", True),
        ("volta_fp16_s884gemm_fp16_64x64_ldg8_f2f_tn", True),
        ("nvjet_tst_192x192_64x4_2x1_v_bz_coopB_TNN", True),
        ("sm80_xmma_gemm_f16f16_f16f32_f32_tn_n_tilesize128x128x32_stage4", True),
        ("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_execute_segment_k_off_kernel", True),
        ("sm86_xmma_fprop_implicit_gemm_bf16bf16_bf16f32_f32_nhwckrsc_nhwc", True),
        ("sm80_xmma_wgrad_implicit_gemm_indexed_f16f16_f16f32_f32_nhwckrsc", True),
        ("sm89_xmma_gemm_e4m3e4m3_e4m3f32_f32_tn_n_tilesize128x128x64", True),
        ("void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, cutlass::half_t>>", True),
        ("void pytorch_flash::flash_fwd_splitkv_kernel<Flash_fwd_kernel_traits<64, cutlass::half_t>>", True),
        ("void flash::flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<Flash_bwd_kernel_traits<64>>", True),
        ("fmha_cutlassF_f16_aligned_64x64_rf_sm80(PyTorchMemEffAttention::AttentionKernel)", True),
        ("fmha_cutlassB_f16_aligned_64x64_k64_dropout_sm75(PyTorchMemEffAttention::AttentionBackwardKernel)", True),
        ("fmha_cutlassF_f32_aligned_64x64_rf_sm80(PyTorchMemEffAttention::AttentionKernel)", True),
        ("void wmma_kernel(half*)", True),
        ("fmha_cutlassF_f32_aligned_64x64_rf_sm75(PyTorchMemEffAttention::AttentionKernel)", False),
        ("fmha_cutlassF_f16_aligned_64x64_rf_sm50(PyTorchMemEffAttention::AttentionKernel)", False),
        ("void flash::flash_fwd_splitkv_combine_kernel<Flash_fwd_kernel_traits<64, cutlass::half_t>>", False),
        ("void flash::flash_bwd_dot_do_o_kernel<true, Flash_bwd_kernel_traits<64, cutlass::half_t>>", False),
        ("void flash::flash_bwd_convert_dq_kernel<Flash_bwd_kernel_traits<64, cutlass::half_t>>", False),
        ("sm80_xmma_fprop_implicit_gemm_f32f32_f32f32_f32_nhwckrsc_nhwc_tilesize128x128x8", False),
        ("ampere_sgemm_128x64_nn", False),
        ("volta_sgemm_128x32_tn", False),
        ("void at::native::vectorized_elementwise_kernel<4, GammaFunctor>", False),
    ],
)
def test_names_that_tell_of_tensor_cores(name: str, named: bool) -> None:
    """sgemm is computed on the CUDA cores, whatever the chip."""
    assert named_for_tensor_cores(name) is named

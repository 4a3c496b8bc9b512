"""Kernel names to kinds, by how cuBLAS, cuDNN, CUTLASS, ATen, Triton and NCCL name theirs."""

from __future__ import annotations

import re
from functools import lru_cache

KINDS = (
    "gemm",
    "convolution forward",
    "convolution dgrad",
    "convolution wgrad",
    "convolution",
    "attention",
    "elementwise",
    "normalisation",
    "reduction",
    "softmax",
    "optimiser",
    "copy",
    "collective",
    "pooling",
    "other",
)
"""``convolution`` alone: of a direction that the name does not tell. It is the algorithm's: cuDNN may compute the
gradient of an input with a kernel that it calls forward."""

_RULES: tuple[tuple[str, str], ...] = (
    ("collective", r"nccl|rccl|nvshmem|deep_ep::|all_?reduce|all_?gather|reduce_?scatter|cross_device_reduce"),
    ("copy", r"^\[?(cuda )?mem(cpy|set)"),
    # Inductor's prefix tells what the loop does; the operations fused into it only lent their names.
    ("optimiser", r"^triton_for_"),
    ("attention", r"^triton_tem_.*(attention|sdpa)"),
    ("convolution", r"^triton_tem_.*conv"),
    ("gemm", r"^triton_tem_"),
    ("elementwise", r"^triton_poi_"),
    ("normalisation", r"^triton_(per|red)_.*_norm"),
    ("softmax", r"^triton_(per|red)_.*softmax"),
    ("reduction", r"^triton_(per|red)_"),
    ("attention", r"flash_?(attn|fwd|bwd|attention)|pytorch_flash|(?<![a-z])f?mha_|attention|sdpa"),
    ("copy", r"multi_tensor_apply_kernel.*copy<"),
    ("reduction", r"multi_tensor_apply_kernel.*lpnorm|lpnorm_cleanup"),
    ("optimiser", r"multi_tensor_apply|fusedoptimi[sz]er|adam|(?<![a-z])sgd|(?<![a-z])lamb(?!da)|adagrad|rmsprop"),
    ("optimiser", r"amp_non_finite|non_finite_check|amp_update_scale"),
    ("reduction", r"split_?k_?reduce|reducesplitk"),
    ("copy", r"im2col|col2im|nchwtonhwc|nhwctonchw|nchw_?to_?nhwc|nhwc_?to_?nchw|converttensor"),
    ("convolution wgrad", r"wgrad|conv\w*grad_?weight|conv\w*backward_?filter|bwd_?filter"),
    ("convolution dgrad", r"dgrad|conv_depthwise\w*backward_kernel|conv\w*backward_?(data|input)|bwd_?data"),
    ("convolution forward", r"fprop|cudnn_\w*relu|implicit_(gemm|convolve)|explicit_convolve|convolve_sgemm"),
    ("convolution forward", r"conv(olve|olution|_?depthwise)?\w*(_fwd|forward)|conv2d_grouped_direct|conv2d_c1_k1"),
    ("convolution", r"winograd|fft2d_[rc]2[rc]|flip_filter|compute_gemm_pointers|convol|\d*s?cudnn_\d|conv[123]d"),
    ("normalisation", r"(batch|layer|group|instance|rms|weight)_?norm|(?<![a-z])bn_(fw|bw)|gammabeta|rowwisemoments"),
    ("normalisation", r"computeinternalgradients|computefusedparams|compute1dbackwardfused"),
    ("softmax", r"softmax"),
    ("pooling", r"(max|avg|average|adaptive|fractional|roi)_?pool|pooling|adaptiveaveragepool|pool[123]d"),
    ("gemm", r"gemm|gemv|nvjet|matmul|(?<![a-z])[ab]?mm_kernel|cutlass"),
    ("reduction", r"reduce|(?<![a-z])dot_kernel|nll_loss|cross_entropy|sum_kernel|welford"),
    ("copy", r"copy|memset|cat_?array|transpose|permute|chunk_cat|gather|scatter|index_?select|memcpy"),
    ("elementwise", r"elementwise|pointwise|op_(generic_)?tensor|add_tensor|eigenmetakernel|_gpu_dt_|fused_dropout"),
    ("elementwise", r"(?<![a-z])(relu|gelu|silu|sigmoid|tanh|dropout|bias|add|mul)_\w*kernel|activation"),
)
"""Kind and what its names have in them, in lower case: the first that fits. Those with stronger words come first."""

_COMPILED = tuple((kind, re.compile(pattern)) for kind, pattern in _RULES)

_ON_TENSOR_CORES = re.compile(
    r"tensorop|(?<![a-z])[hidw]mma|wgmma|nvjet|_tensor\d+x\d+x\d+"
    r"|(?<![a-z])[hsi](884|1688|16816|161616|8816|16832)|(?<![a-z])(fp16|bf16|tf32)_s\d|tf32tf32|tf32f32"
    # cuBLAS and cuDNN, for chips with tensor cores: types of both operands.
    r"|sm(7|8|9|1\d)\d_xmma_\w*?(f16f16|bf16bf16|i8i8|e\dm\de\dm\d)_"
    # FlashAttention knows nothing else; what it does before and after the products is not of them.
    r"|(?<![a-z])flash_(fwd(?!_splitkv_combine)|bwd_d[qk]_)\w*kernel(?!\w)"
    # CUTLASS' attention in torch: TF32 from compute capability 8 on.
    r"|fmha_cutlass[fb]_(f16_\w*_sm7\d|\w+_sm[89]\d)"
)
"""In lower case."""


@lru_cache(maxsize=4096)
def kind_of(name: str) -> str:
    """One of `KINDS`, ``other`` where the name does not tell:

    >>> kind_of("sm80_xmma_dgrad_implicit_gemm_f16f16_f16f32_f32_nhwckrsc_nhwc")
    'convolution dgrad'
    """
    lower = name.lower()
    return next((kind for kind, pattern in _COMPILED if pattern.search(lower)), "other")


def named_for_tensor_cores(name: str) -> bool:
    """Tell whether the name says that the kernel computes on tensor cores. That it does not say so proves nothing."""
    return _ON_TENSOR_CORES.search(name.lower()) is not None

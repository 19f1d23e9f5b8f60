# ruff: noqa: E501 - one family a line
"""Whether a kernel runs on tensor cores (AMD: matrix cores), inferred from its name by rules, which are data.

The first family whose pattern matches decides, so the order is part of the rules. Helpers come before the kernels that
they help, and plain cores before tensor cores, because a plain kernel's name may contain a tensor-core kernel's words.
A kernel of no family is "unknown", never "no". What its op or its achieved rate shows is considered elsewhere.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import Literal

import msgspec

from tb_steptime.metrics.kernel_names.short_names import function_name
from tb_steptime.metrics.kernel_names.work_kinds import COLLECTIVE_KERNEL
from tb_steptime.text.patterns import expression

#: "yes": on tensor cores; "no": on other cores; "unknown": the name does not show it.
TensorCore = Literal["yes", "no", "unknown"]

#: A kernel's role in matrix work. It is the product (or convolution, or attention) itself, a stage around one, such as
#: a layout conversion or a transform, or other work.
Role = Literal["matmul", "stage", "other"]

#: A pattern is matched against the function's name, without template arguments and parameters, or the whole name.
Where = Literal["function", "whole"]


class Family(msgspec.Struct, frozen=True):
    """Kernels of one origin. example: a name that this family decides. source: the project whose naming the pattern
    follows."""

    id: str
    answer: TensorCore
    role: Role
    where: Where
    pattern: str
    reason: str
    example: str
    source: str


class Answer(msgspec.Struct, frozen=True):
    """The answer for a name. family: id of the deciding family. reason: text for the user."""

    answer: TensorCore
    family: str
    reason: str
    role: Role

    @property
    def matmul_like(self) -> bool:
        """Whether the kernel is a matrix product, a convolution or attention, on whatever cores."""
        return self.role == "matmul"

    @property
    def products(self) -> int:
        """The number of products on tensor cores for each product of the op; 0 without tensor cores. Three in TF32 keep
        the digits of one in FP32."""
        return (3 if self.family == "fmha_cutlass_3xtf32" else 1) if self.answer == "yes" else 0


#: Excludes names with words of a fused kernel that also contains a matrix product, which is not a mere helper.
_NO_PRODUCT = r"^(?!.*(?:gemm(?!a)|matmul|attn|attention|conv|fmha|mlp|moe_kernel|(?<![a-z])(?:add|badd)?b?mm(?![a-z])|triton_tem))"

# fmt: off
FAMILIES: tuple[Family, ...] = (
    # 1 helpers, whose names would match later rules by mistake
    Family("collective", "no", "other", "whole", COLLECTIVE_KERNEL.pattern, "communication", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "NCCL, RCCL, PyTorch symmetric memory"),
    Family("inductor", "no", "other", "function", r"^triton_(?:poi|red|per|for)_", "elementwise or reduction", "triton_poi_fused_add_cos_sin_0", "Inductor: poi, red, per, for are its pointwise, reduction and foreach templates"),
    Family("tinygemm", "yes", "matmul", "function", r"tinygemm_m16n8k16", "4-bit matrix product on tensor cores", "void at::native::tinygemm_m16n8k16_chunk_kernel<at::native::ALayout_RM>(void const*)", "PyTorch int4mm.cu: mma.m16n8k16"),
    Family("depthwise", "no", "other", "function", r"conv_depthwise[23]d|grouped_direct_kernel|\bdepthwise_conv|causal_conv1d", "depthwise convolution, limited by memory", "void at::native::(anonymous namespace)::conv_depthwise2d_forward_kernel<3, float, int>(at::GenericPackedTensorAccessor<float const, 4ul>)", "PyTorch DepthwiseConv2d.cu, cuDNN"),
    Family("layout", "no", "stage", "function", r"(?i:n[chw]{3}to\w*n[chw]{3}|transpose_\w*(?:nchw|nhwc|cnhw))|nchwAddPadding|nhwcAddPadding|^batched_transpose_|tensorTransformGeneric|transpose_readWrite|deep_gemm::(?:\w+::)*(?:transpose|(?:un)?pack)|grouped_gemm::(?:\w+::)*transpose", "layout conversion", "void cudnn::ops::nchwToNhwcKernel<float, float, float, false, true, (cudnnKernelDataType_t)0>(cudnn::ops::nchw2nhwc_params_t<float>)", "cuDNN, MIOpen"),
    Family("offsets", "no", "stage", "function", r"compute\w*Offsets?Kernel|compute_gemm_pointers|prepare_grouped_gemm|fill_tensormaps|kernel_helper_stage_|get_group_gemm_starts|compute_(?:problem_sizes|expert_offsets)", "index computation for a convolution", "cask_cudnn::computeOffsetsKernel(cask_cudnn::ComputeOffsetsParams)", "cuDNN"),
    Family("split_k", "no", "stage", "whole", r"(?i:split_?k(?!v)\w*reduc|reduc\w*split_?k(?!v))|^_gemm_a\w+_reduce_kernel|reduce_wgrad_nchw_helper|^Cijk_\w*PostGSU|streamkReduc", "sum of partial products", "void splitKreduce_kernel<32, 16, int, float, float, float, float, true, false, false>(cublasSplitKParams<float>)", "cuBLAS, CUTLASS, Triton, Tensile (PostGSU)"),
    Family("epilogue", "no", "stage", "function", r"^epilogue::impl::|scalePackedTensor|scale_packed", "bias, activation or scaling after a product", "void epilogue::impl::globalKernel<float, float, float, true, true>(int, int, long, float*, cublasLtEpilogue_t)", "cuBLASLt, cuDNN"),
    Family("winograd_stage", "no", "stage", "function", r"winograd_nonfused::|generateWinogradTiles|winograd_?xform|winograd(?:Forward|Wgrad)(?:Data|Filter|Output|Delta)", "transform of a Winograd convolution", "void cudnn::winograd_nonfused::winogradForwardData4x4<float, float>(cudnn::winograd_nonfused::WinogradDataParams<float, float>)", "cuDNN, MIOpen"),
    Family("im2col", "no", "stage", "function", r"im2(?:d2)?col|col2im|vol2col|col2vol", "unfolding for a convolution", "void cudnn::cnn::im2col4d_kernel<float, long>(cudnn::cnn::im2col4d_params)", "cuDNN, MIOpen, PyTorch"),
    Family("fft", "no", "stage", "function", r"fft[123]d_|\bflip_filter|(?:regular|vector)_fft|\bfft_rtc_", "Fourier transform", "void fft2d_r2c_32x32<float, false, 5u, true>(float2*, float const*, int)", "cuDNN, cuFFT, rocFFT"),
    Family("attention_helper", "no", "other", "whole", r"flash_bwd_(?:dot_do_o|convert_d)|flash_(?:fwd|bwd)_(?:preprocess|postprocess|(?:splitkv_)?combine)|FlashAtt(?:n|ention)(?:Fwd|Bwd|Forward|Backward)?(?:Preprocess|Postprocess|Combine)|compute_dot_do_o|convert_dq_to_16bits|FmhaBwd(?:OGradDotO|ConvertQGrad)|Fmha(?:Fwd|Bwd)?(?:SplitKV)?(?:Combine|AppendKV)|flashinfer::\w*(?:MergeState|ApplyRotary|AppendPagedKV|VariableLengthMerge)|attn_bwd_preprocess|reshape_and_cache|create_flashinfer_kv_indices|^reduce_segments$|kv_cache_kernel|paged_attention_(?:v\d|ll4mi)_reduce", "helper of attention", "void flash_bwd_dot_do_o_kernel<true, Flash_bwd_kernel_traits<64, 128, 128, 8, 4, 4, 4, false, false, cutlass::half_t> >(Flash_bwd_params)", "FlashAttention 2 and 3, composable_kernel, vLLM"),
    Family("quantization", "no", "other", "function", _NO_PRODUCT + r".*(?:quantize|_quant_|_quant$|per_token_quant|cvt_fp|cast_to_fp8|cast_back|per_(?:channel|token)_cast)", "quantization", "void vllm::scaled_fp8_quant_kernel_strided<c10::BFloat16, c10::Float8_e4m3fn>(c10::Float8_e4m3fn*)", "vLLM, TensorRT-LLM"),
    Family("softmax", "no", "other", "function", _NO_PRODUCT + r".*(?i:soft_?max)", "softmax", "void (anonymous namespace)::softmax_warp_forward<float, float, float, 10, true>(float*, float const*, int, int, int)", "PyTorch, MIOpen"),
    Family("normalization", "no", "other", "function", _NO_PRODUCT + r".*(?:(?i:(?:batch|layer|group|instance|rms)_?norm)|cudnn::(?:ops::)?bn_(?:fw|bw)|GammaBeta)", "normalization", "void cudnn::bn_fw_tr_1C11_singleread<float, 512, true, 1, 2, 0>(cudnnTensorStruct)", "cuDNN, MIOpen, ck_tile, vLLM"),
    Family("aten", "no", "other", "function", r"^(?:at|c10|at_cuda_detail)::", "elementwise, reduction or copy", "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, at::detail::Array<char*, 1> >(int)", "PyTorch: its own kernels outside CUTLASS and tinygemm issue no matrix instruction"),
    Family("primitives", "no", "other", "function", r"^(?:cub|thrust|rocprim|hipcub)::", "sort, scan or reduction", "void cub::DeviceScanKernel<cub::DeviceScanPolicy<int>, int*, int*, int>(int*, int*, int)", "CUB, Thrust, rocPRIM"),
    Family("miopen_tensor", "no", "other", "function", r"^(?:Sub|Op\d?)Tensor(?:Op|Fwd|Leading|Lite|Bias)|^MIOpen(?:Pool|Neuron|LRN|BatchNorm)|^mloPool", "elementwise, pooling or normalization", "SubTensorOpWithScalar1d", "MIOpen"),
    Family("moe_routing", "no", "other", "function", r"^moe::dev::(?:routing|finalize|activation|permute)|\bvllm::moe::(?:topk|count_and_sort|moe_sum|moe_align|shuffle)|moe_align_block|^_(?:topk_forward|sum_bitmatrix_rows|combined_routing_\w+|finalize_matmul_scatter\w*)$", "routing of experts", "void moe::dev::routing::routingIndicesHistogramKernel<moe::dev::routing::KernelParams<__nv_bfloat16> >(moe::dev::routing::KernelParams<__nv_bfloat16>)", "TensorRT-LLM, vLLM, triton_kernels"),
    Family("vllm", "no", "other", "function", r"\bvllm::(?:\(anonymous namespace\)::)?(?:rotary_embedding|act_and_mul|copy_blocks|topk|silu|swap)|^flashinfer::(?:activation|sampling)::|^(?:\(anonymous namespace\)::)?(?:act_and_mul_kernel|fused_rope_kernel|store_kvcache)|\bswiglu_(?:forward|backward|weight)", "elementwise or sampling", "void vllm::rotary_embedding_kernel<c10::BFloat16, true>(long const*, c10::BFloat16*)", "vLLM, SGLang, FlashInfer"),
    Family("embedding", "no", "other", "function", r"^(?:split_embedding_|dense_embedding_|bounds_check_indices|linearize_index|permute_pooled_embs|recat_copy|fbgemm_gpu::(?!\w*gemm))|embedding_bag|EmbeddingBag", "embedding lookup or its helper", "void split_embedding_codegen_forward_unweighted_kernel<float, float, float, long, 2ul>(float)", "FBGEMM"),
    Family("elementwise", "no", "other", "function", r"^(?:\(anonymous namespace\)::)?(?:multi_tensor_apply_kernel|cunn_|(?:un)?vectorized_|unrolled_elementwise|elementwise_kernel|indexSelect|fused_dropout|memset|memcpy|kernelPointwiseApply|CatArray)", "elementwise, reduction or copy", "void multi_tensor_apply_kernel<TensorListMetadata<4>, AdamFunctor<float>, float>(int)", "Apex, PyTorch before its namespaces"),
    # 2 products on plain cores
    Family("plain_convolution", "no", "matmul", "whole", r"(?:fprop|dgrad|wgrad)\w*_ffma_|_simt_\w*(?:fprop|dgrad|wgrad)", "FP32 convolution on CUDA cores", "sm80_xmma_fprop_implicit_gemm_indexed_f32f32_f32f32_f32_nchwkcrs_nchw_tilesize64x64x8_stage3_warpsize1x4x1_g1_ffma_aligna4_alignc4_execute_kernel", "cuDNN, CUTLASS: fprop, dgrad and wgrad are the three convolutions"),
    Family("simt", "no", "matmul", "whole", r"_simt_|OpClassSimt", "FP32 matrix product on CUDA cores", "void cutlass::Kernel<cutlass_80_simt_sgemm_128x32_8x5_nn_align1>(cutlass_80_simt_sgemm_128x32_8x5_nn_align1::Params)", "CUTLASS: SIMT is its operator class for plain cores"),
    Family("xmma_ffma", "no", "matmul", "whole", r"_ffma_", "FP32 matrix product on CUDA cores", "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize64x64x8_stage3_warpsize1x4x1_ffma_aligna4_alignc4_execute_kernel__5x_cublas", "cuBLAS: the instruction is in the name"),
    Family("xmma_hfma", "no", "matmul", "whole", r"_hfma2?_", "FP16 matrix product on CUDA cores", "sm80_xmma_gemm_f16f16_f16f16_f16_tn_n_tilesize64x64x8_stage3_warpsize1x4x1_hfma_aligna4_alignc4_execute_kernel__5x_cublas", "cuBLAS"),
    Family("xmma_dfma", "no", "matmul", "whole", r"_dfma_", "FP64 matrix product on CUDA cores", "sm80_xmma_gemm_f64f64_f64f64_f64_tn_n_tilesize64x64x8_stage3_warpsize1x4x1_dfma_aligna4_alignc4_execute_kernel__5x_cublas", "cuBLAS"),
    Family("sgemm", "no", "matmul", "whole", r"(?:kepler|maxwell|pascal|volta|turing|ampere)_(?:fp16_|bf16_)?sgemm_", "FP32 matrix product on CUDA cores", "volta_sgemm_128x64_nt", "cuBLAS: no instruction shape between type and gemm"),
    Family("hgemm", "no", "matmul", "whole", r"(?:kepler|maxwell|pascal|volta|turing|ampere)_hgemm_", "FP16 matrix product on CUDA cores", "maxwell_hgemm_128x128_nn", "cuBLAS"),
    Family("dgemm", "no", "matmul", "whole", r"(?:kepler|maxwell|pascal|volta|turing|ampere)_dgemm_", "FP64 matrix product on CUDA cores", "volta_dgemm_64x64_nn", "cuBLAS"),
    Family("cgemm", "no", "matmul", "whole", r"(?:kepler|maxwell|pascal|volta|turing|ampere)_(?:gcgemm|cgemm|zgemm)_", "complex matrix product on CUDA cores", "ampere_gcgemm_64x64_nt", "cuBLAS, and cuDNN's convolution by Fourier transform"),
    Family("scudnn", "no", "matmul", "whole", r"_scudnn_", "FP32 convolution on CUDA cores", "volta_scudnn_128x64_relu_interior_nn_v1", "cuDNN: no instruction shape between type and cudnn"),
    Family("hcudnn", "no", "matmul", "whole", r"_[hd]cudnn_", "convolution on CUDA cores", "maxwell_hcudnn_128x64_relu_interior_nn", "cuDNN"),
    Family("magma", "no", "matmul", "function", r"^magma_?(?:blas)?_?[sdchz]?gemm|magma_[sdcz]gemm", "matrix product on CUDA cores", "void magma_sgemmEx_kernel<float, float, float, false, false, 6, 3, 4, 3, 3>(int, int, int)", "MAGMA inside cuBLAS"),
    Family("gemv", "no", "other", "function", r"gemv|gemmk1_kernel|\bLLGemm1_kernel|\bgevm|\bdot_kernel|reduce_1Block_kernel|\bdotc?_kernel|cublasGer", "matrix times vector, limited by memory", "void gemv2T_kernel_val<int, int, float, float, float, float, 128, 16, 4, 4, false>(int)", "cuBLAS; vLLM's csrc/rocm/skinny_gemms.cu (LLGemm1)"),
    Family("fmha_cutlass_old", "no", "matmul", "function", r"fmha_cutlass[FB]_f32_\w*sm(?:50|70|75)|fmha_cutlass[FB]_\w+_sm50", "FP32 attention on CUDA cores", "fmha_cutlassF_f32_aligned_64x64_rf_sm75(PyTorchMemEffAttention::AttentionKernel<float>)", "PyTorch memory-efficient attention: FP32 has tensor cores from sm80 on"),
    Family("cudnn_fp32", "no", "matmul", "whole", r"(?:(?:im|ex)plicit_convolve(?:Nd)?_sgemm|convolveNd_[wd]grad(?:_float)?_engine|[wd]grad_alg\d_engine|[wd]grad_engine|precomputed_convolve_sgemm|[wd]grad2d_\w+|winograd3x3Kernel|convolve_common_engine_float)<float", "FP32 convolution on CUDA cores", "void cudnn::detail::dgrad_engine<float, 512, 6, 5, 3, 3, 3, false>(int, int, int, float const*)", "cuDNN, engines older than tensor cores"),
    Family("cudnn_plain", "no", "matmul", "function", r"(?:im|ex)plicit_convolve(?:Nd)?_[shd]gemm|convolveNd_[wd]grad|[wd]grad_alg\d_engine|[wd]grad_engine|precomputed_convolve_|winograd3x3Kernel", "convolution on CUDA cores", "void cudnn::cnn::wgrad_alg0_engine<__half, 128, 6, 7, 3, 3, 5, false, 512>(int)", "cuDNN, engines older than tensor cores"),
    Family("miopen_plain", "no", "matmul", "function", r"^(?:mio|MIO)pen(?:GcnAsm)?Conv|^naive_conv_|^gcnAsm|_dlops_|dlops_v", "convolution on the plain cores", "naive_conv_ab_nonpacked_fwd_nchw_half_double_half", "MIOpen: direct and naive convolutions"),
    # 3 products on tensor cores
    Family("instruction_shape", "yes", "matmul", "whole", r"(?<![a-zA-Z])[hsicdz](?:884|1688|16816|8816|16832|16864|161616)(?=[a-z_])", "tensor cores, by the instruction in its name", "volta_h884gemm_128x128_ldg8_nn", "cuBLAS, cuDNN, CUTLASS: m, n and k of the mma instruction"),
    Family("tensorop", "yes", "matmul", "whole", r"tensorop|OpClass(?:Wmma)?TensorOp|MmaTensorOp|TensorOpMultiplicand", "tensor cores, by its CUTLASS class", "void cutlass::Kernel2<cutlass_80_tensorop_gemm_bf16_128x256_tn_align8>(cutlass_80_tensorop_gemm_bf16_128x256_tn_align8::Params)", "CUTLASS: tensorop is its operator class for tensor cores"),
    Family("tensor_token", "yes", "matmul", "whole", r"_tensor(?:16x8x|8x8x)\d+", "tensor cores, by the instruction in its name", "sm80_xmma_fprop_implicit_gemm_indexed_nhwckrsc_nchw_tilesize128x128x16_stage4_warpsize2x2x1_g1_tensor16x8x8_execute_kernel_cudnn", "cuDNN: m, n and k of the mma instruction"),
    Family("warp_group", "yes", "matmul", "whole", r"warpgroupsize", "tensor cores of Hopper, by its warp groups", "sm90_xmma_gemm_tn_n_tilesize64x64x64_warpgroupsize1x1x1_execute_segment_k_off_kernel__5x_cublas", "cuBLAS: warp groups exist for wgmma"),
    Family("xmma", "yes", "matmul", "whole", r"xmma_\w*?_(?:f16f16|bf16bf16|tf32f32|tf32tf32|e4m3|e5m2|i8i|f64f64)", "tensor cores, by its input type", "sm80_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x32_stage4_warpsize2x2x1_execute_kernel__5x_cublas", "cuBLAS, cuDNN: types of input, and no ffma"),
    Family("nvjet", "yes", "matmul", "function", r"^nvjet_", "tensor cores, cuBLASLt kernel", "nvjet_tst_192x8_64x8_4x1_v_bz_TNT", "cuBLASLt on Hopper and Blackwell"),
    Family("cudnn_attention", "yes", "matmul", "function", r"sdpa_sm\d+\w*flash", "fused attention on tensor cores", "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_f16_knob_7_64x128x128_4x1x1_kernel0_0", "cuDNN"),
    Family("flash_attention", "yes", "matmul", "whole", r"flash_(?:fwd|bwd)|FlashAttn(?:Fwd|Bwd)\w*Sm(?:80|9\d|1\d\d)", "fused attention on tensor cores", "void pytorch_flash::flash_fwd_kernel<pytorch_flash::Flash_fwd_kernel_traits<64, 128, 128, 4> >(pytorch_flash::Flash_fwd_params)", "FlashAttention 2 and 3: mma from sm80 on"),
    Family("fmha_cutlass", "yes", "matmul", "function", r"fmha_cutlass[FB]_(?:f16|bf16)_\w*sm(?:7[05]|[89]\d|1\d\d)", "fused attention on tensor cores", "fmha_cutlassF_f16_aligned_64x64_rf_sm80(PyTorchMemEffAttention::AttentionKernel<cutlass::half_t>)", "PyTorch memory-efficient attention"),
    Family("fmha_cutlass_3xtf32", "yes", "matmul", "function", r"fmha_cutlass[FB]_f32_\w*sm(?:[89]\d|1\d\d)", "FP32 attention as three TF32 products", "fmha_cutlassB_f32_aligned_64x64_k64_sm80(PyTorchMemEffAttention::AttentionBackwardKernel<float>)", "PyTorch memory-efficient attention: 3xTF32"),
    Family("fmha_generated", "yes", "matmul", "function", r"^fmhaSm\d+|^fmha_v2_\w*sm\d+", "fused attention on tensor cores", "fmhaSm100aKernel_QkvE4m3OBfloat16H64PagedKvCausalP16VarSeqQ128Kv128PersistentContext", "TensorRT-LLM"),
    Family("bmm_generated", "yes", "matmul", "function", r"^(?:bmm|gemm)_\w+_sm1\d\d", "tensor cores of Blackwell", "bmm_Bfloat16_MxE2m1MxE4m3_Fp32_t128x16x256u2_s3_et128x16_m128x16x32_cga1x1x1_16dp256b_rM_TN_transOut_schedP2x1x2x3_sm100f", "TensorRT-LLM"),
    Family("cutlass_3", "yes", "matmul", "whole", r"MainloopSm(?:90|1\d\d)\w*(?:Gmma|Umma)|MainloopSm120|SM120_16x8x\d+|SM(?:80|89)_16x8x\d+_|SM90_64x\d+x\d+_|SM1\d\d_MMA_", "tensor cores, by its CUTLASS class", "void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<cutlass::gemm::collective::CollectiveMma<cutlass::gemm::MainloopSm90TmaGmmaWarpSpecialized<4> > > >(int)", "CUTLASS 3: the mainloop or the MMA atom in the template"),
    Family("deep_gemm", "yes", "matmul", "whole", r"deep_gemm::(?:\w+::)*\w*(?:gemm|mqa_logits|einsum)|\b\w*marlin\w*::Marlin<", "matrix product on tensor cores", "void deep_gemm::sm90_fp8_gemm_1d2d_impl<4096u, 7168u, 128u, 128u>(float*)", "DeepGEMM, Marlin"),
    Family("flashinfer_prefill", "yes", "matmul", "whole", r"flashinfer::\w*Prefill\w*Kernel", "fused attention on tensor cores", "void flashinfer::BatchPrefillWithPagedKVCacheKernel<(flashinfer::MaskMode)1, 64u>(int)", "FlashInfer: prefill.cuh uses mma"),
    Family("flash_attention_3", "yes", "matmul", "whole", r"\bflash::(?:compute_attn_ws|FlashAttn(?:Fwd|Bwd))", "fused attention on tensor cores", "void flash::compute_attn_ws<Flash_fwd_kernel_traits<192, 128, 128, 12, 2> >(int)", "FlashAttention 3: its kernels, whose names hold no instruction"),
    Family("narrow_product", "yes", "matmul", "whole", r"(?i)^(?!.*(?:quantiz|swizzle|memset))(?=.*(?:fp8|float8|e4m3|e5m2|nvf4|nvfp4|mxf[48]|mxfp[48]|fp4|e2m1)).*(?:gemm(?!v)|matmul|(?<![a-z])(?:b|grouped_?)?mm(?![a-z]))", "FP8 or FP4 product, which only tensor cores have", "void cutlass::device_kernel<dpsk::grouped_gemm::cuda::fp8_ptp128c::GemmKernel>(dpsk::grouped_gemm::cuda::fp8_ptp128c::GemmKernel::Params)", "DeepSeek, vLLM, FlashInfer: FP8 and FP4 have no instruction on plain cores"),
    Family("triton_narrow", "yes", "matmul", "function", r"^(?=_|triton_|\w+_kernel$)\w*(?:matmul|gemm|(?<![a-z])mm)(?:_\w*)?(?:bf16|fp16|(?<![a-z])f16)", "Triton product of narrow types, on tensor cores", "_matmul_ogs_NNT_bf16xbf16xbf16_16x128x256x1", "triton_kernels: dot of narrow types is mma where there is one"),
    Family("instruction", "yes", "matmul", "whole", r"(?<![a-zA-Z])(?:wgmma|tcgen05|utcmma|hmma|imma|dmma|qmma)(?![a-z])", "tensor cores, by the instruction in its name", "sm70_hmma_implicit_gemm_128x64", "NVIDIA: names of the instructions"),
    # 4 AMD's matrix cores
    Family("tensile", "yes", "matmul", "function", r"^(?:Custom_)?Cijk_\w*_MI\d+x\d+x\d+", "matrix cores, by the instruction in its name", "Cijk_Ailk_Bljk_BBS_BH_MT128x64x64_MI32x32x8x1_SN_1LDSB0_APM1", "Tensile, hipBLASLt (Custom_: its kernels written by hand): MI is MatrixInstruction"),
    Family("amd_matrix", "yes", "matmul", "function", r"_MFMA|_gtcx\d|xdl|mfma|(?<![a-z])wmma", "matrix cores, by the instruction in its name", "igemm_fwd_gtcx3_nhwc_bf16_bx0_ex1_bt256x64x8_wt64x16x4_ws1x1_wr2x2", "MIOpen, composable_kernel: xdl and gtcx are MFMA"),
    Family("ck_attention", "yes", "matmul", "whole", r"ck_tile.*Fmha(?:Fwd|Bwd)|aiter::fmha", "fused attention on matrix cores", "aiter::fmha_fwd_hd128_bf16_rtz", "ck_tile, AITER"),
    # 5 products whose name does not show the cores
    Family("tensile_unknown", "unknown", "matmul", "function", r"^(?:Custom_)?Cijk_", "matrix product, cores not known", "Cijk_Ailk_Bljk_SB_MT64x64x8_SN_APM1_AF0EM1", "Tensile without MatrixInstruction"),
    Family("xmma_unknown", "unknown", "matmul", "whole", r"xmma_", "matrix product, cores not known", "sm80_xmma_gemm_f32f32_f32_tn_n_tilesize32x32x8_execute_kernel__5x_cublas", "cuBLAS, cuDNN"),
    Family("triton_template", "unknown", "matmul", "function", r"^triton_(?:tem|mm|bmm|addmm|conv|flex)", "Triton matrix product, cores not known", "triton_tem_fused_addmm_0", "Inductor: tem is its template for products, convolutions and flex attention"),
    Family("triton_attention", "unknown", "matmul", "function", r"^_?(?:attn_(?:fwd|bwd)|bwd_kernel_d|sage_fwd|kernel_unified_attention|fwd_(?:grouped_)?kernel_stage1)", "Triton attention, cores not known", "attn_fwd", "Triton tutorials, AOTriton, vLLM, SGLang (decode_attention.py)"),
    Family("decoding_attention", "unknown", "matmul", "whole", r"flashinfer::\w*Decode\w*Kernel|^(?:aiter::)?mla_a\d+w\d+_|^micro_sdpa$", "attention, cores not known", "void flashinfer::BatchDecodeWithPagedKVCacheKernel<(flashinfer::PosEncodingMode)0, 2u, 4u, 8u>(int)", "FlashInfer (decode.cuh), AITER (hsa: mla), oneDNN (micro_sdpa.cl)"),
    Family("skinny_product", "unknown", "matmul", "function", r"\bwvSplitK\w*_|^(?:aiter::)?fmoe_\w*g1u[01]", "product of few rows or of experts, cores not known", "void wvSplitK_hf_sml_<__half, 64, 2, 16, 8, 2, 1>(int, int)", "vLLM (csrc/rocm/skinny_gemms.cu), AITER (hsa: fmoe)"),
    Family("cudnn_unknown", "unknown", "matmul", "function", r"first_layer_[wd]grad|[wd]grad_1x1_stride|conv1x1|conv2d_c1_k1|direct_group|^miopenSp3AsmConv", "convolution, cores not known", "void cudnn::cnn::conv2d_c1_k1_nchw_hw_packed_kernel<float, float, 3>(float)", "cuDNN"),
    Family("cutlass_unknown", "unknown", "matmul", "function", r"^cutlass(?:_\w+)?::(?:device_kernel|Kernel2?)$", "CUTLASS kernel, cores not known", "void cutlass::device_kernel<flashinfer::DeviceFp4Sm100<8> >(int)", "CUTLASS: the class is in the template, if at all"),
    Family("product_by_word", "unknown", "matmul", "function", r"gemm(?!a)|matmul|mul_mat|attention|flash(?!infer)|fused_moe|(?<![a-z])(?:b?mm|addmm|attn|conv[123]?d?|fmha|convolution)(?![a-z])", "matrix product by its name, cores not known", "void gemmSN_TN_kernel<float, 128, 16, 2, 4, 4, 4, true>(cublasGemmSmallNParams)", "a word in the name and nothing else"),
)
# fmt: on

NO_TENSOR_CORES = "this GPU has no tensor cores"

#: The answer for a name of no family.
NO_FAMILY = Answer("unknown", "unknown", "its name does not tell", "other")

#: Turing chips without tensor cores. Their compute capability is the same as that of chips with tensor cores.
TURING_WITHOUT = expression(r"GTX 16|MX4[05]0|\bT(?:400|500|550|600|1000|1200|2000)\b")
#: AMD chips older than matrix cores (CDNA) and WMMA (RDNA 3), as ROCm names them.
AMD_WITHOUT = expression(r"Vega|Radeon VII|MI(?:25|50|60)\b|RX [56]\d{3}|gfx(?:[678]|90[0-6]|10)")


@lru_cache(maxsize=8192)
def classify(name: str, capability: tuple[int, int] | None = None, device: str = "") -> Answer:
    """Returns the answer for the name of a kernel, on a device of that compute capability and name.

    If the device has no tensor cores, the answer is "no" for every name, and only the role depends on it.
    """
    answer = _by_name(name)
    if has_tensor_cores(capability, device):
        return answer
    return msgspec.structs.replace(answer, answer="no", reason=NO_TENSOR_CORES)


def has_tensor_cores(capability: tuple[int, int] | None, device: str) -> bool:
    """Returns whether the device has tensor or matrix cores; True unless it is known to have none."""
    if AMD_WITHOUT.search(device):
        return False
    if capability is None or "AMD" in device:
        return True
    return capability >= (7, 0) and not (capability == (7, 5) and TURING_WITHOUT.search(device))


@cache
def _compiled() -> tuple[tuple[Family, re.Pattern[str]], ...]:
    """Returns the compiled rules. They are compiled on first use and not at import, because most commands read results
    and classify nothing."""
    return tuple((family, expression(family.pattern)) for family in FAMILIES)


def _by_name(name: str) -> Answer:
    function = function_name(name)
    for family, pattern in _compiled():
        if pattern.search(function if family.where == "function" else name):
            return Answer(family.answer, family.id, family.reason, family.role)
    return NO_FAMILY

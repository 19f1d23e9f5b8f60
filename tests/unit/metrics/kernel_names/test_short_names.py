# ruff: noqa: E501 - one name a line
"""Short forms of kernels' names: what each is, that no two in a table look alike, and that real names all have one."""

from __future__ import annotations

import csv
import re

import pytest

from tb_steptime.metrics.kernel_names.short_names import distinct_names, kernel_names, own_name, short_name
from tests.drawn.real_traces import read_real, real_path
from tests.drawn.timeline import timeline

AT, ANON = "void at::native::", "void at::native::(anonymous namespace)::"
VECTORIZED, UNROLLED = (
    f"{AT}vectorized_elementwise_kernel<4, at::native::",
    f"{AT}elementwise_kernel<128, 2, at::native::",
)
MULTI = f"{ANON}multi_tensor_apply_kernel<at::native::(anonymous namespace)::TensorListMetadata<2>, at::native::(anonymous namespace)::"

NAMES = (
    # elementwise, reductions and copies of PyTorch
    (f"{VECTORIZED}CUDAFunctor_add<float>, at::detail::Array<char*, 3> >(int)", "add<float>"),
    (f"{VECTORIZED}CUDAFunctorOnSelf_add<c10::BFloat16>, std::array<char*, 2ul> >(int)", "add<bf16>"),
    (f"{VECTORIZED}FillFunctor<c10::Half>, std::array<char*, 1ul> >(int)", "fill<half>"),
    (f"{VECTORIZED}AUnaryFunctor<c10::BFloat16, c10::BFloat16, c10::BFloat16, at::native::binary_internal::MulFunctor<float> >, std::array<char*, 2ul> >(int)", "mul<bf16>"),
    (f"{UNROLLED}gpu_kernel_impl<at::native::BinaryFunctor<float, float, float, at::native::binary_internal::DivFunctor<float> > >(at::TensorIteratorBase&, int)", "div<float>"),
    (f"{VECTORIZED}sigmoid_kernel_cuda(at::TensorIteratorBase&)::{{lambda()#2}}::operator()() const::{{lambda(float)#1}}, at::detail::Array<char*, 2> >(int)", "sigmoid<float>"),
    (f"{VECTORIZED}GeluCUDAKernelImpl(at::TensorIteratorBase&, at::native::GeluType)::{{lambda()#1}}::operator()() const::{{lambda(c10::BFloat16)#1}}, std::array<char*, 2ul> >(int)", "gelu<bf16>"),
    (f"{UNROLLED}gpu_kernel_impl<at::native::(anonymous namespace)::where_kernel_impl(at::TensorIterator&)::{{lambda()#1}}::operator()() const::{{lambda(bool, long, long)#1}}>(at::TensorIterator&)::{{lambda(int)#1}}>(int)", "where<long>"),
    (f"{AT}unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::{{lambda()#3}}::operator()() const::{{lambda(float)#1}}, std::array<char*, 2ul>, 4>(int)", "copy<float>"),
    (f"{AT}index_elementwise_kernel<128, 4, at::native::gpu_index_kernel<at::native::index_kernel_impl<at::native::OpaqueType<8> >(at::TensorIteratorBase&, c10::ArrayRef<long>)::{{lambda(char*, char*, long)#1}}>(at::TensorIteratorBase&)>(int)", "index<8 bytes>"),
    (f"{AT}reduce_kernel<512, 1, at::native::ReduceOp<c10::Half, at::native::func_wrapper_t<c10::Half, at::native::sum_functor<c10::Half, float, c10::Half>::operator()(at::TensorIterator&)::{{lambda(float, float)#1}}>, unsigned int, c10::Half, 4> >(int)", "sum<half>"),
    (f"{AT}reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::MeanOps<float, float>, unsigned int, float, 4> >(int)", "mean<float>"),
    (f"{MULTI}BinaryOpListAlphaFunctor<c10::BFloat16, 2, 2, 0>, std::plus<float>, float>(int)", "foreach add<bf16>"),
    ("void multi_tensor_apply_kernel<TensorListMetadata<4>, AdamFunctor<float>, float>(int)", "foreach adam<float>"),
    (f"{ANON}CatArrayBatchedCopy_contig<at::native::(anonymous namespace)::OpaqueType<2u>, unsigned int, 3, 128, 1>(int)", "cat<2 bytes>"),
    (f"{ANON}indexSelectLargeIndex<float, int, unsigned int, 1, 1, -2, true>(int)", "indexSelectLargeIndex<float>"),
    ("Memcpy DtoD (Device -> Device)", "Memcpy DtoD"),
    ("Memset (Device)", "Memset"),
    # softmax and normalization
    (f"{ANON}cunn_SoftMaxForward<8, c10::BFloat16, float, c10::BFloat16, at::native::(anonymous namespace)::LogSoftMaxForwardEpilogue>(int)", "log_softmax forward<bf16>"),
    ("void (anonymous namespace)::softmax_warp_backward<float, float, float, 10, true>(float*)", "softmax backward<float>"),
    (f"{ANON}vectorized_layer_norm_kernel<float, float>(int, float)", "vectorized_layer_norm<float>"),
    ("void cudnn::bn_fw_tr_1C11_singleread<float, 512, true, 1, 2, 0>(cudnnTensorStruct)", "batch_norm forward<float>"),
    ("void cudnn::bn_bw_1C11_kernel_new<float, float, float2, 128, true, 1>(float)", "batch_norm backward<float>"),
    ("_ZN7ck_tile6kentryILi1ENS_12Rmsnorm2dFwdINS_27Rmsnorm2dFwdPipelineOnePassEEEEEvv", "Rmsnorm2dFwd"),
    # products
    ("void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_bf16_128x256_64x3_tn_align8>(Params)", "gemm bf16 128x256"),
    ("void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_64x64_32x6_tn_align4>(Params)", "gemm tf32 64x64"),
    ("void cutlass::Kernel<cutlass_80_simt_sgemm_128x32_8x5_nn_align1>(Params)", "gemm f32 128x32"),
    ("ampere_fp16_s16816gemm_fp16_128x64_ldg8_f2f_nn", "gemm f16 128x64"),
    ("volta_h884gemm_128x128_ldg8_nn", "gemm f16 128x128"),
    ("ampere_sgemm_32x32_sliced1x4_tn", "gemm f32 32x32"),
    ("nvjet_tst_192x8_64x8_4x1_v_bz_TNT", "gemm bf16 192x8"),
    ("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize64x64x64_warpgroupsize1x1x1_execute_segment_k_off_kernel__5x_cublas", "gemm bf16 64x64"),
    ("Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT256x192x64_MI16x16x1_SN_LDSB1", "gemm bf16 256x192"),
    ("std::enable_if<!(false), void>::type internal::gemvx::kernel<int, int, float, float, float, float, false, 7>(int)", "gemv f32"),
    ("void splitKreduce_kernel<32, 16, int, float, float, float, float, true, false, false>(cublasSplitKParams<float>)", "splitKreduce<float>"),
    # convolutions, their stages, attention
    ("sm80_xmma_wgrad_implicit_gemm_indexed_tf32f32_tf32f32_f32_nhwckrsc_nhwc_tilesize128x64x32_stage5_g1_tensor16x8x8_execute_kernel_cudnn_train", "conv wgrad tf32 128x64"),
    ("_ZN19cutlass_cudnn_train6KernelINS_4conv6kernel23ImplicitGemmConvolutionINS_4gemm9GemmShapeILi64ELi128ELi32EEENS4_52Conv2dWgradOutputGradientTileAccessIteratorOptimizedINS_10tfloat32_tEEEEEEEvv", "conv wgrad tf32 64x128"),
    ("volta_scudnn_128x64_relu_small_nn_v1", "conv f32 128x64"),
    ("igemm_bwd_gtcx3_nhwc_bf16_bx0_ex1_bt128x64x32_wt32x32x8_ws1x1_wr1x2", "conv dgrad bf16 128x64"),
    ("void cudnn::ops::nchwToNhwcKernel<__nv_bfloat16, __nv_bfloat16, float, false>(int)", "nchwToNhwc<bf16>"),
    ("void pytorch_flash::flash_fwd_kernel<pytorch_flash::Flash_fwd_kernel_traits<64, 128, 128, 4, false, false, cutlass::bfloat16_t> >(int)", "flash_fwd<bf16>"),
    # collectives and Triton
    ("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "nccl AllReduce f32"),
    ("ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclWorkElem)", "nccl SendRecv int8"),
    ("triton_poi_fused_add_cos_sin_0", "triton pointwise add_cos_sin"),
    ("triton_per_fused_native_layer_norm_12", "triton reduction native_layer_norm"),
    ("_attn_fwd_0d1d2d34d5de6e", "_attn_fwd"),
    ("matmul_kernel_3f2a9c0d41be7756aa01", "matmul"),
)  # fmt: skip


@pytest.mark.parametrize(("name", "short"), NAMES)
def test_short_name(name: str, short: str):
    assert short_name(name) == short


def test_a_mangled_name_is_read():
    assert own_name(
        "_ZN2ck16tensor_operation6device12_GLOBAL__N_139kernel_grouped_conv_fwd_xdl_cshuffle_v3IfLi7EEEvv"
    ) == ("kernel_grouped_conv_fwd_xdl_cshuffle_v3")


def test_kernels_that_would_look_alike_say_how_they_differ():
    tile = "void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_128x64_{0}_align4>(cutlass_80_tensorop_s1688gemm_128x64_{0}_align4::Params)"
    kinds = ("32x6_nn", "32x6_tn", "16x6_nt")
    assert distinct_names([*(tile.format(kind) for kind in kinds), "volta_sgemm_64x64_nt"]) == {
        tile.format("32x6_nn"): "gemm tf32 128x64 (nn)",
        tile.format("32x6_tn"): "gemm tf32 128x64 (tn)",
        tile.format("16x6_nt"): "gemm tf32 128x64 (16x6)",
        "volta_sgemm_64x64_nt": "gemm f32 64x64",
    }


def test_names_that_differ_in_nothing_to_say_are_counted():
    names = ["void f<float, true, true>(int)", "void f<float, true, false>(int)"]
    assert sorted(distinct_names(names).values()) == ["f<float> #1", "f<float> #2"]


def test_the_short_names_of_a_trace():
    trace = timeline(
        """
        step     | 000000 |
        runtime  | x.y... |
        kernel 7 | .xxyy. |""",
        names={"x": "volta_sgemm_64x64_nt", "y": "volta_sgemm_64x64_nn"},
    )
    assert kernel_names(trace) == {
        "volta_sgemm_64x64_nt": "gemm f32 64x64 (nt)",
        "volta_sgemm_64x64_nn": "gemm f32 64x64 (nn)",
    }


def test_labelled_names_are_short_and_distinct():
    with real_path("kernels/labelled.tsv").open() as file:
        names = {row["name"] for row in csv.DictReader(file, delimiter="\t")}
    found = distinct_names(names)
    assert set(found) == names and len(set(found.values())) == len(names)
    products = [name for name in names if re.match(r"Cijk_|volta_sgemm|nvjet|void cutlass::Kernel2?<cutlass_\d", name)]
    assert products and all(re.match(r"gemm \w+ \d+x\d+", found[name]) for name in products)


@pytest.mark.parametrize("name", ["hta_a100_ddp_control/control.json.gz", "tracelens_b200_eager/eager_trace.json.gz"])
def test_no_two_kernels_of_a_real_trace_look_alike(name: str):
    found = kernel_names(read_real(name))
    assert found and len(set(found.values())) == len(found)
    assert not [short for short in found.values() if "::" in short or short.startswith("void ")]

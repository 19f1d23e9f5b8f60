"""Tensor cores: rules on labelled names, the split on drawn traces, and its law and known figures on real traces."""

from __future__ import annotations

import csv
from functools import cache

import msgspec
import numpy as np
import pytest

from tb_steptime.analyses.tensor_cores import ANALYSIS, KERNEL_ROWS, NO_ACTIVITY, KernelRow, SplitStep
from tb_steptime.metrics.base import Figure
from tb_steptime.metrics.gpu.utilization import collective_names, devices_with_activity
from tb_steptime.metrics.kernel_names.name_rules import FAMILIES, Family, TensorCore, classify
from tb_steptime.metrics.kernel_names.short_names import function_name
from tb_steptime.metrics.kernel_names.work_kinds import is_collective
from tb_steptime.metrics.tensor_cores.usage import (
    NO_TENSOR_CORES,
    PRODUCT_OP,
    PROFILER_TAB_WORDS,
    TENSOR_CORE_SHARE,
    ProfilerTab,
    Split,
    profiler_tab,
    share_of,
    split_kernel_time,
    time_of,
)
from tb_steptime.text import Unit
from tb_steptime.trace.model import Device, Trace
from tests.drawn.binned import binned
from tests.drawn.real_traces import REAL, needs, on_real_traces, read_real, real_path, reference
from tests.drawn.timeline import V100, timeline

RESNET = "kineto_v100_resnet50/workers0/worker0.1623143089861.pt.trace.json.gz"

#: The largest share of hand-labelled names that may stay unknown.
UNKNOWN_FRACTION = 0.03


def test_no_labelled_name_is_inverted_and_few_are_unknown():
    with real_path("kernels/labelled.tsv").open(newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    answers = {row["name"]: classify(row["name"]) for row in rows}
    wrong = {
        row["name"]: answers[row["name"]]
        for row in rows
        if answers[row["name"]].answer not in (row["tensor_core"], "unknown")
    }
    labelled = [row for row in rows if row["tensor_core"] != "unknown"]
    unknown = [row["name"] for row in labelled if answers[row["name"]].answer == "unknown"]
    assert len(rows) > 200
    assert not wrong
    assert len(unknown) <= UNKNOWN_FRACTION * len(labelled), unknown


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.id)
def test_each_family_decides_its_own_example(family: Family):
    answer = classify(family.example)
    assert (answer.family, answer.answer, answer.role) == (family.id, family.answer, family.role)


def test_families_have_ids_of_their_own_and_say_where_they_come_from():
    assert len({family.id for family in FAMILIES}) == len(FAMILIES)
    assert all(family.reason and family.source for family in FAMILIES)


@pytest.mark.parametrize(
    ("name", "answer", "matmul_like"),
    [
        ("turing_fp16_s1688gemm_fp16_128x128_ldg8_f2f_nn", "yes", True),
        ("ampere_fp16_s16816gemm_fp16_256x128_ldg8_f2f_stages_32x3_tn", "yes", True),
        ("void cutlass_tensorop_h16816fprop_optimized_64x64_32x6_nhwc_align8", "yes", True),
        ("sm80_xmma_dgrad_implicit_gemm_f32f32_f32f32_f32_nhwckrsc_nhwc_g1_ffma_aligna4_kernel", "no", True),
        ("sm80_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize128x128x16_stage4_kernel", "yes", True),
        ("sm90_xmma_gemm_e4m3bf16_e4m3f32_f32_tn_n_tilesize64x128x128_cublas", "yes", True),
        ("nvjet_hsh_128x256_64x4_1x2_h_bz_coopA_NTT", "yes", True),
        ("fmha_cutlassB_bf16_aligned_64x64_k64_sm80(AttentionBackwardKernel)", "yes", True),
        (
            "void flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<Flash_bwd_kernel_traits<64> >(Flash_bwd_params)",
            "yes",
            True,
        ),
        ("void flash_fwd_splitkv_kernel<Flash_fwd_kernel_traits<64> >(Flash_fwd_params)", "yes", True),
        ("void flash_fwd_splitkv_combine_kernel<Flash_fwd_kernel_traits<64> >(Flash_fwd_params)", "no", False),
        ("Cijk_Ailk_Bljk_HHS_BH_MT64x64x32_SE_1LDSB0_APM1_PostGSU4", "no", False),
        ("void cublasLt::splitKreduce_kernel<32, 16, int, float>(cublasLt::cublasSplitKParams<float>)", "no", False),
        ("matmul_splitk_reduce", "no", False),
        ("_gemm_afp4_wfp4_reduce_kernel", "no", False),
        ("void tensorrt_llm::kernels::splitk_reduction<float>(P)", "no", False),
        ("gemm_split_k_kernel", "unknown", True),
        ("nvjet_tst_64x8_64x16_4x1_v_bz_splitK_TNT", "yes", True),
        ("void cutlass::Kernel<cutlass_80_simt_sgemm_256x128_8x4_nt_align1>(Params)", "no", True),
        ("volta_fp16_sgemm_fp16_128x64_nn", "no", True),
        ("fmha_cutlassF_f32_aligned_64x64_rf_sm70(AttentionKernel)", "no", True),
        ("void implicit_convolveNd_sgemm<float, 3, 512, 6, 8, 3, 3, 5, 0, false>(int, int)", "no", True),
        ("void cudnn::detail::convolveNd_wgrad_engine<float, 3, 512, 6, 5, 3, 3, 3, true>(int)", "no", True),
        ("void gemmSN_TN_kernel<float, 128, 16, 2, 4, 8, 9, false>(cublasGemmSmallNParams)", "unknown", True),
        ("triton_tem_fused_addmm_relu_native_layer_norm_7", "unknown", True),
        ("triton_red_fused_native_layer_norm_mm_3", "no", False),
        ("fused_gemm_softmax_kernel", "unknown", True),
        ("void at::native::(anonymous namespace)::cunn_SoftMaxForward<8, float>(float*)", "no", False),
        ("ncclKernel_AllReduce_RING_LL_Sum_half(ncclWorkElem)", "no", False),
        ("my_own_kernel", "unknown", False),
        ("cudnn_generated_fort_native_sdpa_sm90_flash_bprop_wgmma_f16_knob_26_64x64x128_1x1x1_kernel0", "yes", True),
        ("ampere_bf16_s1688gemm_bf16_128x128_ldg8_f2f_stages_32x1_nn", "yes", True),
        ("void cutlass::device_kernel<flash::enable_sm90<flash::FlashAttnFwdSm90<flash::X<2> > > >(P)", "yes", True),
        ("void cutlass::device_kernel<flash::FlashAttnFwdCombine<cute::C<8> > >(P)", "no", False),
        ("_ZN7cutlass13device_kernelIN5flash23FlashAttnFwdPostprocessINS_10bfloat16_tE", "no", False),
        ("kernel_cutlass_kernel_flash_attncuteflash_fwd_sm100FlashAttentionForwardSm100_0", "yes", True),
        ("kernel_cutlass_kernel_flash_attncuteflash_bwd_preprocessFlashAttentionBackwardPreprocess_0", "no", False),
        ("void cutlass::device_kernel<cutlass::gemm::MainloopSm120TmaWarpSpecializedBlockScaled<3> >(P)", "yes", True),
        ("void marlin_moe_wna16::Marlin<half, 8>(int4 const*)", "yes", True),
        ("void gptq_marlin::Marlin<half, 4, 256, 1>(int4 const*)", "yes", True),
        ("void gptq_marlin_repack_kernel<4, 256, false>(P)", "unknown", False),
        ("Custom_Cijk_Alik_Bljk_BBS_BH_Bias_HAS_SAV_UserArgs_MT256x256x64_MI16x16x1_CMS_SN", "yes", True),
        ("Custom_Cijk_Ailk_Bljk_SB_MT64x64x8_SN", "unknown", True),
        ("aiter::fmoe_bf16_blockscaleFp8_g1u1_vs_silu_1tg_32x256", "unknown", True),
        ("aiter::mla_a8w8_qh16_qseqlen1_gqaratio16", "unknown", True),
        ("kn_mla_reduce_v1", "unknown", False),
        ("void wvSplitKrc_<__half, 64, 16, 4, 8, 1, 16, 1, 2, 1>(int)", "unknown", True),
        ("void LLGemm1_kernel<__half, 4>(__half const*)", "no", False),
        ("_fwd_grouped_kernel_stage1", "unknown", True),
        ("_fwd_kernel_stage2", "unknown", False),
        ("micro_sdpa", "unknown", True),
        ("void flashinfer::PrefillWithKVCacheKernel<64>(P)", "yes", True),
        ("void flashinfer::norm::RMSNormKernel<8u, __nv_bfloat16>(P)", "no", False),
        ("void flashinfer::activation::act_and_mul_kernel<float>(P)", "no", False),
        ("_gemma_qkv_rmsnorm_kernel", "no", False),
        ("fused_moe_kernel", "unknown", True),
        ("miopenSp3AsmConv_v30_3_1_gfx9_fp32_f2x3_stride1", "unknown", True),
        ("gridwise_convolution_implicit_gemm_v4r1_nchw_kcyx_nkhw_lds_double_buffer", "unknown", True),
        ("void mul_mat_q2_K<true>(void const*)", "unknown", True),
        ("void summation<884, s>(int)", "unknown", False),
        ("void cutlass::device_kernel<flashinfer::gemm::DeviceGemmNvfp4GemmSm100<8> >(P)", "yes", True),
        ("void vllm::cutlass_scaled_mm_sm90_fp8<c10::Float8_e4m3fn>(P)", "yes", True),
        ("_w8a8_block_fp8_matmul", "yes", True),
        ("void deep_gemm::fp8_m_grouped_gemm_nt<128u>(P)", "yes", True),
        ("void deep_gemm::transpose_and_pack_fp32_into_ue8m0<512u>(P)", "no", False),
        ("void vllm::gptq::gemm_half_q_half_gptq_4bit_kernel(P)", "unknown", True),
        ("_matmul_ogs_NNT_bf16xbf16xbf16_32x128x64x1", "yes", True),
        ("triton_mm_fp16_kernel", "yes", True),
        ("gemm_f16_vec(float*)", "unknown", True),
        ("void cuda::per_token_cast_to_fp8_with_channels<__nv_bfloat16>(P)", "no", False),
        ("void ck_tile::kentry<1, ck_tile::Rmsnorm2dFwd<int> >(P)", "no", False),
        ("void dpsk::ep::internode::dispatch<false, 8>(P)", "no", False),
    ],
)
def test_names_that_no_list_holds(name: str, answer: TensorCore, matmul_like: bool):
    found = classify(name)
    assert (found.answer, found.matmul_like) == (answer, matmul_like), found


@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("void at::native::(anonymous namespace)::softmax<float>(int)", "at::native::(anonymous namespace)::softmax"),
        ("std::enable_if<(((8)>(0)))&&vllm::ok, void>::type vllm::rms_norm<8>(int)", "vllm::rms_norm"),
        ("_ZN7ck_tile6kentryILi1E", "_ZN7ck_tile6kentryILi1E"),
        ("volta_sgemm_64x64_nt", "volta_sgemm_64x64_nt"),
        ("", ""),
    ],
)
def test_function_name(name: str, function: str):
    assert function_name(name) == function


@pytest.mark.parametrize(
    ("capability", "device", "answer"),
    [
        ((7, 0), "Tesla V100-SXM2-16GB", "yes"),
        ((7, 5), "Tesla T4", "yes"),
        ((7, 5), "NVIDIA GeForce RTX 2080 Ti", "yes"),
        ((7, 5), "NVIDIA GeForce GTX 1660 Ti", "no"),
        ((7, 5), "NVIDIA T1000", "no"),
        ((6, 0), "Tesla P100-PCIE-16GB", "no"),
        ((9, 4), "AMD Instinct MI300X", "yes"),
        ((9, 0), "AMD Radeon Graphics", "yes"),
        ((9, 0), "AMD Instinct MI50", "no"),
        ((10, 3), "AMD Radeon RX 6900 XT", "no"),
        ((11, 0), "AMD Radeon RX 7900 XTX", "yes"),
        (None, "", "yes"),
    ],
)
def test_some_devices_have_no_tensor_cores(capability: tuple[int, int] | None, device: str, answer: TensorCore):
    assert classify("volta_h884gemm_64x64_ldg8_nn", capability, device).answer == answer


@pytest.mark.parametrize(
    ("op", "is_product"),
    [
        ("aten::mm", True),
        ("aten::addmm", True),
        ("aten::addmm_", True),
        ("aten::baddbmm", True),
        ("aten::addbmm", True),
        ("aten::linear", True),
        ("aten::conv2d", True),
        ("aten::_convolution", True),
        ("aten::convolution_backward", True),
        ("aten::cudnn_convolution_backward_weight", True),
        ("aten::_scaled_dot_product_flash_attention_backward", True),
        ("aten::_convert_indices_from_coo_to_csr", False),
        ("aten::mul", False),
        ("aten::add", False),
        ("aten::comm", False),
        ("aten::native_layer_norm", False),
    ],
)
def test_ops_that_are_products(op: str, is_product: bool):
    assert bool(PRODUCT_OP.match(op)) == is_product


NAMES = {
    "t": "volta_h884gemm_128x128_ldg8_nn",
    "m": "volta_sgemm_64x64_nt",
    "u": "my_own_kernel",
    "e": "void at::native::vectorized_elementwise_kernel<4>(int)",
    "w": "void cudnn::winograd_nonfused::winogradForwardData4x4<float, float>(Params)",
    "a": "aten::conv2d",
    "b": "aten::add",
    "c": "aten::mm",
}


def four_kinds() -> Trace:
    """Step 0 has all four kinds. Step 1 has a product on tensor cores, an addition, and sets, which are not kernels."""
    return timeline(
        """
        step      | 00000000000011111111 |
        op        | ............cccbb... |
        runtime   | tmue.........texy... |
        kernel 7  | .ttt.mmmm.uu..tt.ee. |
        kernel 9  | ........eeee........ |
        memset 9  | ................xy.. |""",
        names=NAMES,
        devices={0: V100},
    )


def test_kernel_time_goes_to_four_bins_and_to_the_step_where_the_kernel_starts():
    trace = four_kinds()
    splits = split_kernel_time(trace, 0)
    total, steps = splits.total, splits.steps
    assert steps == (Split(13_000, 3_000, 4_000, 2_000, 4_000), Split(4_000, 2_000, 0, 0, 2_000))
    assert total == Split(17_000, 5_000, 4_000, 2_000, 6_000)
    assert share_of("share_low")(trace, 0) == Figure(5 / 17, (3 / 13, 0.5))
    assert share_of("share_high")(trace, 0) == Figure(7 / 17, (5 / 13, 0.5))
    assert time_of("kernel_ns")(trace, 0) == Figure(8_500, (13_000, 4_000))


def test_bins_of_time_share_a_kernel_by_overlap():
    # 0-1 us nothing; 1-10 us 3 us of 9 (7 of stream 7, 2 of stream 9); 10-20 us 2 us of 8
    found = binned(four_kinds(), TENSOR_CORE_SHARE, np.array([0, 1_000, 10_000, 20_000]))
    assert found == pytest.approx([np.nan, 3 / 9, 2 / 8], nan_ok=True)


def test_a_stage_goes_with_its_op():
    """A transform is matmul-like in a convolution on CUDA cores (a). It is "other" where the convolution beside it ran
    on tensor cores, and where no op is known to have launched it."""
    trace = timeline(
        """
        step      | 0000000000000000000000 |
        op        | aaaaa..aaaaa...bbb.... |
        op        | .aaa.................. |
        runtime   | .wm.....wt......w..... |
        kernel 7  | ..wmm....wwttt...wwww. |""",
        names=NAMES,
        devices={0: V100},
    )
    assert split_kernel_time(trace, 0).total == Split(12_000, 3_000, 3_000, 0, 6_000)


def test_a_gpu_without_tensor_cores_has_no_share_and_says_why():
    trace = timeline(
        """
        step      | 0000000000 |
        op        | cccccc.... |
        runtime   | m......... |
        kernel 7  | .mmmm..... |""",
        names=NAMES,
        devices={0: Device(0, "Tesla P100-PCIE-16GB", 56, (6, 0))},
    )
    assert share_of("share_low")(trace, 0) == Figure(None, (None,), NO_TENSOR_CORES)
    assert binned(trace, TENSOR_CORE_SHARE, np.array([0, 10])) is None
    result = ANALYSIS.analyse(trace)
    assert result.unknown == NO_TENSOR_CORES
    assert result.devices[0].share_high is None
    assert result.devices[0].total == Split(4_000, 0, 4_000, 0, 0)


def test_the_view_of_the_drawn_trace():
    result = ANALYSIS.analyse(four_kinds())
    (device,) = result.devices
    assert result.unknown is None
    assert (device.device, device.name) == (0, V100.name)
    assert (device.share_low, device.share_high, device.matmul_like_share) == (5 / 17, 7 / 17, 4 / 17)
    assert device.steps == [
        SplitStep("0", Split(13_000, 3_000, 4_000, 2_000, 4_000)),
        SplitStep("1", Split(4_000, 2_000, 0, 0, 2_000)),
    ]
    assert device.kernels == [
        KernelRow(NAMES["e"], "other", "elementwise, reduction or copy", 2, 6_000, 6 / 17, "vectorized_elementwise"),
        KernelRow(
            NAMES["t"],
            "tensor_core",
            "tensor cores, by the instruction in its name",
            2,
            5_000,
            5 / 17,
            "gemm f16 128x128",
        ),
        KernelRow(NAMES["m"], "matmul_like", "FP32 matrix product on CUDA cores", 1, 4_000, 4 / 17, "gemm f32 64x64"),
        KernelRow(NAMES["u"], "unknown", "its name does not tell", 1, 2_000, 2 / 17, "my_own"),
    ]
    assert (device.more_count, device.more_kernels, device.more_ns) == (0, 0, 0)
    assert [(tile.metric, tile.value) for tile in result.tiles] == [
        ("tensor_core_share", 5 / 17),
        ("kernel_sum_time", 8_500),
        ("matmul_like_time", 2_000),
        ("unknown_kernel_time", 1_000),
    ]


def test_kernels_beyond_the_table_are_folded():
    chars = [chr(0x4E00 + i) for i in range(KERNEL_ROWS + 3)]
    cells = "".join(chars)
    trace = timeline(
        f"""
        step      | {"0" * (len(cells) + 1)} |
        runtime   | {cells}. |
        kernel 7  | .{cells} |""",
        devices={0: V100},
    )
    (device,) = ANALYSIS.analyse(trace).devices
    assert len(device.kernels) == KERNEL_ROWS
    assert (device.more_count, device.more_kernels, device.more_ns) == (3, 3, 3_000)


def test_a_trace_without_a_gpu_says_so():
    trace = timeline(
        """
        step      | 0000000000 |
        op        | cccccc.... |"""
    )
    result = ANALYSIS.analyse(trace)
    assert (result.unknown, result.devices) == (NO_ACTIVITY, [])
    assert [tile.value for tile in result.tiles] == [None] * 4


def test_collectives_are_known_by_name_and_are_other():
    trace = timeline(
        """
        step      | 0000000000 |
        op        | nnnnn..... |
        runtime   | .c........ |
        nccl 7    | ..cccc.... |""",
        names={"n": "nccl:all_reduce"},
        devices={0: V100},
    )
    names = {name for name, judged in zip(trace.strings.strings, collective_names(trace), strict=True) if judged}
    assert names == {"nccl:all_reduce", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"}
    assert split_kernel_time(trace, 0).total == Split(4_000, 0, 0, 0, 4_000)


@pytest.mark.parametrize(
    ("name", "collective"),
    [
        ("ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclWorkElem)", True),
        ("ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096ul>)", True),
        ("void (anonymous namespace)::multimem_all_reduce_kernel<c10::BFloat16, 16>(c10::BFloat16*)", True),
        ("void vllm::cross_device_reduce_1stage<half, 8>(vllm::RankData*)", True),
        ("void at::native::reduce_kernel<512, 1>(int)", False),
        ("volta_sgemm_64x64_nt", False),
    ],
)
def test_collective_kernels(name: str, collective: bool):
    assert is_collective(name) == collective


def test_the_profiler_tab_counts_by_parts_of_names_over_the_whole_recording():
    names = NAMES | {
        "m": "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize64x64x8_stage3_ffma_kernel",
        "u": "nvjet_tst_8",
    }
    trace = timeline(
        """
        step      | 0000000000000000.... |
        op        | cccccc.............. |
        runtime   | tmue...............t |
        kernel 7  | .ttt.mmmm.uu.e...... |""",
        names=names,
        devices={0: V100},
    )
    tab = profiler_tab(trace, 0)
    assert tab.share == 7 / 10
    assert tab.why is not None
    assert {key: quantity.value for key, quantity in tab.why.values.items()} == {"missed": 0.2, "wrong": 0.4}


def test_where_both_count_the_same_there_is_no_difference_to_explain():
    assert profiler_tab(four_kinds(), 0) == ProfilerTab(5 / 17, None)
    assert all(word == word.lower() for word in PROFILER_TAB_WORDS)


@cache
def recorded(name: str) -> Trace:
    return read_real(name)


@on_real_traces
def test_kernel_time_is_conserved(name: str):
    trace = recorded(name)
    result = ANALYSIS.analyse(trace)
    assert [each.device for each in result.devices] or result.unknown is not None
    assert {each.device for each in result.devices} == set(devices_with_activity(trace))
    for device in result.devices:
        for split in (device.total, *(step.split for step in device.steps)):
            assert split.kernel_ns == sum(msgspec.structs.astuple(split)[1:])
        assert sum(step.split.kernel_ns for step in device.steps) == device.total.kernel_ns  # these steps are adjacent
        assert sum(row.total_ns for row in device.kernels) + device.more_ns == device.total.kernel_ns
        for bin_name in ("tensor_core", "matmul_like", "unknown", "other"):
            of_bin = sum(row.total_ns for row in device.kernels if row.bin == bin_name)
            assert device.more_ns or of_bin == getattr(device.total, f"{bin_name}_ns")


@needs("reference/torch_tb_profiler.json")
@on_real_traces
def test_the_profiler_tab_s_share_is_its_own(name: str):
    known_share = reference("torch_tb_profiler.json").get(name)
    if known_share is None:
        pytest.skip("torch-tb-profiler's values of this trace are not known")
    shares = [profiler_tab(recorded(name), device).share for device in devices_with_activity(recorded(name))]
    expected = known_share["tc_used_ratio_all_kernels"]
    assert shares == ([] if expected is None else [pytest.approx(expected, abs=0.0005)])


def test_the_resnet_that_uses_no_tensor_cores():
    """67.6 % of the kernel time, 66.7 of 98.6 ms a step, could use them; no kernel does, and none is unknown."""
    result = ANALYSIS.analyse(recorded(RESNET))
    (device,) = result.devices
    assert (device.share_low, device.share_high, device.profiler_tab_share) == (0.0, 0.0, 0.0)
    assert device.matmul_like_share == pytest.approx(0.676, abs=0.0005)
    values = {tile.metric: tile.value for tile in result.tiles}
    assert values["kernel_sum_time"] == pytest.approx(98.6e6, abs=5e4)
    assert values["matmul_like_time"] == pytest.approx(66.7e6, abs=5e4)


@needs("traces")
def test_every_reason_of_a_difference_is_a_share():
    for name in REAL:
        for device in devices_with_activity(recorded(name)):
            why = profiler_tab(recorded(name), device).why
            assert why is None or all(value.unit == Unit.FRACTION for value in why.values.values())


@pytest.mark.parametrize(("unknown_cells", "unclassified"), [("uuuu", None), ("uuuuu", 5 / 9)])
def test_where_names_leave_more_open_than_they_tell_the_share_is_unclassified(unknown_cells, unclassified):
    trace = timeline(
        f"""
        op       | a................ |
        kernel 7 | tttt.{unknown_cells}...... |""",
        names={"t": "volta_h884gemm_64x64_ldg8_nn", "u": "my_own_kernel"},
    )
    (device,) = ANALYSIS.analyse(trace).devices
    assert device.unclassified == unclassified
    assert (share_of("share_low")(trace, 0).value is None) == (unclassified is not None)
    assert (binned(trace, TENSOR_CORE_SHARE, np.array([0, 1_000])) is None) == (unclassified is not None)

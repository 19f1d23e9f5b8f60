"""Which collectives a trace holds, what they do and how much they send."""

from __future__ import annotations

import pytest

from tb_steptime.metrics.communication.collectives import (
    KINDS,
    Collectives,
    element_bytes,
    find_collectives,
    input_bytes,
    kind_of,
)
from tb_steptime.metrics.kernel_names.work_kinds import is_collective, is_collective_call
from tb_steptime.trace.kineto.inputs import keeps_inputs
from tb_steptime.trace.table import Kind
from tests.drawn.timeline import timeline


def told(found: Collectives) -> list[tuple[str, int, int, int]]:
    """The kind, bytes, ranks and start of each collective."""
    kinds = [KINDS[kind] for kind in found.kind]
    return list(zip(kinds, found.bytes.tolist(), found.group_size.tolist(), found.start.tolist(), strict=True))


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("allreduce_coalesced", "all_reduce"),
        ("_allgather_base", "all_gather"),
        ("all_gather_into_tensor_coalesced", "all_gather"),
        ("_reduce_scatter_base", "reduce_scatter"),
        ("reduce_scatter_tensor_coalesced", "reduce_scatter"),
        ("all_to_allv", "all_to_all"),
        ("nccl:all_to_all", "all_to_all"),
        ("c10d::alltoall_base_", "all_to_all"),
        ("_broadcast_oop", "broadcast"),
        ("_reduce_oop", "reduce"),
        ("nccl:send 0->1", "send_receive"),
        ("nccl:recv 0<-1", "send_receive"),
        ("gloo:gather", "gather"),
        ("nccl:coalesced", "unknown"),
        ("wait", "unknown"),
        ("ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclWorkElem)", "send_receive"),
        ("ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "reduce_scatter"),
        ("void (anonymous namespace)::multimem_all_reduce_kernel<c10::BFloat16, 16>(c10::BFloat16*)", "all_reduce"),
        ("void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_oneshot_lamport<8>(P)", "all_reduce"),
        ("void aiter::reduce_scatter_cross_device_store<__hip_bfloat16, 8>(P)", "reduce_scatter"),
        ("void deep_ep::intranode::combine<__nv_bfloat16, 8>(P)", "all_to_all"),
        ("void deep_ep::internode::notify_dispatch<false, 8>(int const*)", "all_to_all"),
        ("void deep_ep::internode_ll::dispatch<true, false, 7168>(P)", "all_to_all"),
        ("void dpsk::ep::internode::dispatch<false, 8, true, 8>(int4*)", "all_to_all"),
        ("void dpsk::ep::internode::combine<false, 8, __nv_bfloat16>(int4*)", "all_to_all"),
        ("void dpsk::ep::internode::cached_notify<false>(int)", "all_to_all"),
        ("void mori::moe::EpDispatchIntraNodeKernel<hip_bfloat16, false>(P)", "all_to_all"),
        ("EpCombineInterNodeV1KernelLowLatency_bf16(P)", "all_to_all"),
        ("void mori::moe::EpCombineSyncBarrier<float>(P)", "all_to_all"),
        ("void hybrid_ep::dispatch_kernel<unsigned char, 8>(P)", "all_to_all"),
        ("void hybrid_ep::combine_kernel<8>(P)", "all_to_all"),
        ("hcom_allReduce__428_0_1 ()", "all_reduce"),
        ("mcclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(mcclWorkElem)", "send_receive"),
        ("ecclKernel_AllReduce_MESH_DIRECT_SIMPLE_Sum_bfloat(ecclWorkElem)", "all_reduce"),
        ("allreduce6(P)", "all_reduce"),
        ("void allreduce_LL_1node<__half>(P)", "all_reduce"),
        ("nvshmemi_alltoall_on_stream_kernel(P)", "all_to_all"),
        ("void mscclpp::allreduce7<__half>(P)", "all_reduce"),
        ("void quickreduce::allreduce_prototype_twoshot<quickreduce::AllReduceTwoshot<half> >(P)", "all_reduce"),
        ("void sglang::cross_device_reduce_2stage<__nv_bfloat16, 8>(sglang::RankData*)", "all_reduce"),
        ("void tensorrt_llm::kernels::oneShotAllReduceKernel<half, 8>(P)", "all_reduce"),
        ("void tensorrt_llm::kernels::allReduceKernel<half, 8>(P)", "all_reduce"),
        ("void tensorrt_llm::kernels::lamport_style_one_shot_all_reduce_norm_kernel<half>(P)", "all_reduce"),
        ("void flashinfer::trtllm_mnnvl_allreduce::twoshot_allreduce_kernel<8>(P)", "all_reduce"),
        ("void tensorrt_llm::kernels::moeAllToAllKernel<8>(P)", "all_to_all"),
        ("void userbuffers_fp16_sum_inplace_gpu_mc_ag<8>(int, int)", "unknown"),
        ("kuserbuffers_pushrecv(int, int)", "unknown"),
        ("ncclDevKernel_Generic_2(ncclDevKernelArgsStorage<4096ul>)", "unknown"),
        ("ncclSymDevKernel_AllGather_ST(ncclSymDevArgs)", "all_gather"),
        ("mscclKernel_Sum_half_LL(ncclDevComm*, mscclAlgo*)", "unknown"),
        ("c10d::symmetric_memory::barrier_kernel(unsigned int**, int, int, int, unsigned long)", "barrier"),
        ("c10d::symmetric_memory::(anonymous namespace)::wait_signal_kernel(unsigned int**, int)", "unknown"),
        ("void vllm::cross_device_reduce_1stage<__hip_bfloat16, 8>(vllm::RankData*)", "all_reduce"),
    ],
)
def test_kinds_by_every_spelling(name: str, kind: str):
    assert KINDS[kind_of(name)] == kind
    if "(" in name:
        assert is_collective(name)


@pytest.mark.parametrize("library", ["nccl", "rccl", "gloo", "xccl", "hccl", "mccl", "cncl", "eccl"])
def test_ops_and_ranges_of_each_backend_are_exchanges(library: str):
    """Their inputs, and what they exchange, are read."""
    assert is_collective_call(f"{library}:all_reduce")
    assert keeps_inputs(Kind.USER, f"{library}:all_reduce")
    assert not is_collective_call(f"{library}_allreduce_hook")


@pytest.mark.parametrize(
    "name",
    [
        "void dpsk::ep::cuda::get_dispatch_layout<256, 32, 8>(long const*, int*)",
        "void deep_ep::layout::get_dispatch_layout<256, 32, 8>(long const*, int*)",
        "void mori::moe::EpDispatchCopyToStaging<hip_bfloat16>(P)",
        "void mori::moe::EpCombineSync<hip_bfloat16>(P)",
        "void mori::moe::EpCombineAll<hip_bfloat16>(P)",
        "void hybrid_ep::scan<256>(P)",
        "void allreduce_of_norms<8>(P)",
        "void tensorrt_llm::kernels::lamport_initialize_kernel<half>(P)",
        "void flash::flash_fwd_splitkv_combine_kernel<8>(P)",
        "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float> >(P)",
        "void layer_norm_kernel<WarpAllReduce<float> >(P)",
        "moe_sum_reduce_kernel",
    ],
)
def test_kernels_that_only_sound_like_an_exchange(name: str):
    assert not is_collective(name)


@pytest.mark.parametrize(
    ("dtype", "size"),
    [("Double", 8), ("long int", 8), ("c10::Half", 2), ("Short", 2), ("unsigned char", 1), ("Bool", 1), ("Int", 4),
     ("c10::complex<float>", 4), ("Tensor", None), ("Float8_e5m2", 1)],
)  # fmt: skip
def test_bytes_of_an_element(dtype: str, size: int | None):
    assert element_bytes(dtype) == size


@pytest.mark.parametrize(
    ("shapes", "dtypes", "size"),
    [
        ("[[3,5],[7],[]]", '["float","c10::Half","Scalar"]', 74),
        ("[[3,5]]", '["unheard"]', None),
        ("[[3,5]]", "[]", None),
        ("[[3,[5]]]", '["float"]', None),
        ("[]", "[]", None),
    ],
)
def test_bytes_of_inputs(shapes: str, dtypes: str, size: int | None):
    assert input_bytes(shapes, dtypes) == size


def test_arguments_of_the_kernel_count_before_those_of_the_op_and_its_mark():
    trace = timeline(
        """
        step    | 0000000000000000000000000000 |
        op      | AAAAA.BBBBB.CCCCC........... |
        runtime | .a.....b.....c.............. |
        nccl 40 | ...aaaa....bbb......ccc..ddd |""",
        names={"A": "record_param_comms", "B": "record_param_comms", "C": "nccl:_all_gather_base", "c": "ncclKernel"},
        inputs={"C": ("[[256]]", '["c10::BFloat16"]')},
        exchanges={
            "A": ("broadcast", "Float", 100, "0", 8),
            "B": ("_reduce_scatter_base", "Half", 100, "1", 4),
            "a": ("allreduce", "Float", 500, "0", 8),
        },
    )
    assert told(find_collectives(trace)) == [
        ("all_reduce", 2000, 8, 3000),
        ("reduce_scatter", 200, 4, 11_000),
        ("all_gather", 512, -1, 20_000),
        ("all_reduce", -1, -1, 25_000),  # known only by the name of its kernel: its launch is not recorded
    ]


def test_without_a_gpu_marks_of_gloo_are_collectives_and_those_of_nccl_are_not():
    trace = timeline("""
        step                    | 00000000000000 |
        user gloo:all_reduce    | .gggg......... |
        user nccl:all_reduce    | ......nn...... |
        user gloo:broadcast @io | ........bbbb.. |""")
    assert told(find_collectives(trace)) == [("all_reduce", -1, -1, 1000), ("broadcast", -1, -1, 8000)]

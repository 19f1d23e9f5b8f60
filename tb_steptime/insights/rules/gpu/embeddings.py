"""Gradients of embeddings that have all rows of their tables, on a GPU."""

from __future__ import annotations

from tb_steptime.insights.base import Insight
from tb_steptime.insights.facts import Facts
from tb_steptime.insights.rules.gpu.kernel_gains import kernel_card
from tb_steptime.text import count, ns, phrase

#: Sparse gradients need an optimizer of their own, and are not worth that below a tenth of the step.
LARGE_FRACTION = 0.10
#: Time that a sparse gradient and its update take: sorting the indices and adding up equal ones, which waits for their
#: number, and about 50 launches of SparseAdam, 10 µs each.
SPARSE_NS = 500_000


def dense_tables(facts: Facts) -> Insight | None:
    """Fires when a tenth of the step goes into rows of embeddings that no batch needs, because their gradients have all
    rows: zeros fill these, and the optimizer goes through them.

    Similar pattern: a table that is the output layer, too, or is read twice: the sum of its gradients is dense, and its
    node adds them. An output layer of the table's shape: of the ops on that shape, as many count as there are tables.
    AdamW, weight decay, AMSGrad, momentum and norms of gradients, as for clipping, need all rows: no card. Several
    ranks: DistributedDataParallel and FSDP do not reduce sparse gradients with NCCL. A compiled backward pass has no
    node of an embedding. A batch that needs half of the rows saves nothing.

    Needs: `record_shapes=True`, the range `Optimizer.step`, and GPU kernels with their ops.

    Jobs: training with Adam or SGD on one GPU, eager.

    Gain: the time of the kernels that fill the gradients and update the tables, as far as it goes by bytes into these
    rows, less twice the share of rows for which a batch has indices, and less 500 µs for each table (est.), which a
    sparse gradient and its update take.

    Left out: the memory of the gradients. Weight decay in a fused optimizer, which no op shows.
    """
    tables = facts.waste.tables
    if tables is None or not facts.trains or facts.job.ranks == "many":
        return None
    gain_ns = tables.saved_ns - tables.tables * SPARSE_NS
    if facts.share(gain_ns) < LARGE_FRACTION:
        return None
    return kernel_card(
        facts,
        id="dense_tables",
        title=phrase("Use sparse gradients for large embeddings"),
        why=phrase(
            "A batch needs at most {indices} of the {rows} rows of the largest embedding. Gradients of zero for "
            "other rows of embeddings take {time} a step.",
            indices=count(tables.indices),
            rows=count(tables.rows),
            time=ns(tables.saved_ns),
        ),
        how=_SGD if facts.job.optimizer == "SGD" else _ADAM,
        gain_ns=gain_ns,
        formula="Time of the kernels that fill gradients of tables and update these, by the share of their bytes in "
        "rows without an index, less 500 µs for each table (est.), which a sparse update takes.",
        doubt="What a sparse update takes is an estimate.",
        site=tables.site,
        estimated=True,
    )


_LAYER = "table = torch.nn.Embedding(rows, width, sparse=True)  # one rank; no weight decay, no clipping by norm"
_SGD = f"{_LAYER}\ntorch.optim.SGD(...)  # without momentum, and not fused"
#: SparseAdam takes no other gradients than sparse ones.
_ADAM = f"""{_LAYER}
torch.optim.SparseAdam(table.parameters())  # Adam for the other weights
# averages of a row change only in steps with a gradient for it"""

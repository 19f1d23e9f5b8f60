"""The differences that the digest of a view's figures detects, and the differences that it ignores."""

from tests.golden.compare import differences
from tests.golden.figures import digest, figures_of


def page(**result):
    sentence = {"template": "{a} of it", "values": {"a": {"value": 7, "unit": "ns"}}}
    reason = {"code": "no_gpu", "values": {"a": {"value": 8, "unit": "ns"}}}
    return {
        "head": {"number": 1},
        "headline": {"verdict": sentence},
        "result": {"title": sentence, "why": reason, **result},
    }


def digest_of(**result):
    return digest(figures_of(page(**result)))


def test_names_order_sentences_and_zeros_do_not_matter():
    reference = digest_of(steps=[{"wait_ns": 5, "ready": True}, {"wait_ns": 6}], share=0.25)
    assert digest_of(part=0.25, rows={"b": [6], "a": 5, "none": 0, "unknown": None, "flag": False}) == reference


def test_every_number_matters_however_often_it_stands_there():
    values = ([5, 5, 6], [5, 6], [5, 6, 6], [5, 5, 7], [5.5, 5, 6])
    assert len({digest_of(a=each) for each in values}) == len(values)


def test_last_digits_of_a_sum_do_not_matter():
    assert digest_of(a=0.1 + 0.2) == digest_of(a=0.3)
    assert digest_of(a=0.300000002) != digest_of(a=0.3)


def test_differences_are_named_by_view_and_field():
    theirs = {"host": page(old=[{"a_ns": 5}, {"a_ns": 6}], gone=3)}
    ours = {"host": page(new=[{"b_ns": 6}, {"b_ns": 7}])}
    assert list(differences("run", theirs, ours)) == [
        "run host - result.old[].a_ns: 5",
        "run host - result.gone: 3",
        "run host + result.new[].b_ns: 7",
    ]
    assert list(differences("run", theirs, theirs)) == []

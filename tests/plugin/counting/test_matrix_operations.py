"""Matrix products as torch dispatches them."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils.flop_counter import flop_registry, register_flop_formula

from pytest_roofline.counting import Counted, count_step
from pytest_roofline.counting.calls import Call
from pytest_roofline.counting.flop.matrix_operations import MATRIX_OPERATIONS, Tf32


def square(*sizes: int) -> torch.Tensor:
    return torch.randn(*(sizes or (8, 8)))


PRODUCTS: dict[str, tuple[Callable[[], object], int]] = {
    "mm": (lambda: torch.mm(square(3, 4), square(4, 5)), 2 * 3 * 4 * 5),
    "addmm": (lambda: torch.addmm(square(5), square(3, 4), square(4, 5)), 2 * 3 * 4 * 5),
    "addmm_": (lambda: square(3, 5).addmm_(square(3, 4), square(4, 5)), 2 * 3 * 4 * 5),
    "_addmm_activation": (lambda: torch._addmm_activation(square(5), square(3, 4), square(4, 5)), 2 * 3 * 4 * 5),
    "bmm": (lambda: torch.bmm(square(2, 3, 4), square(2, 4, 5)), 2 * 2 * 3 * 4 * 5),
    "baddbmm": (lambda: torch.baddbmm(square(2, 3, 5), square(2, 3, 4), square(2, 4, 5)), 2 * 2 * 3 * 4 * 5),
    "addbmm": (lambda: torch.addbmm(square(3, 5), square(2, 3, 4), square(2, 4, 5)), 2 * 2 * 3 * 4 * 5),
    "mv": (lambda: torch.mv(square(), square(8)), 128),
    "addmv": (lambda: torch.addmv(square(8), square(), square(8)), 128),
    "dot": (lambda: torch.dot(square(8), square(8)), 16),
    "vdot": (lambda: torch.vdot(square(8), square(8)), 16),
    "addr": (lambda: torch.addr(square(3, 4), square(3), square(4)), 24),
    "inner": (lambda: torch.inner(square(3, 8), square(5, 8)), 2 * 3 * 5 * 8),
    "matmul, broadcast": (lambda: square(7, 1, 3, 4) @ square(2, 4, 5), 2 * 7 * 2 * 3 * 4 * 5),
    "matmul, folded": (lambda: square(7, 2, 3, 4) @ square(4, 5), 2 * 7 * 2 * 3 * 4 * 5),
    "einsum": (lambda: torch.einsum("bij,bkj->bik", square(2, 3, 4), square(2, 5, 4)), 2 * 2 * 3 * 4 * 5),
    "tensordot": (lambda: torch.tensordot(square(3, 4, 2), square(4, 2, 5)), 2 * 3 * 8 * 5),
    "chain": (lambda: torch.linalg.multi_dot([square(3, 4), square(4, 5), square(5, 2)]), 2 * (4 * 5 * 2 + 3 * 4 * 2)),
    "linear": (lambda: nn.Linear(4, 5)(square(2, 3, 4)), 2 * 2 * 3 * 4 * 5),
    "linear, no bias": (lambda: nn.Linear(4, 5, bias=False)(square(4)), 2 * 4 * 5),
    "bilinear": (lambda: nn.Bilinear(3, 4, 5)(square(6, 3), square(6, 4)), 2 * (6 * 5 * 3 * 4 + 6 * 5 * 4)),
    "power": (lambda: torch.linalg.matrix_power(square(), 3), 2 * 2 * 8 * 8 * 8),
    "8-bit weights": (
        lambda: torch._weight_int8pack_mm(
            square(4, 32).bfloat16(), torch.ones(8, 32, dtype=torch.int8), torch.ones(8).bfloat16()
        ),
        2 * 4 * 32 * 8,
    ),
    # From 26 rows on torch takes x² - 2xy + y²: the squares are two columns more.
    "distances": (lambda: torch.cdist(square(2, 30, 5), square(2, 40, 5)), 2 * 2 * 30 * 40 * (5 + 2)),
    # Each position (x, y, 1) meets two rows of three.
    "affine grid": (
        lambda: nn.functional.affine_grid(square(2, 2, 3), [2, 3, 5, 6], align_corners=False),
        2 * 2 * 5 * 6 * 2 * 3,
    ),
    "empty": (lambda: torch.mm(square(0, 4), square(4, 5)), 0),
}


def test_two_values_of_four_bits_share_an_element(flop: Callable[..., float]) -> None:
    """Rows of 64 values lie in 32 elements; their scales are no arithmetic of the product."""
    with FakeTensorMode():
        left, right = (
            torch.empty(rows, 32, dtype=torch.uint8, device="cuda").view(torch.float4_e2m1fn_x2) for rows in (128, 256)
        )
        scales = [torch.empty(rows * 4, dtype=torch.float8_e4m3fn, device="cuda") for rows in (128, 256)]
        assert flop(lambda: torch._scaled_mm(left, right.t(), *scales, out_dtype=torch.bfloat16)) == 2 * 128 * 256 * 64


@pytest.mark.parametrize("inference", [False, True], ids=["eager", "inference_mode"])
@pytest.mark.parametrize("name", PRODUCTS)
def test_products_count_two_flop_a_term(name: str, inference: bool, flop: Callable[..., float]) -> None:
    """Composite operations (linear, matmul, einsum) lose nothing under inference_mode, where they arrive undivided."""
    step, expected = PRODUCTS[name]
    with torch.inference_mode(inference):
        assert flop(step) == expected


EINSUM = [
    "ij,jk->ik",
    "bij,bjk->bik",
    "bij,bkj->bik",
    "bhid,bhjd->bhij",
    "bihd,bjhd->bhij",
    "i,j->ij",
    "ij,j->i",
    "bij,ij->b",
    "abc,cd->abd",
    "ij,kj->ik",
    "abij,bcjk->acik",
]


@pytest.mark.parametrize("pattern", EINSUM)
@settings(deadline=None, max_examples=5)
@given(st.data())
def test_einsum_walks_through_all_its_letters(pattern: str, data: st.DataObject) -> None:
    """A multiply-accumulate for every combination of values; an outer product has nothing to sum and is no product."""
    letters = sorted(set(pattern) - set(",->"))
    size = {letter: data.draw(st.integers(2, 4)) for letter in letters}
    given_letters, result = pattern.split("->")
    left, right = (torch.randn([size[one] for one in part]) for part in given_letters.split(","))
    work = count_step(lambda: torch.einsum(pattern, left, right), model=nn.Identity()).work
    summed = set(given_letters) - set(result) - {","}
    macs = sum(1 for _ in product(*(range(size[letter]) for letter in letters)))
    assert work.flop_per_step == (2 * macs if summed else 0)


@settings(deadline=None, max_examples=30)
@given(*[st.integers(1, 5)] * 4, st.booleans(), st.booleans(), st.sampled_from(["mm", "linear", "bmm", "baddbmm"]))
def test_products_of_any_shape_and_stride(
    batch: int, rows: int, depth: int, columns: int, turned: bool, strided: bool, kind: str
) -> None:
    """How a matrix lies in memory doesn't matter; forward and both gradients are as many pairs each."""

    def matrix(first: int, second: int) -> torch.Tensor:
        shape = (batch, second, first) if turned else (batch, first, second)
        made = torch.randn(*shape[:-1], 2 * shape[-1])[..., ::2] if strided else torch.randn(shape)
        return (made.mT if turned else made).detach().requires_grad_()

    left, right = matrix(rows, depth), matrix(depth, columns)
    forward: dict[str, tuple[Callable[[], torch.Tensor], int]] = {
        "mm": (lambda: left[0] @ right[0], 1),
        "linear": (lambda: nn.functional.linear(left, right[0].mT), batch),
        "bmm": (lambda: left @ right, batch),
        "baddbmm": (lambda: torch.baddbmm(torch.zeros(batch, rows, columns), left, right), batch),
    }
    step, products = forward[kind]
    macs = sum(1 for _ in product(range(products), range(rows), range(depth), range(columns)))
    assert count_step(step, model=nn.Identity()).flop_by_dtype == {"fp32": 2.0 * macs}
    assert count_step(step().sum().backward, model=nn.Identity()).flop_by_dtype == {"fp32": 2.0 * 2 * macs}


def test_onednn_linear_counts_like_linear(flop: Callable[..., float]) -> None:
    """Its tensors are opaque; their shapes still tell."""
    source, weight = square(3, 4).to_mkldnn(), square(5, 4).to_mkldnn()
    assert flop(lambda: torch.ops.aten.mkldnn_linear(source, weight)) == 2 * 3 * 4 * 5


def test_complex_products_count_four_real_ones(flop: Callable[..., float]) -> None:
    """(a + bi)(c + di) takes four real multiply-accumulates."""
    left, right = torch.randn(3, 4, dtype=torch.complex64), torch.randn(4, 5, dtype=torch.complex64)
    assert flop(lambda: left @ right) == 4 * 2 * 3 * 4 * 5


@pytest.mark.parametrize(
    ("dtype", "name"),
    [(torch.float32, "fp32"), (torch.float64, "fp64"), (torch.bfloat16, "bf16"), (torch.float16, "fp16")],
)
def test_dtype_is_that_of_the_operands(dtype: torch.dtype, name: str, count: Callable[..., Counted]) -> None:
    """FLOPs are kept apart by the dtype they ran in."""
    assert count(lambda: torch.ones(3, 4, dtype=dtype) @ torch.ones(4, 5, dtype=dtype)).flop_by_dtype == {name: 120.0}


@pytest.mark.parametrize(("matmul", "convolution"), [(False, False), (True, False), (False, True), (True, True)])
def test_tf32_follows_the_switch_that_governs_the_operation(
    matmul: bool, convolution: bool, count: Callable[..., Counted], without_data: FakeTensorMode
) -> None:
    """cuBLAS and cuDNN have a switch each; float32 on CUDA only, and never a matrix-vector product."""

    def step() -> None:
        source, image = torch.randn(4, 4, device="cuda"), torch.randn(1, 4, 4, 4, device="cuda")
        torch.mm(source, source)
        torch.mv(source, source[0])
        torch.mm(source.bfloat16(), source.bfloat16())
        torch.conv2d(image, image)

    with without_data:
        counted = count(step, tf32=Tf32(matmul=matmul, convolution=convolution))
    dtypes = {operation.name: operation.dtype for operation in counted.operations if operation.dtype != "bf16"}
    assert dtypes["aten::mm"] == ("tf32" if matmul else "fp32")
    assert dtypes["aten::convolution"] == ("tf32" if convolution else "fp32")
    assert dtypes["aten::mv"] == "fp32"
    assert counted.flop_by_dtype["bf16"] == 2 * 4 * 4 * 4


def test_tf32_never_applies_on_the_cpu(count: Callable[..., Counted]) -> None:
    """The switches are CUDA's."""
    assert count(lambda: square() @ square(), tf32=Tf32(matmul=True)).flop_by_dtype == {"fp32": 1024.0}


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:FutureWarning")
@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:DeprecationWarning")
def test_derivatives_forward_multiply_with_zeros_too(flop: Callable[..., float]) -> None:
    """Of a layer whose weight has no tangent torch makes one of zeros, and multiplies with it: three products run."""
    layer, source = nn.Linear(4, 5), torch.randn(3, 4)
    assert flop(lambda: torch.func.jvp(layer, (source,), (source,))) == 3 * 2 * 3 * 4 * 5


def test_unknown_arithmetic_is_named_with_its_calls(count: Callable[..., Counted]) -> None:
    """Never a silent 0: an operation without a formula makes the count incomplete, and the other column missing."""
    matrix = torch.eye(3)
    counted = count(lambda: (matrix.matrix_exp(), matrix.matrix_exp(), torch.linalg.eig(matrix)))
    assert {one.name: one.calls for one in counted.work.uncovered} == {
        "aten::linalg_matrix_exp": 2,
        "aten::linalg_eig": 1,
    }
    assert counted.work.other_flop_per_step is None
    assert "aten::linalg_matrix_exp" in counted.missing["work.other_flop_per_step"]


@pytest.fixture
def custom() -> Any:
    """A user's operation: 4x4 products, opaque to everybody."""
    with torch.library._scoped_library("counting_test", "FRAGMENT") as library:
        library.define("product(Tensor a, Tensor b) -> Tensor")
        library.impl("product", lambda a, b: a @ b, "CPU")
        operation = torch.ops.counting_test.product
        yield operation
        flop_registry.pop(operation, None)
        del torch.ops.counting_test.product
        # torch keeps a list of names beside it; whoever walks through that would look for what is gone.
        torch.ops.counting_test._dir.remove("product")


def test_custom_operation_is_named_until_it_has_a_formula(custom: Any, count: Callable[..., Counted]) -> None:
    """A formula registered the way torch documents is used."""
    left = square(4, 4)
    assert [one.name for one in count(lambda: custom(left, left)).work.uncovered] == ["counting_test::product"]
    register_flop_formula(custom)(lambda a, b, **_: 2 * a[0] * a[1] * b[1])
    work = count(lambda: custom(left, left)).work
    assert (work.flop_per_step, work.uncovered) == (128.0, ())


def call(name: str, result: object, **arguments: object) -> Call:
    shapes = {
        key: torch.empty(value, device="meta") if isinstance(value, tuple) else value
        for key, value in arguments.items()
    }
    return Call(
        name=name,
        arguments=shapes,
        written=frozenset(),
        out=frozenset(),
        metadata_only=False,
        result=torch.empty(result, device="meta") if isinstance(result, tuple) else result,
    )


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (call("aten::linear_backward", None, self=(3, 4), weight=(5, 4), output_mask=[True, True, True]), 2 * 120),
        (call("aten::mkldnn_linear_backward", None, self=(3, 4), weight=(5, 4), output_mask=[False, True, True]), 120),
        (call("aten::linear_backward", None, self=(2, 3, 4), weight=(5, 4), output_mask=[True, True, True]), 4 * 120),
        (call("aten::mkldnn_linear_backward_input", None, grad_output=(3, 5), weight=(5, 4)), 120),
        (call("aten::mkldnn_linear_backward_input", None, grad_output=(2, 3, 5), weight=(5, 4)), 2 * 120),
        (call("torch_nn::_linear_cross_entropy_batch_chunked", None, input=(3, 4), linear_weight=(5, 4)), 120),
        (
            call(
                "torch_nn::_linear_cross_entropy_batch_chunked",
                None,
                input=(3, 4),
                linear_weight=(5, 4),
                compute_input_grad=True,
                compute_linear_weight_grad=True,
            ),
            3 * 120,
        ),
        (call("aten::cudnn_affine_grid_generator_backward", None, grad=(2, 5, 6, 2)), 2 * 2 * 5 * 6 * 2 * 3),
        (call("mkldnn::_linear_pointwise", (3, 5), X=(3, 4), W=(5, 4)), 120),
        (call("aten::_scaled_mm", (3, 5), self=(3, 4), mat2=(4, 5)), 120),
        (call("aten::_grouped_mm", None, self=(6, 4), mat2=(3, 4, 5)), 2 * 6 * 4 * 5),
        (call("aten::_grouped_mm", None, self=(3, 6, 4), mat2=(3, 4, 5)), 3 * 2 * 6 * 4 * 5),
        (call("aten::_grouped_mm", None, self=(6, 4), mat2=(4, 5)), 2 * 6 * 4 * 5),
        (call("aten::_scaled_grouped_mm", None, self=(3, 6, 4), mat2=(4, 5)), 2 * 6 * 4 * 5),
        (call("aten::_scaled_mm_v2", (3, 5), self=(3, 4), mat2=(4, 5)), 120),
        (call("aten::_weight_int4pack_mm", (3, 8), self=(3, 32), mat2=(1, 2, 32, 4)), 2 * 3 * 32 * 8),
        (call("aten::_dyn_quant_matmul_4bit", (3, 8), inp=(3, 32)), 2 * 3 * 32 * 8),
        (call("aten::_sparse_semi_structured_mm", (6, 5), mat1=(6, 4), mat2=(8, 5)), 2 * 6 * 4 * 5),
        (call("aten::_sparse_semi_structured_linear", (3, 5), input=(3, 8), weight=(5, 4)), 2 * 3 * 5 * 4),
        (call("aten::_cslt_sparse_mm", (6, 5), compressed_A=(40,), dense_B=(8, 5)), 2 * 6 * 4 * 5),
        (
            call("aten::_nnpack_spatial_convolution", (2, 6, 5, 5), input=(2, 4, 7, 7), weight=(6, 4, 3, 3)),
            2 * 2 * 25 * 6 * 4 * 9,
        ),
        (call("aten::cudnn_convolution", (2, 6, 5, 5), self=(2, 4, 7, 7), weight=(6, 2, 3, 3)), 2 * 2 * 25 * 6 * 2 * 9),
        (
            call("aten::cudnn_convolution_transpose", (2, 6, 9, 9), self=(2, 4, 7, 7), weight=(4, 3, 3, 3)),
            2 * 2 * 49 * 4 * 3 * 9,
        ),
        (call("mkldnn::_convolution_pointwise", (2, 6, 5, 5), X=(2, 4, 7, 7), W=(6, 4, 3, 3)), 2 * 2 * 25 * 6 * 4 * 9),
        (
            call(
                "aten::mps_convolution_backward",
                None,
                self=(2, 4, 7, 7),
                grad_output=(2, 6, 5, 5),
                weight=(6, 4, 3, 3),
                output_mask=[False, True, False],
            ),
            2 * 2 * 25 * 6 * 4 * 9,
        ),
        (
            call(
                "aten::mps_convolution_transpose_backward",
                None,
                self=(2, 4, 7, 7),
                grad_output=(2, 6, 9, 9),
                weight=(4, 6, 3, 3),
                output_mask=[True, True],
            ),
            2 * 2 * 2 * 49 * 4 * 6 * 9,
        ),
    ],
    ids=lambda value: value.name if isinstance(value, Call) else "",
)
def test_operations_of_other_back_ends(made: Call, expected: int) -> None:
    """Those that can't run here, called by hand with their arguments' names."""
    assert MATRIX_OPERATIONS[made.name].flop(made) == expected


LATER = {
    "aten::_foreach_mm",
    "aten::_flash_attention_forward_no_dropout_inplace",
    "aten::_scaled_grouped_mm_v2",
    "aten::_scaled_mm_v2",
}
"""Operations that the oldest torch we support doesn't have."""


def test_every_name_in_the_table_is_one_of_torch() -> None:
    """A misspelt name would count nothing, without a word. Back ends of other builds may be absent, no more."""
    names = {schema.name for schema in torch._C._jit_get_all_schemas()}
    higher_order = {name for name in MATRIX_OPERATIONS if "::" not in name and hasattr(torch.ops.higher_order, name)}
    strangers = {name for name in MATRIX_OPERATIONS if name not in names} - LATER - higher_order
    assert all(name.startswith(("mkldnn::", "torch_nn::", "torchvision::")) for name in strangers)

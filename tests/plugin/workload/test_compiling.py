"""torch.compile for a case: a fresh compiler each time, what it made, and its failures in one sentence."""

from __future__ import annotations

import logging
import shutil
import warnings
from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch._inductor.exc import CppCompileError, InvalidCxxCompiler, TritonMissing

from pytest_roofline.workload import compiling
from pytest_roofline.workload.compiling import CompilerMissing, Graphs, NotCompiled, left_out

Backend = Callable[[torch.fx.GraphModule, list[Any]], Callable[..., Any]]


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Capture graphs and run them as they are, for every shape anew: no code is generated, which takes seconds."""
    monkeypatch.setattr(torch, "compile", partial(torch.compile, backend="eager", dynamic=False))


def made_by(call: Callable[[], object]) -> Graphs:
    before = compiling.graphs_so_far()
    call()
    return compiling.graphs_so_far().since(before)


@pytest.mark.usefixtures("eager")
def test_graphs_are_those_that_torch_really_makes() -> None:
    """One for the first call, none for the same again, one for another shape."""
    with compiling.fresh_compiler():
        model = compiling.compiled(nn.Linear(4, 3))
        assert made_by(lambda: model(torch.ones(2, 4))) == Graphs(made=1)
        assert made_by(lambda: model(torch.ones(2, 4))) == Graphs()
        assert made_by(lambda: model(torch.ones(5, 4))) == Graphs(made=1)


class Printing(nn.Linear):
    """A layer that capturing can't go through in one piece."""

    def forward(self, inputs: Tensor) -> Tensor:
        output = super().forward(inputs)
        print("one layer done")
        return output + 1


@pytest.mark.usefixtures("eager")
def test_breaks_are_told_with_their_reason() -> None:
    """Two graphs around a print, and why there are two."""
    with compiling.fresh_compiler():
        found = made_by(lambda: compiling.compiled(Printing(4, 3))(torch.ones(2, 4)))
    assert found.made == 2
    assert list(found.breaks.values()) == [1]
    assert "print" in next(iter(found.breaks))


@pytest.mark.usefixtures("eager")
def test_every_case_has_a_limit_of_its_own() -> None:
    """torch compiles one class's code for 8 kinds of input, then runs it eagerly: the tenth case is compiled too."""
    for width in range(2, 12):
        with compiling.fresh_compiler():
            model = compiling.compiled(nn.Linear(width, 3))
            assert made_by(partial(model, torch.ones(2, width))).made == 1


@pytest.mark.usefixtures("eager")
def test_a_case_beyond_the_limit_is_an_error() -> None:
    """torch would go on eagerly, and its time would pass for a compiled one."""

    def many() -> None:
        with compiling.fresh_compiler():
            model = compiling.compiled(nn.Linear(4, 3))
            for rows in range(2, 12):
                model(torch.ones(rows, 4))

    with pytest.raises(
        NotCompiled, match=r"more kinds of inputs than the 8 .* Keep the shapes of the batches the same"
    ):
        many()


@pytest.mark.skipif(shutil.which("g++") is None, reason="there is no g++ to generate code with")
def test_code_from_a_cache_is_told_apart() -> None:
    """Compiled again, forward and backward come from inductor's cache, and the graph is made anew all the same."""
    found = []
    for _ in range(2):
        with compiling.fresh_compiler():
            model = compiling.compiled(nn.Linear(4, 3))
            found.append(made_by(lambda model=model: model(torch.ones(2, 4)).sum().backward()))  # type: ignore[misc]
    assert (found[0].made, found[0].code) == (1, 2)
    assert found[1] == Graphs(made=1, code=2, cached=2)


def test_nothing_is_made_where_the_compiler_is_not_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looking must not load it: that takes a second."""
    monkeypatch.setattr(compiling, "sys", SimpleNamespace(modules={}))
    assert compiling.graphs_so_far() == Graphs()


def test_a_python_without_a_compiler_is_no_failure_of_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """What torch.compile raises on a Python that is too new for it."""

    def too_new(_model: nn.Module) -> None:
        raise RuntimeError("torch.compile is not supported on Python 3.15+")

    monkeypatch.setattr(torch, "compile", too_new)
    with pytest.raises(CompilerMissing, match=r"can't be used here: torch.compile is not supported on Python 3.15\+$"):
        compiling.compiled(nn.Linear(4, 3))


def compile_with(backend: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    """Call a compiled layer in a fresh compiler with this back end."""
    monkeypatch.setattr(torch, "compile", partial(torch.compile, backend=backend))
    with compiling.fresh_compiler():
        compiling.compiled(nn.Linear(4, 3))(torch.ones(2, 4))


def failing(error: Exception) -> Backend:
    def backend(_graph: torch.fx.GraphModule, _inputs: list[Any]) -> Callable[..., Any]:
        raise error

    return backend


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (InvalidCxxCompiler(), r"No working C\+\+ compiler found in .*; install a C\+\+ compiler such as g\+\+"),
        (TritonMissing(None), "Cannot find a working triton installation.*; install triton"),
    ],
    ids=["no C++ compiler", "no triton"],
)
def test_what_is_missing_is_told_with_what_to_install(
    error: Exception, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A machine without a compiler says nothing of the model."""
    with pytest.raises(CompilerMissing, match="^torch.compile can't be used here: " + says):
        compile_with(failing(error), monkeypatch)


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (ValueError("no such kernel\nand a long story"), "ValueError: no such kernel"),
        (ValueError(), "ValueError: no reason was given"),
        (
            CppCompileError(["g++"], "a.cpp: In function f:\na.cpp:3:1: error: no x"),
            "CppCompileError: a.cpp:3:1: .*no x",
        ),
    ],
    ids=["of many lines", "of none", "of a C++ compiler"],
)
def test_a_model_that_cannot_be_compiled_says_why_in_one_line(
    error: Exception, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The back end's reason, not the pages around it."""
    with pytest.raises(NotCompiled, match=f"^torch.compile can't compile the model: {says}$"):
        compile_with(failing(error), monkeypatch)


@pytest.mark.usefixtures("eager")
def test_a_model_that_fails_while_it_is_traced_says_of_what() -> None:
    """What the operation raised, which stands in the middle of torch's message."""

    def call() -> None:
        with compiling.fresh_compiler():
            compiling.compiled(nn.Linear(4, 3))(torch.ones(2, 5))

    with pytest.raises(
        NotCompiled, match=r"TorchRuntimeError: RuntimeError\('a and b must have same reduction dim.*'\)$"
    ):
        call()


def test_memory_that_runs_out_stays_what_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """A case without enough memory is out of memory, compiled or not."""
    with pytest.raises(torch.OutOfMemoryError, match=r"^CUDA out of memory$"):
        compile_with(failing(torch.OutOfMemoryError("CUDA out of memory")), monkeypatch)


def warning(module: str) -> Backend:
    def backend(graph: torch.fx.GraphModule, _inputs: list[Any]) -> Callable[..., Any]:
        warnings.warn_explicit("TensorFloat32 is not enabled", UserWarning, "compile_fx.py", 1, module)
        return graph.forward

    return backend


def test_what_the_compiler_warns_of_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Here warnings are errors. Inductor's of an fp32 case on a GPU would fail the case; it is shown instead."""
    with pytest.warns(UserWarning, match="TensorFloat32 is not enabled"):
        compile_with(warning("torch._inductor.compile_fx"), monkeypatch)
    with pytest.raises(NotCompiled, match="UserWarning: TensorFloat32 is not enabled"):
        compile_with(warning("somebody.elses"), monkeypatch)


@pytest.mark.usefixtures("eager")
def test_the_compilers_trace_stays_out_of_captured_logs(caplog: pytest.LogCaptureFixture) -> None:
    """Thousands of lines otherwise, under every test that fails. What captures is as before afterwards."""
    trace = logging.getLogger("torch.__trace")
    trace.addHandler(caplog.handler)
    try:
        with compiling.fresh_compiler():
            compiling.compiled(nn.Linear(4, 3))(torch.ones(2, 4))
        assert not [record for record in caplog.records if record.name == "torch.__trace"]
        assert caplog.handler in trace.handlers
    finally:
        trace.removeHandler(caplog.handler)


def test_recurrent_layers_that_stay_eager_are_named() -> None:
    """Unless torch is told to compile them too; of other models there is nothing to say."""
    from torch._dynamo import config

    model = nn.Sequential(nn.LSTM(4, 4), nn.GRU(4, 4))
    with config.patch(allow_rnn=False):
        assert left_out(model) == "torch.compile leaves GRU and LSTM eager unless torch._dynamo.config.allow_rnn is set"
        assert left_out(nn.Linear(4, 4)) is None
    with config.patch(allow_rnn=True):
        assert left_out(model) is None

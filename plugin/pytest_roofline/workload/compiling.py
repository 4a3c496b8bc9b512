"""``torch.compile`` for a case: a compiler in a fresh state, what it made so far, and why it can't be had.

torch's counters are read and never written: what a step made is the difference of two readings.
"""

from __future__ import annotations

import logging
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn

from pytest_roofline.device.device_memory import is_out_of_memory

if TYPE_CHECKING:
    from torch import nn

_SWITCHES = ("TORCH_COMPILE_DISABLE", "TORCHDYNAMO_DISABLE")

_INSTALL = {
    "InvalidCxxCompiler": "install a C++ compiler such as g++, or name one in CXX",
    "TritonMissing": "install triton, in the version that this torch names",
    "TritonUnavailableError": "install a triton for this device",
    "GPUTooOldForTriton": "leave torch.compile out on this device",
}
"""torch's exceptions for a machine that can't compile, by the class's name, which outlives their place in torch."""


class CompilerMissing(RuntimeError):
    """This machine can't compile. The message says what is missing and what to install."""


class NotCompiled(RuntimeError):
    """The step can't be compiled, or must not be. The message says why."""


class LeftEager(RuntimeError):
    """torch's compiler leaves the model alone, and says so beforehand. The message says what of it, and what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Graphs:
    """What torch's compiler has made in this process, or between two moments.

    :param made: graphs captured.
    :param code: graphs, forward and backward apart, that inductor has code for; 0 for other back ends.
    :param cached: those of them whose code was found in a cache, of this process or an earlier one.
    :param breaks: why capturing was interrupted -> how often. Each leaves a piece of Python between two graphs.
    """

    made: int = 0
    code: int = 0
    cached: int = 0
    breaks: Mapping[str, int] = field(default_factory=dict)

    def since(self, earlier: Graphs) -> Graphs:
        """Count what was made after ``earlier``."""
        return Graphs(
            made=self.made - earlier.made,
            code=self.code - earlier.code,
            cached=self.cached - earlier.cached,
            breaks={
                reason: more for reason, count in self.breaks.items() if (more := count - earlier.breaks.get(reason, 0))
            },
        )


def graphs_so_far() -> Graphs:
    """Count what was made in this process; nothing where the compiler was never loaded."""
    dynamo = sys.modules.get("torch._dynamo.utils")
    if dynamo is None:
        return Graphs()
    inductor = dynamo.counters["inductor"]
    cached = inductor["fxgraph_cache_hit"]
    return Graphs(
        made=dynamo.counters["stats"]["unique_graphs"],
        code=cached + inductor["fxgraph_cache_miss"] + inductor["fxgraph_cache_bypass"],
        cached=cached,
        breaks=dict(dynamo.counters["graph_break"]),
    )


def switched_off(environment: Mapping[str, str] = os.environ) -> str | None:
    """The variable by which the environment turns ``torch.compile`` into nothing, with its value, or None."""
    return next((f"{name}=1" for name in _SWITCHES if environment.get(name) == "1"), None)


def compiled(model: nn.Module) -> Callable[..., Any]:
    """The model as ``torch.compile`` gives it: compiled when it is first called, for inputs like those of that call.

    :raises NotCompiled: the environment switches compiling off.
    :raises CompilerMissing: this Python or platform has no ``torch.compile``.
    """
    import torch

    switch = switched_off()
    if switch is not None:
        raise NotCompiled(f"torch.compile is switched off by {switch} in the environment: unset that, or don't compile")
    try:
        return torch.compile(model)
    except RuntimeError as error:
        raise CompilerMissing(f"torch.compile can't be used here: {_first_line(error)}") from error


def left_out(model: nn.Module) -> str | None:
    """Say what of the model torch's compiler doesn't look into; None where there is nothing it names.

    The switch stays as it is, off in every torch so far. Set on torch 2.11 and 2.14, on a CPU: an LSTM's training ends
    in a TypeError of the generated code, and a GRU is unrolled in time, 20 time steps of two layers compile for a
    minute and a half.
    """
    from torch import nn
    from torch._dynamo import config

    recurrent = {type(module).__name__ for module in model.modules() if isinstance(module, nn.RNNBase)}
    if not recurrent or getattr(config, "allow_rnn", True):
        return None
    return f"torch.compile leaves {' and '.join(sorted(recurrent))} eager unless torch._dynamo.config.allow_rnn is set"


def refuse_eager(made: Graphs, left_out: str | None) -> None:
    """To be called once steps were taken: measured, the row could only be disproved.

    :param made: in these steps.
    :raises LeftEager: nothing was, and what the compiler leaves out tells why.
    """
    if left_out is not None and not made.made:
        raise LeftEager(f"{left_out}, and made no graph of the rest of the model: measure it without torch.compile")


@contextmanager
def fresh_compiler() -> Iterator[None]:
    """Compile as in a new process, and let go of everything compiled at the end.

    torch compiles one piece of code for at most 8 kinds of input and runs it eagerly from then on, without an error.
    Cases that share a model's class would reach that limit together, so each starts anew; and one that reaches it
    alone is no compiled step any more, so it is an error here. What torch warns of is shown, and isn't an error even
    where warnings are: raised inside the compiler, which is spread all over torch, it would be a failure to compile.

    :raises CompilerMissing: there is no C++ compiler, or no triton.
    :raises NotCompiled: the model can't be compiled, or has more kinds of inputs than torch compiles it for.
    """
    import torch
    from torch._dynamo import config
    from torch._dynamo.exc import FailOnRecompileLimitHit, TorchDynamoException

    torch.compiler.reset()
    try:
        with warnings.catch_warnings(), _untraced(), config.patch(fail_on_recompile_limit_hit=True):
            warnings.filterwarnings("default", module=r"torch\b")
            yield
    except FailOnRecompileLimitHit as error:
        raise NotCompiled(
            f"the step has more kinds of inputs than the {config.recompile_limit} that torch compiles it for: it would "
            "go on eagerly. Keep the shapes of the batches the same"
        ) from error
    except TorchDynamoException as error:
        _raise_in_one_line(error)
    finally:
        torch.compiler.reset()


@contextmanager
def _untraced() -> Iterator[None]:
    """Keep the compiler's trace from handlers that others put on its logger.

    It is meant for the files of TORCH_TRACE, and torch writes it whenever its logger has a handler. pytest puts one on
    every logger that doesn't propagate: thousands of lines under a test that fails.
    """
    trace = logging.getLogger("torch.__trace")
    others = [handler for handler in trace.handlers if not type(handler).__module__.startswith("torch.")]
    for handler in others:
        trace.removeHandler(handler)
    try:
        yield
    finally:
        for handler in others:
            trace.addHandler(handler)


def _raise_in_one_line(error: Exception) -> NoReturn:
    """Raise what the compiler's error comes to: something missing here, memory, or the model."""
    inner = getattr(error, "inner_exception", error)
    if is_out_of_memory(inner):
        raise inner
    install = _INSTALL.get(type(inner).__name__)
    if install is not None:
        raise CompilerMissing(f"torch.compile can't be used here: {_first_line(inner)}; {install}") from error
    raise NotCompiled(f"torch.compile can't compile the model: {type(inner).__name__}: {_first_line(inner)}") from error


def _first_line(error: BaseException) -> str:
    """Find what went wrong in a message of many lines: what a C++ compiler calls the error, what an operation raised
    while it was traced, else the first.
    """
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    of_compiler = [line for line in lines if " error: " in line]
    of_operation = [match[1] for line in lines if (match := re.search(r"\bgot (\w+\(.*\))$", line))]
    return next(iter(of_compiler + of_operation + lines), "no reason was given")

"""Define what a measured benchmark carries in its JSON: the one contract between measuring and analysing.

``extra_info["roofline"]`` of each benchmark holds a `Record`; `roofline.schema.session` has what belongs to its file.
`roofline.schema.record_json` alone writes and reads them.

Units are SI base units and stand in the name (``_s``, ``_byte``, ``_flop``, ``_hz``, ``_w``); 1 MAC is 2 FLOP. A value
that could not be had is ``None``, and ``missing`` of the record tells why under the value's dotted path
(``"timing.device_s"``). Readers ignore keys they don't know.

Format history
--------------
1   first version. ``Timing.step_time_s`` is the mean of all rounds, ``step_time_sd_s`` their standard deviation,
    ``margin`` that of the mean. Readers work today's figures out from the rounds.
2   ``step_time_s`` is the median of the undisturbed rounds, ``step_time_sd_s`` and ``margin`` are of the same rounds.
    No field was added or removed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import msgspec

from roofline.schema.expected import Expected

SCHEMA = 2
"""Version written into every record; a reader refuses a larger one."""

KEY = "roofline"
"""The key under which the three parts stand in a pytest-benchmark file."""

LARGEST_WHOLE = 2**63 - 1
"""No count, size or time of a step is larger; what is would overflow where numbers are drawn or divided."""

Whole = Annotated[int, msgspec.Meta(ge=-LARGEST_WHOLE, le=LARGEST_WHOLE)]
"""A whole number as a reader takes it."""

Mode = Literal["train", "infer", "roof", "input"]
CheckStatus = Literal["passed", "failed", "not_made"]
StopReason = Literal["margin", "budget", "fixed", "input_ended"]
Strategy = Literal["ddp", "fsdp"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What was run, in plain values.

    ``workload_hash`` covers everything that changes the work: two cases of one ``id`` with different hashes are
    different workloads. ``config`` holds the rest of what went into it (input shape, optimiser, gradient accumulation,
    data loader, seed), as JSON values.
    """

    id: str
    workload_hash: str
    model: str
    mode: Mode
    precision: str
    batch: Whole
    samples_per_step: Whole
    sample_unit: str = "sample"
    layout: str | None = "contiguous"
    """Of weights and inputs: ``contiguous`` or ``channels_last``; None where they differ."""
    data: str = "synthetic"
    config: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """The device the case ran on. ``kind``: ``cpu``, ``cuda`` or ``mps``; ``index`` is None where there is only one."""

    kind: str
    name: str
    index: Whole | None = None
    memory_byte: Whole | None = None
    last_level_cache_byte: Whole | None = None
    compute_capability: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One claim and whether it was proven. ``evidence`` says what was seen, or why nothing could be."""

    name: str
    status: CheckStatus
    evidence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Flag:
    """Something a reader of the number must know. An ``invalid`` flag keeps the row out of roofline and gates.

    Those that the measuring side writes (`roofline.model.point_flags` finds others):

    - ``margin``: the margin that was asked for was not reached.
    - ``disturbed``: rounds that something disturbed from outside; the step time is without them, where others are left.
    - ``unsteady``: the step time still changed when the warm-up had to end.
    - ``uneven_steps``: steps of different products: FLOPs and bytes are of one, the time is of all.
    - ``throttled``, ``power_capped``: heat, a CPU quota or the power limit held the clocks down.
    - ``spilled``: the device's memory was full, and the driver went on in the host's.
    - ``denormals``: many values are denormal numbers, with which a CPU is slow.
    - ``shared_host``: other workers of pytest-xdist measured on this host meanwhile.
    - ``bound_threads``: torch's import left the main thread on fewer CPUs.
    - ``profiled``, ``measured_under_profiler``, ``measured_under_mode`` (invalid): something was around the process or
      the steps that lengthens them.
    - ``test_failed``, ``test_skipped`` (invalid): the test measured, but did not pass.
    """

    name: str
    evidence: str
    invalid: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Rounds:
    """Per-round series, all of one length. ``steps`` is the number of steps in each round.

    A whole series is None where the platform has no such reading. ``disturbed`` names what disturbed the round from
    outside, or is None for a quiet one.
    """

    steps: Whole
    wall_s: tuple[float, ...]
    device_s: tuple[float, ...] | None = None
    process_cpu_s: tuple[float, ...] | None = None
    input_wait_s: tuple[float, ...] | None = None
    involuntary_switches: tuple[Whole, ...] | None = None
    steal_s: tuple[float, ...] | None = None
    sm_clock_hz: tuple[float, ...] | None = None
    memory_clock_hz: tuple[float, ...] | None = None
    power_w: tuple[float, ...] | None = None
    temperature_c: tuple[float, ...] | None = None
    device_memory_byte: tuple[Whole, ...] | None = None
    """In use on the device, by all programs."""
    throttle: tuple[str | None, ...] | None = None
    """Why the device's clocks were held down right after the round, in NVML's words; None where they weren't."""
    power_held_s: tuple[float, ...] | None = None
    """For how long the power limit held the clocks below those that programs ask for, by NVML's counter of it."""
    heat_held_s: tuple[float, ...] | None = None
    """The same of heat, which not every device counts: 0 doesn't say that there was none."""
    disturbed: tuple[str | None, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Latency:
    """Single synchronised steps (inference only)."""

    steps: Whole
    median_s: float
    p95_s: float
    p99_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """The measured step time and how it came about.

    ``step_time_s`` is the median of the undisturbed rounds (see `roofline.timing.step_time`), ``step_time_sd_s`` the
    standard deviation of the same rounds (or of the repeats' step times where ``repeat_step_time_s`` has more than
    one). ``margin`` is the half width of the confidence interval of the median *reached*, relative to it; None where
    the rounds don't support any claim.
    """

    protocol: str
    step_time_s: float
    step_time_sd_s: float | None
    rounds: Rounds
    warmup_steps: Whole
    warmup_s: float
    warmup_settled: bool | None
    confidence: float
    margin_target: float | None
    margin: float | None
    stop_reason: StopReason
    autocorrelation_rounds: float | None = None
    repeat_step_time_s: tuple[float, ...] = ()
    sync_cost_s: float | None = None
    input_wait_s: float | None = None
    """Mean time per step spent waiting for the next batch, over all rounds."""
    input_startup_s: float | None = None
    """Time the data loader took to start its workers and deliver its first batch; not part of any step."""
    compile_s: float | None = None
    compiled_from_cache: Whole | None = None
    """Parts of the graphs, forward and backward apart, whose code torch found in a cache instead of compiling it."""
    latency: Latency | None = None

    @property
    def measured_steps(self) -> int:
        """Of all rounds."""
        return self.rounds.steps * len(self.rounds.wall_s)

    @property
    def elapsed_s(self) -> float:
        """Of all rounds."""
        return sum(self.rounds.wall_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class Uncovered:
    """An operation that does arithmetic and has no formula. Its FLOPs are not in the totals.

    ``time_s`` is the time of all its calls in one step, from the profiler's pass (see `Profile`).
    """

    name: str
    calls: Whole
    time_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """Work of one step.

    FLOPs are those of matrix products and convolutions, by the dtype they were computed in (``fp32``, ``tf32``,
    ``bf16``, ``fp16``, ``fp64``); ``other_flop_per_step`` is everything else. ``byte_low_per_step`` and
    ``byte_high_per_step`` bound the memory traffic of one step.
    """

    flop_per_step: float
    flop_by_dtype: dict[str, float]
    byte_low_per_step: float
    byte_high_per_step: float
    parameter_count: Whole | None = None
    parameter_byte: Whole | None = None
    gradient_byte: Whole | None = None
    optimizer_state_byte: Whole | None = None
    activation_byte: Whole | None = None
    saved_for_backward_byte: Whole | None = None
    other_flop_per_step: float | None = None
    uncovered: tuple[Uncovered, ...] = ()

    @property
    def dtypes(self) -> set[str]:
        """Types that its products are computed in."""
        return {dtype for dtype, flop in self.flop_by_dtype.items() if flop > 0}


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """All calls in one step of one operation on one set of shapes.

    ``flop`` and ``byte`` are of all ``calls`` together: ``byte`` is what they read and write if nothing stays in a
    cache. ``working_set_byte`` is what a single call touches. ``dtype`` is what it computed in. ``winograd`` marks a
    3x3 convolution that may run with 1/2.25 of the multiplications. ``time_s`` is the time of all calls in one step,
    from the profiler's pass (see `Profile`).
    """

    name: str
    kind: str
    dtype: str
    shape: str
    calls: Whole
    flop: float
    byte: float
    working_set_byte: float
    winograd: bool = False
    time_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OutsideTime:
    """What the profiler saw run outside of all counted operations. ``calls`` and ``time_s`` are of one step."""

    name: str
    calls: float
    time_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelTime:
    """All launches in one step of one kernel, copy or fill. Its numbers are medians over the profiler's steps."""

    name: str
    launches: float
    time_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """Steps taken under torch's profiler, in a pass of its own: nothing is timed under it but this.

    ``source`` says whose time it is: of ``operators`` on the host, or of ``kernels`` on the device. All times are of
    one step, each the median over ``steps``: ``step_s`` of its wall time, ``operations_s`` of all counted operations
    together (the sum of `Operation.time_s`). ``outside`` is what belongs to none of them, such as the fused kernels of
    a compiled step, longest first.
    """

    source: Literal["operators", "kernels"]
    steps: Whole
    step_s: float
    operations_s: float
    outside: tuple[OutsideTime, ...] = ()
    device_busy_s: float | None = None
    """Time in which at least one kernel, copy or fill ran on the device; the rest of ``step_s`` are gaps."""
    longest_gap_s: float | None = None
    """The longest time between two kernels in which the device had nothing to do."""
    kernels: tuple[KernelTime, ...] = ()
    """Longest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelCounters:
    """All launches in one step of one kernel, by hardware counters. ``time_s`` is under the profiler: never a timing.

    ``flop_by_pipe`` has what ran on the CUDA cores by dtype (``fp32``, ``fp64``, ``fp16``) and on the tensor cores by
    source type (``tensor_bf16``, ``tensor_tf32``, ...). ``flop_lacks`` says why those are not all of the kernel's
    FLOPs; None where they are, and where there are none.
    """

    name: str
    launches: Whole
    time_s: float | None = None
    flop_by_pipe: dict[str, float] | None = None
    dram_byte: float | None = None
    l2_byte: float | None = None
    l1_byte: float | None = None
    flop_lacks: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Counters:
    """Hardware counters of one step.

    ``status``: ``ok``, ``not_requested``, ``permission_denied``, ``unsupported_platform``, ``not_found``,
    ``no_kernels``, ``missing_metric``, ``timeout``, ``lock_conflict`` or ``failed``; but for ``ok`` all counters are
    None (``missing_metric``: those that lack one), and ``reason`` says why. All values are sums over the step's
    kernels, never sums or means of rates.
    """

    status: str
    source: str | None = None
    """The program that read them, with its version."""
    reason: str | None = None
    flop: float | None = None
    dram_byte: float | None = None
    dram_read_byte: float | None = None
    dram_write_byte: float | None = None
    l2_byte: float | None = None
    l1_byte: float | None = None
    time_s: float | None = None
    """Of all kernels, under the profiler: never a timing."""
    flop_by_pipe: dict[str, float] | None = None
    """As in `KernelCounters`."""
    kernels: tuple[KernelCounters, ...] = ()
    metrics: dict[str, str] = field(default_factory=dict)
    """Which metric answered, by quantity (``dram_read_byte``: ``dram__bytes_read.sum``)."""
    passes: Whole | None = None
    """How often each kernel was replayed at most in the run that counted bytes."""
    flop_passes: Whole | None = None
    """The same of the run that counted FLOPs."""
    unit_check: float | None = None
    """FLOPs counted of a matrix product of known size, over 2 M N K."""
    context_byte: Whole | None = None
    """Device memory that the measuring process still held while the counted one ran."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostCounters:
    """Events of one step on the host's cores, by ``perf stat``. ``status`` and ``reason`` are as in `Counters`."""

    status: str
    source: str | None = None
    reason: str | None = None
    steps: Whole | None = None
    cycles: float | None = None
    instructions: float | None = None
    cache_references: float | None = None
    cache_misses: float | None = None
    branches: float | None = None
    branch_misses: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """Device memory during the timed rounds, as the framework's allocator reports it.

    ``peak_predicted_byte`` is the most that the step's tensors take at once, worked out from when each is made and let
    go; ``peak_allocated_byte`` is the same quantity measured, with the scratch memory of kernels on top.
    """

    peak_predicted_byte: Whole | None = None
    peak_allocated_byte: Whole | None = None
    peak_reserved_byte: Whole | None = None
    device_total_byte: Whole | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """What ``/usr/bin/time -v`` would say of the case: from before warm-up to after the last timed step.

    ``max_rss_byte`` is the largest resident size in that time; None where only the whole process's is known, and that
    is from before.
    """

    real_s: float | None = None
    user_s: float
    system_s: float
    max_rss_byte: Whole | None
    voluntary_switches: Whole | None
    involuntary_switches: Whole | None
    throttled_s: float | None = None
    """Time for which the cgroup's CPU quota held its threads back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rank:
    """One of the processes that measured a case together. ``node`` counts their machines from 0, ``label`` is what this
    one is called. ``own_s`` is the part of a step, under the profiler, in which it didn't only wait for messages.
    """

    node: Whole
    label: str
    own_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Parallel:
    """Processes that measured a case together, each on a device of its own.

    ``case.samples_per_step`` counts the samples of all of them, and a round ends with the slowest. Work, memory and the
    other readings are of rank 0. ``strategy`` is how they share a training; None where each has a model of its own.
    """

    ranks: Whole
    nodes: Whole
    backend: str
    """What carries their messages: ``gloo`` or ``nccl``."""
    strategy: Strategy | None = None
    message_byte_per_step: Whole | None = None
    """What a rank's collectives move in a step, the larger side of each."""
    communication_s: float | None = None
    """Of a step, under the profiler: messages were under way and nothing else ran; of the rank that waited least."""
    by_rank: tuple[Rank, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """Everything known of one benchmark. See the classes of its fields."""

    schema: Whole = SCHEMA
    case: Case
    device: Device
    checks: tuple[Check, ...] = ()
    timing: Timing | None = None
    work: Work | None = None
    operations: tuple[Operation, ...] = ()
    profile: Profile | None = None
    counters: Counters | None = None
    host_counters: HostCounters | None = None
    memory: Memory | None = None
    process: Process | None = None
    parallel: Parallel | None = None
    """None where one process measured by itself."""
    energy_j_per_step: float | None = None
    flags: tuple[Flag, ...] = ()
    missing: dict[str, str] = field(default_factory=dict)
    expected: tuple[Expected, ...] = ()
    """What the test's own markers expect of the case on this device."""

    @property
    def own_samples_per_step(self) -> int:
        """Samples of one process's step, as its work is."""
        return self.case.samples_per_step // (1 if self.parallel is None else self.parallel.ranks)

    @property
    def valid(self) -> bool:
        """Tell whether the row may stand on a roofline or in a gate: no flag makes it invalid, and no check failed."""
        return not any(flag.invalid for flag in self.flags) and all(check.status != "failed" for check in self.checks)

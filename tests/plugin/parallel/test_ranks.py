"""What is one of several ranks' readings: the slowest, the worst, and what nobody else has."""

from __future__ import annotations

from dataclasses import replace

import torch

from pytest_roofline.parallel import links
from pytest_roofline.parallel.ranks import Ranks, _Own, checks_of_all, flags_of_all, together
from pytest_roofline.parallel.torchrun import Place, place, several
from roofline.schema.record import Check, Flag
from tests.plugin.measuring.fakes import a_round

TORCHRUN = {
    "TORCHELASTIC_RUN_ID": "none",
    "RANK": "3",
    "WORLD_SIZE": "4",
    "LOCAL_RANK": "1",
    "GROUP_RANK": "1",
    "GROUP_WORLD_SIZE": "2",
}


def test_torchrun_says_which_process_this_is() -> None:
    """Variables of these names that something else set say nothing; one process by itself is as without torchrun."""
    assert place(TORCHRUN) == several(TORCHRUN) == Place(rank=3, ranks=4, local_rank=1, node=1, nodes=2)
    assert place({**TORCHRUN, "RANK": "", "WORLD_SIZE": "x"}) is None
    assert place({name: value for name, value in TORCHRUN.items() if name != "TORCHELASTIC_RUN_ID"}) is None
    alone = {**TORCHRUN, "RANK": "0", "WORLD_SIZE": "1"}
    assert (place(alone) is None, several(alone)) == (False, None)


def test_a_link_carries_what_an_all_reduce_sends_over_it() -> None:
    """Of 4 ranks each sends 3 quarters of the message to be summed, and 3 quarters of the sums."""
    ranks = object.__new__(Ranks)
    ranks.count, ranks.backend, ranks.place = 4, "gloo", Place(rank=3, ranks=4, local_rank=1, node=1, nodes=2)
    plan = links.plan("all_reduce-1MiB", torch.device("cpu"), ranks)
    assert (plan.name, plan.candidates[0].amount) == ("all_reduce-1MiB-r4-n2", 1.5 * 2**20)


def test_a_round_ends_with_the_slowest_rank() -> None:
    """What disturbed one of them disturbed all; the rest is rank 0's."""
    slow = _Own(a_round(0.3, switches=9, steal_s=0.1, hz=1e9), node=1, cpus=frozenset({0}))
    first = _Own(a_round(0.1, hz=2e9), node=0, cpus=frozenset({0}))
    found = together([first, slow])
    assert (found.wall_s, found.involuntary_switches, found.steal_s) == (0.3, 9, 0.1)
    assert found.device.sm_clock_hz == 2e9


def test_ranks_on_the_same_cpus_do_not_disturb_each_other() -> None:
    """Each sees the other as another program there, and not on CPUs or a machine of its own."""
    busy = replace(a_round(others_cpu_s=0.09), process_cpu_s=0.08)
    beside = [_Own(busy, node=0, cpus=frozenset({0, 1})), _Own(busy, node=0, cpus=frozenset({1}))]
    assert together(beside).others_cpu_s == 0.09 - 0.08
    for other in (_Own(busy, node=0, cpus=frozenset({2})), _Own(busy, node=1, cpus=frozenset({1}))):
        assert together([beside[0], other]).others_cpu_s == 0.09


def test_a_claim_holds_where_it_holds_on_every_rank() -> None:
    """The rank on which it doesn't is named."""
    good = Check(name="device", status="passed", evidence="all on cuda:0")
    bad = Check(name="device", status="failed", evidence="asked for cuda:1, but parameters on cpu")
    assert checks_of_all([[good], [good]]) == (good,)
    assert checks_of_all([[good], [bad]]) == (replace(bad, evidence=f"rank 1: {bad.evidence}"),)


def test_flags_of_other_ranks_are_told_once() -> None:
    """Rank 0's stand as they are."""
    own, other = (Flag(name=name, evidence="why") for name in ("disturbed", "throttled"))
    assert flags_of_all([[own], [own, other], [other]]) == (own, replace(other, evidence="rank 1: why"))

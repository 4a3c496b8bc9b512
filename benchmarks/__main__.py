"""Measure the suite itself: ``python -m benchmarks [NAME ...] [--quick]``.

Prints a table per benchmark and writes ``benchmarks/results/NAME.json``. Exit status 1: a figure misses its bound.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence

from benchmarks import (
    compare_speed,
    compile_time,
    figures,
    gate_learned,
    gate_live,
    gate_stored,
    gate_turns,
    history_rates,
    kills,
    latency_scatter,
    margin_coverage,
    overhead,
    protocol_time,
    report_speed,
    startup,
    store_scale,
    two_workers,
)

BENCHMARKS: dict[str, Callable[..., tuple[figures.Figure, ...]]] = {
    "overhead": overhead.run,
    "protocol": protocol_time.run,
    "startup": startup.run,
    "margin": margin_coverage.run,
    "gate": gate_stored.run,
    "learned": gate_learned.run,
    "turns": gate_turns.run,
    "live": gate_live.run,
    "compare": compare_speed.run,
    "compile": compile_time.run,
    "latency": latency_scatter.run,
    "history": history_rates.run,
    "report": report_speed.run,
    "kills": kills.run,
    "journal": kills.journal,
    "workers": two_workers.run,
    "store": store_scale.run,
}


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure the suite itself.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(BENCHMARKS)}; none means all")
    parser.add_argument("--quick", action="store_true", help="a few repetitions, to see that it runs; stores nothing")
    options = parser.parse_args(arguments)
    unknown = sorted(set(options.names) - set(BENCHMARKS))
    if unknown:
        parser.error(f"unknown benchmark {', '.join(unknown)}; there are {', '.join(BENCHMARKS)}")
    reached = True
    for name in options.names or BENCHMARKS:
        result = BENCHMARKS[name](quick=options.quick)
        if not result:
            parser.error(f"{name}: nothing to judge. The module's first lines say how to record it")
        figures.show(name, result)
        reached &= all(figure.reached for figure in result)
        if not options.quick:
            print(figures.store(name, result, _machine()))
    return 0 if reached or options.quick else 1


def _machine() -> dict[str, object]:
    import torch

    from pytest_roofline.device.host import describe_machine
    from roofline.schema.record_json import to_json

    return to_json(describe_machine(torch.device("cpu"), None))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

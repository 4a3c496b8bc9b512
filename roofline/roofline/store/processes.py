"""Work on many parts of a store, in as many processes as there are cores."""

from __future__ import annotations

import gc
import multiprocessing
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from itertools import chain, islice
from typing import TypeVar

Item = TypeVar("Item")
Made = TypeVar("Made")


def in_processes(work: Callable[[Item], Made], items: Iterable[Item]) -> Iterator[Made]:
    """Yield what ``work`` makes of each item, as they get done. This process works, too; of a single item it alone.

    An item for each process, and one that waits for each of the others, are in memory.

    :param work: can be sent to another process, as what it takes and makes can.
    """
    rest = iter(items)
    first = list(islice(rest, 2))
    others = _cores() - 1
    if len(first) < 2 or not others:
        yield from map(work, chain(first, rest))
        return
    # A process that is forked could inherit a lock of one of pyarrow's threads.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(others, context, initializer=_prepare) as pool:
        running: deque[Future[Made]] = deque()
        most = others  # none waits for processes that still have to start
        for item in chain(first, rest):
            while running and running[0].done():
                yield running.popleft().result()
                most = 2 * others
            if len(running) < most:
                running.append(pool.submit(work, item))
            else:
                yield work(item)
        for future in running:
            yield future.result()


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _prepare() -> None:
    # As the program does: none of the many small objects is garbage.
    gc.set_threshold(1_000_000)

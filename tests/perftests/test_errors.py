"""Every wrong flag ends the run with exit code 4 before anything is measured: what, from where, and what is allowed."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests import forked

_RUN = """
import contextlib, io, json
from pathlib import Path
import pytest
here = Path(__file__).parent
answers = []
for arguments in json.loads((here / "asked.json").read_text()):
    text = io.StringIO()
    with contextlib.redirect_stdout(text), contextlib.redirect_stderr(text):
        code = pytest.main(["-p", "no:cacheprovider", "perftests", *arguments])
    answers.append([int(code), text.getvalue()])
(here / "answers.json").write_text(json.dumps(answers))
"""


@dataclass(frozen=True)
class Wrong:
    """A command line and what its error must say."""

    name: str
    arguments: tuple[str, ...]
    says: tuple[str, ...]


def wrong(name: str, arguments: str, *says: str) -> Wrong:
    return Wrong(name, tuple(arguments.split()), says)


CASES = [
    wrong("model", "--device cpu --model resnet51", "--model: unknown model 'resnet51'", "near matches: resnet50"),
    wrong("batch 0", "--device cpu --batch 0", "--batch: '0' is not allowed: use a whole number from 1"),
    wrong("empty axis", "--device cpu --batch ,", "--batch: no batch given, so no case is left"),
    wrong("precision", "--device cpu --precision fp31", "--precision: 'fp31' is not allowed", "amp_bf16"),
    wrong("mode", "--device cpu --mode test", "--mode: 'test' is not allowed: use train or infer"),
    wrong("two layouts", "--device cpu --channels-last --layout contiguous", "--channels-last", "--layout"),
    wrong("tier", "--device cpu --matrix smok", "--matrix", "smok", "smoke"),
    wrong("data", "--device cpu --data imagenet", "--data: 'imagenet' is not allowed", "imagefolder:PATH"),
    wrong("no folder", "--device cpu --data imagefolder:nowhere", "--data", "nowhere"),
    wrong("empty folder", "--device cpu --data imagefolder:{images}/empty", "--data: ", "empty"),
    wrong("few images", "--device cpu --batch 7 --data imagefolder:{images}/few", "--data: 6 images < batch 7"),
    wrong("workers", "--device cpu --workers -1", "--workers: '-1' is not allowed: use a whole number from 0 to 1024"),
    wrong("prefetch", "--device cpu --prefetch-factor 1025", "--prefetch-factor: '1025' is not allowed", "to 1024"),
    wrong("no home", "--device cpu --data imagefolder:~nosuchuser/x", "--data: imagefolder:~nosuchuser/x: no such"),
    wrong("long path", f"--device cpu --data imagefolder:{'x' * 5000}", "--data", "File name too long"),
    wrong("protocol", "--device cpu --protocol fast", "--protocol: 'fast' is not allowed", "adaptive, window or steps"),
    wrong("margin", "--device cpu --margin 2", "--margin: '2' is not allowed: use a number above 0 and below 1"),
    wrong("budget", "--device cpu --max-time nan", "--max-time: 'nan' is not allowed: use a number above 0"),
    wrong("device", "--device gpu", "--device: 'gpu' is not allowed: use auto, cpu, cuda, cuda:N or mps"),
    wrong(
        "nothing left",
        "--device cpu -m mps",
        "no case is left to measure",
        "the device cpu",
        "-m 'mps'",
        "with --device;",
    ),
    wrong(
        "nothing left by name",
        "--device cpu -k nothing --benchmark-json {images}/x.json",
        "no case is left to measure",
        "-k 'nothing'",
    ),
    wrong("disabled", "--device cpu --benchmark-disable", "--benchmark-disable: nothing would be measured"),
    wrong("skipped", "--device cpu --benchmark-skip", "--benchmark-skip: nothing would be measured"),
    wrong("no cuda", "-m cuda --device cuda", "--device cuda: "),
]


def answers(results: Path, images: Path) -> dict[str, tuple[int, str]]:
    """Exit code and output of every command line, run one after the other in one child process: torch starts once."""
    (images / "empty").mkdir()
    (images / "few" / "a").mkdir(parents=True)
    for number in range(6):
        (images / "few" / "a" / f"{number}.jpg").touch()
    asked = json.dumps(
        [
            [*(argument.format(images=images) for argument in case.arguments), "--results", str(results)]
            for case in CASES
        ]
    )
    (images / "asked.json").write_text(asked)
    (images / "ask_all.py").write_text(_RUN)
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": "", "COLUMNS": "200", "PYTHONPATH": str(images)}
    child = forked.run("ask_all", [], forked.ROOT, environment)
    assert child.returncode == 0, child.stderr
    assert not list(results.rglob("*.json")), "a run that measured nothing left a results file"
    answers = json.loads((images / "answers.json").read_text())
    return {case.name: (code, text) for case, (code, text) in zip(CASES, answers, strict=True)}


def test_a_wrong_flag_ends_with_exit_code_4_and_its_reason(tmp_path_factory: pytest.TempPathFactory) -> None:
    """No traceback, no green run, no results file. One test, for each worker of pytest-xdist would run them all."""
    found = answers(tmp_path_factory.mktemp("results"), tmp_path_factory.mktemp("images"))
    failed = {}
    for case in CASES:
        code, text = found[case.name]
        error = next((line for line in text.splitlines() if line.startswith("ERROR: ")), "")
        if code != 4 or "Traceback" in text or not all(part in error for part in case.says):
            failed[case.name] = (code, text)
    assert failed == {}

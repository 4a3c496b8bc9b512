"""Every wrong flag ends the run with exit code 4 before anything is measured: what, from where, and what is allowed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

_RUN = """
import contextlib, io, json, sys
import pytest
answers = []
for arguments in json.load(sys.stdin):
    text = io.StringIO()
    with contextlib.redirect_stdout(text), contextlib.redirect_stderr(text):
        code = pytest.main(["-p", "no:cacheprovider", "perftests", *arguments])
    answers.append([int(code), text.getvalue()])
print(json.dumps(answers))
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
    wrong("batch text", "--device cpu --batch 16,x", "--batch: 'x' is not allowed"),
    wrong("empty axis", "--device cpu --batch ,", "--batch: no batch given, so no case is left"),
    wrong("precision", "--device cpu --precision fp31", "--precision: 'fp31' is not allowed", "amp_bf16"),
    wrong("mode", "--device cpu --mode test", "--mode: 'test' is not allowed: use train or infer"),
    wrong("layout", "--device cpu --layout nhwc", "--layout: 'nhwc' is not allowed"),
    wrong("two layouts", "--device cpu --channels-last --layout contiguous", "--channels-last", "--layout"),
    wrong("tier", "--device cpu --matrix smok", "--matrix", "smok", "smoke"),
    wrong("data", "--device cpu --data imagenet", "--data: 'imagenet' is not allowed", "imagefolder:PATH"),
    wrong("no folder", "--device cpu --data imagefolder:nowhere", "--data", "nowhere"),
    wrong("empty folder", "--device cpu --data imagefolder:{images}/empty", "--data: ", "empty"),
    wrong("few images", "--device cpu --batch 7 --data imagefolder:{images}/few", "--data: 6 images < batch 7"),
    wrong("workers", "--device cpu --workers -1", "--workers: '-1' is not allowed: use a whole number from 0 to 1024"),
    wrong("many workers", "--device cpu --workers 100000", "--workers: '100000' is not allowed", "at most 1024"),
    wrong(
        "prefetch", "--device cpu --prefetch-factor 1025", "--prefetch-factor: '1025' is not allowed", "at most 1024"
    ),
    wrong(
        "no prefetch",
        "--device cpu --workers 1 --prefetch-factor 0",
        "--prefetch-factor: '0' is not allowed: use a whole number from 1 to 1024",
    ),
    wrong(
        "accumulation",
        "--device cpu --grad-accum-steps 4097",
        "--grad-accum-steps: '4097' is not allowed: too large: use at most 4096",
    ),
    wrong("no home", "--device cpu --data imagefolder:~nosuchuser/x", "--data", "~nosuchuser is no known home folder"),
    wrong("no matrix", "--device cpu --matrix ~nosuchuser/a.toml", "--matrix", "~nosuchuser is no known home folder"),
    wrong("circle", "--device cpu --data imagefolder:{images}/circle", "--data", "Too many levels of symbolic links"),
    wrong("long path", f"--device cpu --data imagefolder:{'x' * 5000}", "--data", "File name too long"),
    wrong("long batch", f"--device cpu --batch {'9' * 5000}", "--batch", "use a whole number from 1 to 1000000"),
    wrong("protocol", "--device cpu --protocol fast", "--protocol: 'fast' is not allowed", "adaptive, window or steps"),
    wrong("repeats", "--device cpu --repeats 0", "--repeats: '0' is not allowed: use a whole number from 1 to"),
    wrong("margin", "--device cpu --margin 2", "--margin: '2' is not allowed: use a number above 0 and below 1"),
    wrong("budget", "--device cpu --max-time nan", "--max-time: 'nan' is not allowed: use a number above 0"),
    wrong("long spelling", "--device cpu --roofline-batch 0", "--roofline-batch: '0' is not allowed"),
    wrong("device", "--device gpu", "--device: 'gpu' is not allowed: use auto, cpu, cuda, cuda:N or mps"),
    wrong(
        "nothing left",
        "--device cpu -m mps",
        "no case is left to measure",
        "the device cpu",
        "-m 'mps'",
        "with --device;",
    ),
    wrong("nothing left by name", "--device cpu -k nothing", "no case is left to measure", "-k 'nothing'"),
    wrong("disabled", "--device cpu --benchmark-disable", "--benchmark-disable: nothing would be measured"),
    wrong("skipped", "--device cpu --benchmark-skip", "--benchmark-skip: nothing would be measured"),
    wrong("parallel", "--device cpu -n 1", "-n: pytest-xdist runs tests beside each other"),
    wrong("no cuda", "-m cuda --device cuda", "--device cuda: "),
]


@pytest.fixture(scope="session")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[int, str]]:
    """Exit code and output of every command line, run one after the other in one child process: torch starts once."""
    results, images = tmp_path_factory.mktemp("results"), tmp_path_factory.mktemp("images")
    (images / "empty").mkdir()
    (images / "circle").symlink_to("circle")
    (images / "few" / "a").mkdir(parents=True)
    for number in range(6):
        (images / "few" / "a" / f"{number}.jpg").touch()
    asked = json.dumps(
        [
            [*(argument.format(images=images) for argument in case.arguments), "--results", str(results)]
            for case in CASES
        ]
    )
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": "", "COLUMNS": "200"}
    child = subprocess.run(
        [sys.executable, "-c", _RUN], input=asked, capture_output=True, text=True, cwd=ROOT, env=environment, check=True
    )
    assert not list(results.rglob("*.json")), "a run that measured nothing left a results file"
    answers = json.loads(child.stdout.splitlines()[-1])
    return {case.name: (code, text) for case, (code, text) in zip(CASES, answers, strict=True)}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_wrong_flag_ends_with_exit_code_4_and_its_reason(case: Wrong, answers: dict[str, tuple[int, str]]) -> None:
    """No traceback, no green run, no results file."""
    code, text = answers[case.name]
    assert code == 4, text
    assert "Traceback" not in text
    error = next(line for line in text.splitlines() if line.startswith("ERROR: "))
    for part in case.says:
        assert part in error

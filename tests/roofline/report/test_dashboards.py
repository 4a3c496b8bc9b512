"""JSON that dashboards take: exact values in their units."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from roofline.report.dashboards import dashboard_files
from roofline.schema.record import Flag, Record
from tests.roofline import build


def _files(path: Path, *records: Record | None) -> dict[str, object]:
    points = build.points(path, records)
    return {name: json.loads(text) for name, text in dashboard_files(points)}


def test_each_machine_has_a_file_of_each_form(tmp_path: Path) -> None:
    """Milliseconds and nanoseconds of a step, with what its margin leaves open. An invalid row is no measurement."""
    wrong = build.record(case=build.case(model="wrong"), flags=(Flag(name="on_cpu", evidence="", invalid=True),))
    found = _files(tmp_path / "a.json", build.record(), wrong)
    assert found == {
        "github-action-benchmark-epyc-2cpu.json": [
            {
                "name": "resnet50-train-b32-fp32",
                "unit": "ms",
                "value": 100.0,
                "range": "± 0.800",
                "extra": "samples/s: 320\n% of roof: 10-40\nbound: undetermined",
            }
        ],
        "bencher-epyc-2cpu.json": {
            "resnet50-train-b32-fp32": {
                "latency": {
                    "value": pytest.approx(1e8),
                    "lower_value": pytest.approx(0.992e8),
                    "upper_value": pytest.approx(1.008e8),
                },
                "throughput": {
                    "value": pytest.approx(320),
                    "lower_value": pytest.approx(317.44),
                    "upper_value": pytest.approx(322.56),
                },
            }
        },
    }


def test_a_plain_benchmark_has_its_full_name_and_its_time_alone(tmp_path: Path) -> None:
    """Two tests in two files may have one name, and a plain one claims no margin."""
    found = _files(tmp_path / "a.json", None)
    assert list(found.values()) == [
        [
            {
                "name": "perftests/test_models.py::test_0",
                "unit": "ms",
                "value": pytest.approx(100),
                "extra": "bound: undetermined",
            }
        ],
        {"perftests/test_models.py::test_0": {"latency": {"value": pytest.approx(1e8)}}},
    ]

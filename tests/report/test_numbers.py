"""Every number of the page is the record's own."""

from __future__ import annotations

import re
from pathlib import Path

import plotly.graph_objects
import pytest
from conftest import page_of
from made_records import Json, record
from pages import details, packed
from report_page import words
from report_page.record import why_absent


def marked(plot: Json) -> list[Json]:
    return [trace for trace in plot["traces"] if "markers" in trace["mode"]]


def points(plot: Json) -> dict[str, list[tuple]]:
    return {trace["name"]: list(zip(trace["x"], trace["y"], strict=True)) for trace in marked(plot)}


def measured(made: Json, key: str) -> list[Json]:
    return [trial for trial in made["trials"] if key in trial.get("measurement", {})]


def test_speeds_and_intervals(one_record: Json, one_page: Path) -> None:
    traces = marked(details(one_page)["plots"]["plot-ratio"])
    drawn = [
        (trace["name"], x, x - below, x + above)
        for trace in traces
        for x, above, below in zip(trace["x"], trace["error_x"]["array"], trace["error_x"]["arrayminus"], strict=True)
    ]
    trials = measured(one_record, "speedup_over_fp32")
    ratios = [(trial["precision"], trial["measurement"]["speedup_over_fp32"]) for trial in trials]
    expected = [(precision, ratio["value"], *ratio["interval"]) for precision, ratio in ratios]
    assert len(drawn) == len(expected) >= 20
    for one, other in zip(sorted(drawn), sorted(expected), strict=True):
        assert one[:2] == other[:2]
        assert one[2:] == pytest.approx(other[2:], rel=1e-12)


def test_fingerprint(one_page: Path, tmp_path: Path) -> None:
    shown = details(one_page)["html"]
    for words_ in ("what an accumulator keeps", "24 bits", "absent: this device has none", "0" * 64):
        assert words_ in shown
    made = record()
    del made["fingerprint"]
    assert "Fingerprint: not here." in details(page_of(tmp_path, made))["html"]


def test_roofline(one_record: Json, one_page: Path) -> None:
    by_precision = points(details(one_page)["plots"]["plot-roofline"])
    drawn = sorted(point for marks in by_precision.values() for point in marks)
    measurements = [trial["measurement"] for trial in measured(one_record, "roofline")]
    assert drawn == sorted((one["roofline"]["flops_per_byte"], one["tflops"]["value"]) for one in measurements)
    roofs = [one for one in details(one_page)["plots"]["plot-roofline"]["traces"] if one["mode"] == "lines"]
    assert {one["name"] for one in roofs} == {
        "memory: copies 40.0 GB/s",
        "fp32 products: 0.800 TFLOP/s",
        "bf16 products: 0.800 TFLOP/s",
    }
    memory = next(one for one in roofs if one["name"].startswith("memory"))
    for x, y in zip(memory["x"], memory["y"], strict=True):
        assert y * 1e12 == pytest.approx(x * 40e9)  # operations a byte times bytes a second


def test_distribution_of_margins(one_record: Json, one_page: Path) -> None:
    drawn = points(details(one_page)["plots"]["plot-margin"])
    for precision, curve in drawn.items():
        errors = [trial["accuracy"]["kernel_error"]["margin"] for trial in one_record["trials"]
                  if trial["precision"] == precision and "accuracy" in trial]  # fmt: skip
        assert [x for x, _ in curve] == sorted(errors)
        assert [y for _, y in curve] == pytest.approx([(rank + 1) / len(errors) for rank in range(len(errors))])


def test_exact_and_odd_margins_are_counted(tmp_path: Path) -> None:
    made = record()
    of_fp32 = [trial for trial in made["trials"] if trial["precision"] == "fp32"]
    for trial, margin in zip(of_fp32, (0.0, "inf"), strict=False):
        trial["accuracy"]["kernel_error"]["margin"] = margin
    plot = details(page_of(tmp_path, made))["plots"]["plot-margin"]
    curve = points(plot)["fp32"]
    fp32 = sum(trial["precision"] == "fp32" for trial in made["trials"])
    assert len(curve) == fp32 - 2
    assert curve[0][1] == pytest.approx(2 / fp32)  # the exact one lies below
    assert curve[-1][1] == pytest.approx((fp32 - 1) / fp32)  # the one without end lies above
    assert "1 trial at exactly 0" in page_text(tmp_path)


def page_text(folder: Path) -> str:
    return (folder / "page.html").read_text()


def test_flips(one_record: Json, one_page: Path) -> None:
    drawn = points(details(one_page)["plots"]["plot-boundary"])
    assert len(drawn) == 3
    assert set(map(tuple, drawn.values())) == {((0.1, 1), (0.01, 20), (0.001, 60))}


def test_training(one_record: Json, one_page: Path) -> None:
    plot = details(one_page)["plots"]["plot-training-0"]
    loss = {trace["name"]: trace["y"] for trace in marked(plot) if trace.get("yaxis") != "y2"}
    trials = [trial for trial in one_record["trials"] if "training" in trial]
    assert loss == {trial["precision"]: trial["training"]["steps"]["loss"] for trial in trials}
    (scale,) = [trace for trace in marked(plot) if trace.get("yaxis") == "y2"]
    fp16 = next(trial for trial in trials if "fp16" in trial["precision"])
    assert scale["y"] == fp16["training"]["steps"]["scale"]
    assert [step for step, symbol in enumerate(scale["marker"]["symbol"]) if symbol == "x"] == [20]


def test_a_long_training_is_thinned_and_says_so(tmp_path: Path) -> None:
    made = record()
    steps = made["trials"][-2]["training"]["steps"]
    made["trials"] = [made["trials"][-2]]
    for name in ("loss", "scale", "stepped"):
        steps[name] = (steps[name] * 250)[:10_000]
    page = page_of(tmp_path, made)
    skips = {step for step, stepped in enumerate(steps["stepped"]) if not all(stepped)}
    drawn = {trace.get("yaxis", "y"): trace for trace in marked(details(page)["plots"]["plot-training-0"])}
    kept = drawn["y2"]["x"]
    assert skips <= set(kept)
    assert {step for step, symbol in zip(kept, drawn["y2"]["marker"]["symbol"], strict=True) if symbol == "x"} == skips
    assert len(kept) < 2_000
    assert all(steps["scale"][step] == value for step, value in zip(kept, drawn["y2"]["y"], strict=True))
    assert f"10000 steps {len(kept)} are drawn: one in 17" in page.read_text()


def test_telemetry_of_a_device(tmp_path: Path) -> None:
    """Thinned, but for what was throttled; the record's order is kept."""
    made = record()
    made["bench"]["processes"][0]["conditions"]["before"]["clock_mhz"] = 1980.0
    samples = [[0, row, 0, 2, 100.0, {"device": {"clock_mhz": 1000.0 + row, "power_w": 300.0}}] for row in range(4_100)]
    samples[7][5]["device"]["throttled"] = "power cap"
    samples[8][5]["device"]["throttled"] = ""
    made["trials"][0]["measurement"]["samples"] = samples
    page = page_of(tmp_path, made)
    plots = details(page)["plots"]
    assert points(plots["plot-host-clock_mhz"]) == {"before": [("0 warm", 1980.0)]}
    assert "plot-device-temperature_c" not in plots
    (clock,) = plots["plot-device-clock_mhz"]["traces"]
    assert clock["x"] == sorted({*range(0, 4_100, 3), 7})
    assert clock["y"] == [1000.0 + index for index in clock["x"]]
    crosses = [index for index, symbol in zip(clock["x"], clock["marker"]["symbol"], strict=True) if symbol == "x"]
    assert crosses == [7]
    assert "1368 of 4100 samples: one in 3, and all at which it was throttled" in page.read_text()


def test_samples(one_record: Json, one_page: Path) -> None:
    for trial in measured(one_record, "samples"):
        kept = details(one_page)["samples"][trial["id"]]
        rows = trial["measurement"]["samples"]
        assert kept["total"] == len(rows)
        assert [row[:3] for row in kept["rows"]] == [[row[0], row[1], row[4] / row[3]] for row in rows]
        assert kept["median"] == trial["measurement"]["time_ns"]["median"]


def test_many_samples_are_thinned_and_the_page_says_so(tmp_path: Path) -> None:
    made = record()
    measurement = made["trials"][0]["measurement"]
    measurement["samples"] = [[0, row, 0, 2, 100.0 + row] for row in range(1_000)]
    page = page_of(tmp_path, made)
    kept = details(page)["samples"][made["trials"][0]["id"]]
    assert (len(kept["rows"]), kept["total"]) == (334, 1_000)
    assert [row[1] for row in kept["rows"]] == list(range(0, 1_000, 3))
    assert "every k-th is kept here" in page.read_text()


def test_series_of_several(several_records: list[Json], several_page: Path) -> None:
    series = packed(several_page)["series"]
    assert [(label, len(records)) for label, records in series["devices"]] == [
        ("A device", 3),
        ("Card, cuda:0, GPU-aaaa", 2),
        ("Card, cuda:0, GPU-bbbb", 1),
    ]
    by_record = {made["id"]: made for made in several_records}
    for entry in series["entries"]:
        made = by_record[series["records"][entry["record"]][0]]
        (trial,) = [trial for trial in made["trials"] if trial["id"] == entry["id"]]
        time = trial.get("measurement", {}).get("time_ns")
        assert entry.get("time") == (time and [time["median"], *time["interval"]])
        assert entry["verdict"] == trial["verdict"]
    assert len(series["entries"]) == sum(len(made["trials"]) for made in several_records)


@pytest.mark.parametrize("page", ["one_page", "several_page"])
def test_plotly_knows_every_plot(request: pytest.FixtureRequest, page: str) -> None:
    """Its own validators raise for a name or a value that its script would pass over in silence."""
    for name, one in packed(request.getfixturevalue(page)).items():
        for plot in one.get("plots", {}).values():
            layout = {key: value for key, value in plot["layout"].items() if key != "line_at"}
            plotly.graph_objects.Figure(data=with_colours(plot["traces"]), layout=with_colours(layout))
        assert name == "series" or len(one["plots"]) > 8


def with_colours(value: object) -> object:
    if isinstance(value, str) and re.fullmatch(r"var\(--[\w-]+\)", value):
        return "#123456"
    if isinstance(value, list):
        return [with_colours(one) for one in value]
    return {key: with_colours(one) for key, one in value.items()} if isinstance(value, dict) else value


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (words.time(1_234_567), "1.23 ms"),
        (words.time(87_600), "87.6 µs"),
        (words.time(5e9), "5.00 s"),
        (words.time(12), "12.0 ns"),
        (words.data_size(1_206_000), "1.15 MiB"),
        (words.data_size(716), "716 B"),
        (words.tflops(0.0097), "9.70 GFLOP/s"),
        (words.tflops(0.171), "0.171 TFLOP/s"),
        (words.ratio(0.0123), "0.012\N{MULTIPLICATION SIGN}"),
        (words.ratio(4.273), "4.27\N{MULTIPLICATION SIGN}"),
        (words.number(1227.9), "1228"),
        (words.number(0.00004), "4.00e-05"),
        (words.number(0.0), "0"),
        (words.number("nan"), "nan"),
        (words.number(None), "-"),
        (words.half_width({"interval": [95.0, 105.0]}, 100.0), "±5.0 %"),
        (words.half_width({"interval": [1.0, 1e9]}, 100.0), "±>999 %"),
        (words.half_width({}, 100.0), "(no interval)"),
    ],
)
def test_words(shown: str, expected: str) -> None:
    assert shown == expected


def test_reasons_are_those_of_the_nearest_object() -> None:
    trial = {"measurement": {"absent": {"tflops": "not counted"}}, "absent": {"operators": "not judged"}}
    assert why_absent(trial, "measurement", "tflops", "value") == "not counted"
    assert why_absent(trial, "operators") == "not judged"
    assert why_absent(trial, "measurement", "gbps") == "the record does not hold it"
    assert why_absent({"absent": {"a/b": "deep"}}, "a", "b") == "deep"

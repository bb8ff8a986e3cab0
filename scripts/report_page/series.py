"""The numbers of all records that the plots over devices and over time are drawn from."""

from __future__ import annotations

from report_page.devices import Device
from report_page.look import PRECISIONS, plot_shape, precision_colour
from report_page.plot import Json
from report_page.record import Trial


def series(devices: list[Device]) -> Json:
    records = [record for device in devices for record in device.records]
    numbered = {record.digest: index for index, record in enumerate(records)}
    precisions = {trial.precision for record in records for trial in record.judged}
    known = [name for name in PRECISIONS if name in precisions]
    names = known + sorted(precisions - set(known))
    return {
        "devices": [[device.label, [numbered[record.digest] for record in device.records]] for device in devices],
        "records": [[record.id, f"{record.started:%Y-%m-%d %H:%M:%S}"] for record in records],
        "precisions": [[name, precision_colour(name)] for name in names],
        "entries": [entry(numbered[record.digest], trial) for record in records for trial in record.judged],
    }


def entry(record: int, trial: Trial) -> Json:
    """Times in nanoseconds, sizes in bytes: [value, low, high] where there is an interval, else [value]."""
    found: Json = {
        "record": record,
        "id": trial.id,
        "row": " ".join(trial.row),
        "precision": trial.precision,
        "verdict": trial.verdict,
        "shape": plot_shape(trial.verdict, trial.measured),
    }
    if trial.time:
        found["time"] = [trial.time["median"], *trial.time.get("interval", [])]
    if trial.speedup:
        found["speedup"] = [trial.speedup["value"], *trial.speedup.get("interval", [])]
    if isinstance(trial.margin, int | float):
        found["margin"] = [trial.margin]
    if trial.peak_bytes is not None:
        found["peak"] = [trial.peak_bytes]
    return found

"""What Nsight Compute prints, read: the launches in its table, or what it complains of."""

import csv
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

ADVICE = {
    r"ERR_NVGPUCTRPERM|not have permission to access NVIDIA GPU Perf": "this machine lets only "
    "administrators read GPU counters. Ask for it, or see https://developer.nvidia.com/ERR_NVGPUCTRPERM ; "
    "nsys and the counts of this course need no permission.",
    r"No kernels were profiled": "the script launched no kernel of this name.",
    r"Profiling is not supported": "this GPU, or a virtual one, does not let ncu count.",
    r"Failed to find metric": "this ncu, or this GPU, has no such metric: ncu --query-metrics lists them.",
    r"driver resource was unavailable": "another profiler, such as DCGM, is counting: stop it first.",
    r"No module named": "the Python that ran the script lacks a package.",
}
# unit -> what it is multiplied by for ncu's base units; others are taken as they are
_SCALES = {
    "s": 1e9, "second": 1e9, "ms": 1e6, "msecond": 1e6, "us": 1e3, "usecond": 1e3, "ns": 1, "nsecond": 1,
    "Khz": 1e3, "Mhz": 1e6, "Ghz": 1e9,
}  # fmt: skip
_PREFIXED = re.compile(r"([KMGT])(inst|byte|cycle|sector|request|warp|thread|block)\b(.*)")
_WHOLE = {"inst", "request", "sector", "thread", "warp", "block", "byte"}  # there are no parts of these
_PREFIXES = {"K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_NUMBER = re.compile(r"[+-]?(\d+|\d{1,3}(,\d{3})+)(\.\d*)?([eE][+-]?\d+)?")
_ODD = re.compile(r"[+-]?\d[\d.,\u2019'\u00a0\u202f ]*")


@dataclass(frozen=True)
class Measured(Mapping[str, float]):
    """What `ncu` reports of one launch: metric -> number."""

    kernel: str
    values: Mapping[str, float] = field(repr=False)

    def __getitem__(self, name: str) -> float:
        return self.values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.values)

    def __len__(self) -> int:
        return len(self.values)


def read(text: str) -> list[Measured]:
    """The launches in what `ncu --csv --page raw` printed; lines of ncu itself (==PROF==) are passed over.

    Numbers are in base units (ns, bytes), whatever the table's. Raises ValueError that says what to do if ncu
    reported an error and no launch, if there is no table, or for a number that could be read in two ways.
    """
    found: list[Measured] = []
    header: list[str] = []
    units: list[str] = []
    for row in csv.reader(_table_lines(text)):
        if row[0] == "ID":
            header, units = row, []
            if "Metric Value" in header:
                raise ValueError("ncu: this is its page of details; call it with --page raw")
        elif row[0] == "" and len(row) == len(header):
            units = row
        elif row[0].isdigit() and len(row) == len(header):
            found.append(_launch(header, units or [""] * len(row), row))
    if not found:
        raise ValueError(_why_none(text))
    return found


def _table_lines(text: str) -> list[str]:
    """The lines from the first header on that could be rows of a table."""
    lines = text.lstrip("\ufeff").splitlines()
    first = next((at for at, line in enumerate(lines) if line.startswith('"ID",')), len(lines))
    return [line for line in lines[first:] if re.match(r'"(ID|\d*)",', line)]


def _launch(header: list[str], units: list[str], row: list[str]) -> Measured:
    values = {}
    for name, unit, text in zip(header, units, row, strict=True):
        number = _number(name, unit, text)
        if number is not None:
            scaled = number * _scale(unit)
            values[name] = int(scaled) if float(scaled).is_integer() else scaled
    if "Kernel Name" not in header:
        raise ValueError("ncu: the table has no column Kernel Name; call it with --page raw")
    return Measured(row[header.index("Kernel Name")], values)


def _scale(unit: str) -> float:
    prefixed = _PREFIXED.fullmatch(unit)
    return _PREFIXES[prefixed[1]] if prefixed else _SCALES.get(unit, 1)


def _number(name: str, unit: str, text: str) -> float | None:
    """None for words. Raises ValueError for digits whose commas or points do not part thousands."""
    if name in ("Kernel Name", "Process Name", "Host Name", "Context", "Stream", "CC"):
        return None
    whole = name.endswith(".sum") and unit in _WHOLE
    if _NUMBER.fullmatch(text) and not (whole and re.fullmatch(r"\d{1,3}\.\d{3}", text)):
        return float(text.replace(",", ""))
    if _ODD.fullmatch(text.strip()):
        raise ValueError(
            f"ncu: {name} is {text!r}: is the comma the decimal point here? Run ncu with LC_ALL=C, "
            "which writes 1,024.5"
        )
    return None


def _why_none(text: str) -> str:
    errors = [line for line in text.splitlines() if line.startswith("==ERROR==") or "Error: " in line]
    for pattern, advice in ADVICE.items():
        match = re.search(pattern, text)
        if match:
            quoted = next((line for line in errors if match.group() in line), match.group())
            return f"ncu: {quoted.removeprefix('==ERROR==').strip()}: {advice}"
    if errors:
        return f"ncu: {'; '.join(line.removeprefix('==ERROR==').strip() for line in errors[:3])}"
    return "ncu: no launch in this text; it must be the output of ncu --csv --page raw"

"""What each CUDA source line cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from .emulator.hazards import Hazard
from .emulator.program import Program
from .emulator.tally import Tally

_SUMMED = ("requests", "sectors", "sectors_ideal", "wavefronts", "wavefronts_ideal")


@dataclass
class Line:
    """What one CUDA source line cost. Sums over all warps of the launch.

    `executions`: warp instructions (PTX); `active_lanes`: their average number of active lanes;
    `requests`: memory instructions per warp; `sectors` and `wavefronts` with the fewest possible.
    """

    line: int
    text: str
    executions: int = 0
    active_lanes: float = 0.0
    requests: int = 0
    sectors: int = 0
    sectors_ideal: int = 0
    wavefronts: int = 0
    wavefronts_ideal: int = 0
    hazards: list[Hazard] = field(default_factory=list)


def source_lines(program: Program, tally: Tally, hazards: Sequence[Hazard], source: str) -> list[Line]:
    """One row per source line that did anything, by line number; line 0 stands for what has none."""
    text = dict(enumerate(source.split("\n"), 1))
    rows: dict[int, Line] = {}
    lanes: dict[int, int] = {}

    def row(line: int) -> Line:
        if line not in rows:
            rows[line] = Line(line, text.get(line, "").strip() if line else "(no source line)")
        return rows[line]

    for block in program.blocks:
        for instruction in block.instructions:
            if tally.warps[block.number] and not instruction.opcode.startswith("param."):
                row(instruction.line).executions += tally.warps[block.number]
                lanes[instruction.line] = lanes.get(instruction.line, 0) + tally.lanes[block.number]
    for site, counted in tally.sites.items():
        target = row(program.line(site))
        for name in _SUMMED:
            setattr(target, name, getattr(target, name) + getattr(counted, name))
    for hazard in hazards:
        row(hazard.line).hazards.append(hazard)
    for line, found in rows.items():
        found.active_lanes = round(lanes.get(line, 0) / found.executions, 2) if found.executions else 0.0
    return [rows[line] for line in sorted(rows)]

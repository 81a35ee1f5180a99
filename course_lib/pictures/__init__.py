"""Pictures of the course: plain arrays in, a matplotlib figure out."""

from .banks import bank_caption, bank_schedule, warp_to_banks
from .charts import Series, bars, sweep
from .sectors import Request, warp_to_sectors

__all__ = [
    "Request",
    "Series",
    "bank_caption",
    "bank_schedule",
    "bars",
    "sweep",
    "warp_to_banks",
    "warp_to_sectors",
]

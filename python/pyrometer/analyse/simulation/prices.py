"""What slots cost: a price file."""

from __future__ import annotations

import tomllib
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from pyrometer.errors import UsageError


class Prices(BaseModel):
    """A price file (TOML): ``currency``, ``core_hour``, ``gb_hour``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    currency: str = ""
    core_hour: float = Field(0.0, ge=0, allow_inf_nan=False)
    gb_hour: float = Field(0.0, ge=0, allow_inf_nan=False)

    def of(self, core_hours: float, gb_hours: float) -> float:
        """Give the price of core-hours and GB-hours (10⁹ bytes)."""
        return core_hours * self.core_hour + gb_hours * self.gb_hour


def read_prices(path: Path) -> Prices:
    """Read a price file.

    Raises
    ------
    UsageError
        If it cannot be read, or holds something else.
    """
    example = 'lines like  currency = "EUR"  core_hour = 0.05  gb_hour = 0.005'
    try:
        return Prices(**tomllib.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}", example) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: no TOML ({error})", example) from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise UsageError(f"{path}: {where}: {first['msg']}", example) from error

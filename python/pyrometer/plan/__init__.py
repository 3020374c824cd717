"""Pure values: which treatment, which trial. Nothing here touches the machine."""

from pyrometer.plan.factors import Factor, Level, factors, parse_treatment
from pyrometer.plan.trial import Trial

__all__ = ["Factor", "Level", "Trial", "factors", "parse_treatment"]

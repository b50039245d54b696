"""How long to wait before a child that died is started again (O22)."""

from dataclasses import dataclass

FIRST_S = 0.2
FACTOR = 2.0
CAP_S = 30.0
HEALTHY_S = 20.0
"""Who served this long did not die of its start, and waiting would only be an outage."""


@dataclass(slots=True)
class BackOff:
    """Doubles with each death up to a cap, and forgets the deaths before a healthy run. Times are seconds."""

    first_s: float = FIRST_S
    cap_s: float = CAP_S
    healthy_s: float = HEALTHY_S
    _next_s: float = 0.0

    def after_run_of(self, served_s: float) -> float:
        """Return the wait before the next start, after having served for this long."""
        if served_s >= self.healthy_s or self._next_s == 0.0:
            self._next_s = self.first_s
        wait = self._next_s
        self._next_s = min(self._next_s * FACTOR, self.cap_s)
        return wait

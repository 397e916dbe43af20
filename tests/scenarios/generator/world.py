"""One scenario under construction: seeded dice, the clock, the log lines and the table rows."""

import json
import random
from datetime import UTC, datetime, timedelta

from . import services

DAY = "2026-11-30"
NOW = datetime.fromisoformat(f"{DAY}T06:30:00+00:00")
"""The moment at which the question is asked, the same in all scenarios (and in their scenario.toml)."""
WINDOW = timedelta(hours=2)


class Dice:
    """Everything random. Built on random() alone, whose sequence Python promises to keep for a seed."""

    def __init__(self, seed: str):
        self._source = random.Random(seed)

    def below(self, share: float) -> bool:
        """True in `share` (0..1) of the throws."""
        return self._source.random() < share

    def between(self, low: int, high: int) -> int:
        """Uniform, both ends included."""
        return low + int(self._source.random() * (high - low + 1))

    def latency(self, low: int, high: int) -> int:
        """Skewed towards `low`, with the long tail that latencies have."""
        return low + int((high - low) * self._source.random() ** 3)

    def pick(self, options):
        return options[self.between(0, len(options) - 1)]

    def weighted(self, options):
        """`options` are tuples that begin with their weight."""
        left = self._source.random() * sum(option[0] for option in options)
        for option in options:
            left -= option[0]
            if left < 0:
                return option
        return options[-1]

    def hex(self, digits: int) -> str:
        return "".join(self.pick("0123456789abcdef") for _ in range(digits))


class World:
    """`use` the services first; lines of a service that the scenario doesn't ship are dropped."""

    def __init__(self, name: str):
        self.name = name
        self.dice = Dice(f"scenario/{name}")
        self.now = NOW
        self.start = NOW - WINDOW
        self.tables: dict[str, list[tuple]] = {}
        self._lines: dict[str, list[tuple[datetime, int, str]]] = {}
        self._sequence = 0

    def use(self, *names: str) -> None:
        for name in names:
            self._lines[name] = []

    @property
    def services(self) -> list[str]:
        return sorted(self._lines)

    def at(self, clock: str) -> datetime:
        """`HH:MM:SS` UTC on the scenario's day."""
        return datetime.fromisoformat(f"{DAY}T{clock}+00:00")

    def sometime(self, begin: datetime | None = None, end: datetime | None = None) -> datetime:
        """A moment in [begin, end), the whole window unless told."""
        begin, end = begin or self.start, end or self.now
        length_ms = (end - begin) // timedelta(milliseconds=1)
        return later(begin, self.dice.between(0, length_ms - 1))

    def log(
        self, service: str, at: datetime, level: str, message: str, trace: str | None = None, **fields
    ) -> None:
        """One log line. Lines at or after the scenario's clock haven't been written yet: dropped."""
        if service not in self._lines or at >= self.now:
            return
        record = {"timestamp": stamp(at), "level": level, "service": service, "message": message}
        if trace:
            record["trace_id"] = trace
        record["pod"] = fields.pop("pod", None) or services.pod(self.dice, service)
        thread = services.thread(self.dice, service, trace is not None)
        if thread:
            record["thread"] = thread
        record.update(fields)
        text = json.dumps(record, ensure_ascii=False, separators=(",", ":"))
        self._sequence += 1
        self._lines[service].append((at, self._sequence, text))

    def row(self, table: str, *values) -> None:
        """One row, values in the order of the table's columns in sql.py, without the leading id."""
        self.tables.setdefault(table, []).append(values)

    def log_files(self) -> dict[str, str]:
        return {
            service: "".join(f"{text}\n" for _, _, text in sorted(lines))
            for service, lines in self._lines.items()
        }


def stamp(at: datetime) -> str:
    """RFC 3339 UTC with milliseconds."""
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.") + f"{at.microsecond // 1000:03d}Z"


def later(at: datetime, milliseconds: int) -> datetime:
    return at + timedelta(milliseconds=milliseconds)


def every(begin: datetime, end: datetime, seconds: int):
    """Moments from `begin` (included) to `end` (excluded), `seconds` apart."""
    while begin < end:
        yield begin
        begin += timedelta(seconds=seconds)

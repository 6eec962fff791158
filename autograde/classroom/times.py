"""When something was handed in: the time in `timestamp.txt`, where it means one moment only."""

from __future__ import annotations

import datetime
import re

from .stock import load_in_parts

_DAY, _HOURS = r"(\d{4}-\d\d-\d\d|\d{8})", r"(\d\d:?\d\d(?::?\d\d)?)(?:[.,](\d+))?"
_ZONE = r"(?:(Z|[+-]\d\d(?::?\d\d)?)| ([A-Za-z][\w/+-]*|[+-]\d\d:?\d\d))"
_STRICT = re.compile(f"{_DAY}[T ]{_HOURS}{_ZONE}", re.ASCII)


def read_time(text: str) -> datetime.datetime | None:
    """The moment in UTC, without a zone, as nbgrader's gradebook has it; None for what is no time.

    Taken is ISO 8601 with its zone (`2026-11-30T23:30+01:00`), and what `nbgrader submit` writes
    (`2026-11-30 23:30:00.000000 UTC`). nbgrader reads more than that, some of it as another moment
    than was meant: a zone after a blank (`+0100`) as seconds, a zone that it does not know as UTC,
    a day that stands first as a month. So a time counts where both readings are one.
    """
    from dateutil import tz

    load_in_parts()
    from nbgrader.utils import parse_utc

    found = _STRICT.fullmatch(text)
    if found is None:
        return None
    day, hours, fraction, offset, name = found.groups()
    digits = re.sub("[:-]", "", day + hours).ljust(14, "0")
    try:
        when = datetime.datetime.strptime(digits, "%Y%m%d%H%M%S")
        when = when.replace(microsecond=int((fraction or "0")[:6].ljust(6, "0")))
        zone = _zone(offset) if offset else _named_zone(name, when, tz.gettz(name))
        read = parse_utc(text)
        if zone is None or read is None:
            return None
        meant = (when - zone).replace(tzinfo=None)
    except (ValueError, OverflowError, TypeError, AttributeError):
        return None
    return meant if meant == read else None


def _zone(offset: str) -> datetime.timedelta:
    """`Z`, `+01`, `+0100` or `+01:00` as an offset from UTC."""
    digits = re.sub(r"\D", "", offset) or "0"
    hours, minutes = int(digits[:2]), int(digits[2:] or 0)
    if hours > 23 or minutes > 59:
        raise ValueError(offset)
    size = datetime.timedelta(hours=hours, minutes=minutes)
    return -size if offset.startswith("-") else size


def _named_zone(
    name: str, when: datetime.datetime, zone: datetime.tzinfo | None
) -> datetime.timedelta | None:
    """The offset of a zone by its name: a region, or the abbreviation that holds at that time."""
    if re.fullmatch(r"[+-]\d\d:?\d\d", name):
        return _zone(name)
    if name == "Z":
        return datetime.timedelta()
    local = when.replace(tzinfo=zone)
    if zone is None or "/" not in name and local.tzname() != name:
        return None
    return local.utcoffset()

"""Which zone a place means (O2): by the zone tables' own names, and a few that Chinese has for them. Pure."""

import unicodedata
from collections.abc import Mapping
from functools import cache
from typing import Final
from zoneinfo import available_timezones

from domain.wall_time import is_zone

CHINESE: Final[Mapping[str, str]] = {
    "北京": "Asia/Shanghai", "上海": "Asia/Shanghai", "中国": "Asia/Shanghai", "香港": "Asia/Hong_Kong",
    "台北": "Asia/Taipei", "东京": "Asia/Tokyo", "首尔": "Asia/Seoul", "新加坡": "Asia/Singapore",
    "迪拜": "Asia/Dubai", "莫斯科": "Europe/Moscow", "柏林": "Europe/Berlin", "巴黎": "Europe/Paris",
    "伦敦": "Europe/London", "马德里": "Europe/Madrid", "罗马": "Europe/Rome", "纽约": "America/New_York",
    "芝加哥": "America/Chicago", "洛杉矶": "America/Los_Angeles", "多伦多": "America/Toronto",
    "圣保罗": "America/Sao_Paulo", "悉尼": "Australia/Sydney", "奥克兰": "Pacific/Auckland",
}  # fmt: skip
_OTHERWISE: Final[Mapping[str, str]] = {"beijing": "Asia/Shanghai", "utc": "UTC", "gmt": "UTC"}
_NO_PLACES: Final = ("Etc/", "SystemV/", "posix/", "right/", "US/", "Canada/", "Brazil/", "Chile/", "Mexico/")


def zone_of(place: str) -> str | None:
    """The IANA zone that a place or a zone's own name means; None for one that the tables do not name."""
    wanted = place.strip()
    if "/" in wanted:
        return _cities().get(_folded(wanted)) or (wanted if is_zone(wanted) else None)
    return CHINESE.get(wanted) or _OTHERWISE.get(_folded(wanted)) or _cities().get(_folded(wanted))


@cache
def _cities() -> dict[str, str]:
    """Zones by their city, and by their whole name, without blanks and case."""
    found: dict[str, str] = {}
    # Of zones with the same city, such as an old name of the same zone, the one of a continent and nothing between.
    for name in sorted(available_timezones(), key=lambda name: (name.count("/"), name)):
        if "/" in name and not name.startswith(_NO_PLACES) and is_zone(name):
            found.setdefault(_folded(name.rpartition("/")[2]), name)
            found.setdefault(_folded(name), name)
    return found


def _folded(name: str) -> str:
    plain = unicodedata.normalize("NFKD", name.replace("_", " ").replace("-", " "))
    letters = "".join(char for char in plain if not unicodedata.combining(char))
    return " ".join(letters.split()).casefold()

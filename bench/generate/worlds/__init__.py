"""All worlds; each belongs to one pool, and pools share no goal, paraphrase or question."""

from bench.generate.model import World
from bench.generate.worlds.hospital import HOSPITAL
from bench.generate.worlds.household import HOUSEHOLD
from bench.generate.worlds.museum import MUSEUM
from bench.generate.worlds.platform import PLATFORM
from bench.generate.worlds.shipping import SHIPPING
from bench.generate.worlds.studio import STUDIO
from bench.generate.worlds.university import UNIVERSITY
from bench.generate.worlds.works import WORKS

__all__ = ["WORLDS"]

WORLDS: tuple[World, ...] = (
    PLATFORM,
    HOSPITAL,
    SHIPPING,
    HOUSEHOLD,
    UNIVERSITY,
    STUDIO,
    WORKS,
    MUSEUM,
)

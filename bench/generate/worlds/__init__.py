"""All worlds; each belongs to one pool, and pools share no goal, paraphrase or question."""

from bench.generate.model import World
from bench.generate.worlds.platform import PLATFORM

__all__ = ["WORLDS"]

WORLDS: tuple[World, ...] = (PLATFORM,)

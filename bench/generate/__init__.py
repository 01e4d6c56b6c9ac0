"""Generates vaults with questions and gold, to tune and to test recall on."""

from bench.generate.build import build, write
from bench.generate.model import Generated, Question

__all__ = ["Generated", "Question", "build", "write"]

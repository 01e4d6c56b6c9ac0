"""Recall: the one reader of notes for answering questions."""

from memsvc.service.recall.pipeline import Recall

__all__ = ["Recall"]

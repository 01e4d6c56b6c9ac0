"""Bringing back, lifting and destroying: for a person who confirms."""

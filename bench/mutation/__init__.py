"""Breaks one check of the product at a time and asks whether a test notices."""

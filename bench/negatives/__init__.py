"""Negative classes: what recall must never show, probed with a positive control beside each."""

"""Markdown files that people edit, and the text inside them."""

"""What can be dropped and rebuilt: entries, chunks, full text, vectors, links."""

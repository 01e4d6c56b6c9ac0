"""What cannot be rebuilt: events, versions, tombstones, pending file operations."""

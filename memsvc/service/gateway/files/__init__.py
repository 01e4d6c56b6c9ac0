"""What people do to the files of a vault, found and taken in."""

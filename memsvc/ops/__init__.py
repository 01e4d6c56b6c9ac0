"""Work on a home as a whole: demo, doctor, statistics."""

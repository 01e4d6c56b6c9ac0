"""A scope written out of a home, and foreign notes brought into one."""

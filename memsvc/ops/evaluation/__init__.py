"""A ruler for the user's own vault: gold questions made of its notes, and runs measured with them."""

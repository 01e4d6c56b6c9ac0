"""Whether what was rejected stays out: dressed claims, paraphrases, and their innocent neighbours."""

"""memory-bench: its vault and questions put to memsvc, its metrics, and a result file to rerun."""

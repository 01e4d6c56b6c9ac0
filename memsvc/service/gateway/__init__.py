"""The one way to change anything: policy, one transaction, then the files."""

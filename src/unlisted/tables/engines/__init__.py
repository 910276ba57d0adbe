"""What one engine does differently, a file or a folder each, nothing else."""

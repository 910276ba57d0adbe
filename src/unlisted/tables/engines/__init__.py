"""What one engine does differently, one file each, nothing else."""

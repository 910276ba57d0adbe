"""Continual release by the binary mechanism: noise on the nodes of a tree over the rounds."""

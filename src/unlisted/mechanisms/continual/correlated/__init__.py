"""Continual release with correlated noise: the noise of a step depends on the steps before it."""

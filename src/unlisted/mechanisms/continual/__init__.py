"""Continual release: a running histogram over a stream, with a release every round."""

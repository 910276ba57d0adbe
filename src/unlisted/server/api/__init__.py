"""API v1, JSON over HTTP: `routes`, the `schemas` of their bodies, what every route depends on, refusals."""

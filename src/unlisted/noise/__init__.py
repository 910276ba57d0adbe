"""Exact integer noise: laws that say how they are drawn, how far they reach and what they cost."""

"""Partition selection: the labels that enough users share, and nothing else about them."""

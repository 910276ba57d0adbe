"""Mechanisms that are wrong on purpose, each beside its repair: an audit that lets one through is blind."""

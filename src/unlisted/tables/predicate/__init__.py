"""`where=`: a condition from an analyst whom nobody trusts, checked so that no row can make it fail."""

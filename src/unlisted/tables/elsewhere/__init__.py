"""Systems that only their owner can reach: SQL to run there, and the counts that come back."""

"""A running histogram made durable: a folder that survives kill -9."""

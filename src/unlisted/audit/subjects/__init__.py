"""Our own mechanisms as an audit sees them: claims, neighbours, and many runs at once."""

"""What tables and mechanisms share: labels, bounded counts, count-of-counts profiles, weights."""

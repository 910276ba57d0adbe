"""The Gaussian family: the discrete law, the normal law, what they cost, and accounts in Gaussian DP."""

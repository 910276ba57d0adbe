"""Running counts over a stream with correlated noise: the recursion, its bounds, and the histogram made of them."""

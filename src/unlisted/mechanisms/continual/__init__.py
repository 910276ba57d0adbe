"""Running counts over a stream with correlated noise: the recursion, its bounds, the histogram made of them."""

"""Single numbers about a whole table: how many users, how many different values."""

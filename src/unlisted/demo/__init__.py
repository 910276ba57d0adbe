"""The table of invented people that `unlisted demo` runs on."""

"""`python -m unlisted`."""

from unlisted.cli.main import main

main()

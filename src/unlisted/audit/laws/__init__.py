"""The exact laws of what our mechanisms answer, written down apart from the code that draws and prices."""

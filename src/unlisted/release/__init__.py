"""An answer that may be published: what it promises, how it is read, written, kept and drawn."""

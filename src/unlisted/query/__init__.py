"""From a question to a plan, and from a plan to a release: what may be asked, of what, at which cost."""

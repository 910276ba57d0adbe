"""Settings of these tests: a property is about what happens, never about how long it takes."""

from hypothesis import settings

settings.register_profile("mechanisms", deadline=None, max_examples=60)
settings.load_profile("mechanisms")

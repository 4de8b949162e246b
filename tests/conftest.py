"""Settings of hypothesis: the same examples everywhere, and no deadlines."""

from hypothesis import settings

settings.register_profile(
    "bitfold", deadline=None, derandomize=True, print_blob=True, max_examples=50
)
settings.load_profile("bitfold")

"""pytest plugin that measures deep-learning steps and proves, counts and records what ran."""

__all__: list[str] = []

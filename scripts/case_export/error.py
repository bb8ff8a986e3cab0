"""What an export refuses."""


class ExportError(Exception):
    """What is wrong, and on a line of its own what to do about it."""

    def __init__(self, problem: str, action: str) -> None:
        super().__init__(f"{problem}\n  {action}")

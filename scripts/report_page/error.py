"""What keeps a report from being made."""

BAD_INPUT = 2  # bad usage, or a file that cannot be read or trusted
ENVIRONMENT = 3  # nothing can be written here


class ReportError(Exception):
    """What is wrong and where, and on a line of its own what to do about it."""

    def __init__(self, problem: str, action: str, code: int = BAD_INPUT) -> None:
        super().__init__(f"{problem}\n  {action}")
        self.code = code

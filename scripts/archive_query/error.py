"""What a query refuses."""


class QueryError(Exception):
    """What is wrong, and on a line of its own what to do about it. Bad usage, or a file that cannot be read."""

    exit_code = 2

    def __init__(self, problem: str, action: str) -> None:
        super().__init__(f"{problem}\n  {action}")


class EnvironmentProblem(QueryError):
    """The environment cannot: no space left, no right to write."""

    exit_code = 3

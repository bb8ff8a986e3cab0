"""The tables that are made of an archive, in the order in which they are listed."""

from archive_query.decisions import DECISIONS
from archive_query.measurements import MEASUREMENTS
from archive_query.operators import OPERATORS
from archive_query.runs import RUNS
from archive_query.trials import TRIALS

TABLES = (RUNS, TRIALS, MEASUREMENTS, DECISIONS, OPERATORS)

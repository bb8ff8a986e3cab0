"""The tables that are made of an archive, in the order in which they are listed."""

from archive_query.rows.decisions import DECISIONS
from archive_query.rows.measurements import MEASUREMENTS
from archive_query.rows.operators import OPERATORS
from archive_query.rows.runs import RUNS
from archive_query.rows.trials import TRIALS

TABLES = (RUNS, TRIALS, MEASUREMENTS, DECISIONS, OPERATORS)

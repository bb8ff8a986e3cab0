"""What scripts/query is made of: an archive of records as views of DuckDB."""

"""The parts of export_case.py."""

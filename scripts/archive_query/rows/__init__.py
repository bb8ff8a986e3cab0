"""What the index holds of a record. Whatever changes here makes another index: place.py looks at these files."""

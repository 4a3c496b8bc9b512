"""Files that a user names: found, read as text, and written whole or not at all."""

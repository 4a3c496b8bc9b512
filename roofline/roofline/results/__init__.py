"""Result files in: pytest-benchmark's JSON and the journals of runs, and which files are of one session."""

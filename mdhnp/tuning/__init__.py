"""Finds better schedules by measuring, and remembers them for good."""

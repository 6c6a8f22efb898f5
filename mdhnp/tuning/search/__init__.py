"""What searches schedules: `space.py` draws and changes them, `search.py` proposes the next, `session.py` runs it."""

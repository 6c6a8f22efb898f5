"""What searches: of schedules `space.py` draws and changes them, `search.py` proposes the next, `session.py` runs it.

Of parameters of users' own `parameters.py` has the space, `techniques.py` propose the next, `own.py` runs them. Both
propose by `ask` and `tell`.
"""

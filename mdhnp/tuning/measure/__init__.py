"""What measures schedules: `bench.py` in a process of its own, `worker.py` its parent's end, `team.py` several of them.

`builder.py` compiles candidates in further processes.
"""

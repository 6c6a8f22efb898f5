"""What measures schedules: `bench.py` in processes of their own, `worker.py` their parent's end, `team.py` several."""

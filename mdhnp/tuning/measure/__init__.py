"""What measures schedules: `bench.py` in processes of their own, `team.py` their parent's end."""

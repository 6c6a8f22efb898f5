"""`python -m mdhnp`: the command line."""

from mdhnp.cli import main

if __name__ == "__main__":
    main(prog_name="python -m mdhnp")

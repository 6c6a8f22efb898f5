"""`python -m mdhnp demo`: every public call on real data, checked against NumPy and timed beside the usual library.

`cases.py` says what is computed, `peers.py` how NumPy users compute it today, `timing.py` runs and times both,
`show.py` prints the table and writes pictures; `data/` holds the data. Uses the package as any user does.
"""

from pathlib import Path

from rich.console import Console

from mdhnp.demo.cases import all_cases, pictures
from mdhnp.demo.show import machine, results_table, write_png
from mdhnp.demo.timing import measure
from mdhnp.runtime.devices import default_device
from mdhnp.settings import config


def run(save: Path | None = None) -> int:
    """Run all cases on the current device, print what came out, and return 0 if every result is right, else 1.

    `save` is a folder for pictures of the filtered photograph; it is made where it is missing.
    """
    if save is not None:
        save.mkdir(parents=True, exist_ok=True)  # first, so that nobody waits for what cannot be written
    console = Console()
    if not console.is_terminal:
        console = Console(width=120)
    console.print(machine(default_device()))
    rows = []
    # A search beside them would disturb the times.
    with console.status("") as status, config(tuning="off"):
        for case in all_cases():
            status.update(f"{case.call} on {case.data}")
            rows.append(measure(case))
    console.print(results_table(rows))
    for row in rows:
        if row.case.note is not None:
            console.print(f"{row.case.call}: {row.case.note(row.result)}", highlight=False)
    if save is not None:
        for name, pixels in pictures().items():
            write_png(save / f"{name}.png", pixels)
            console.print(f"written: {save / f'{name}.png'}", highlight=False, soft_wrap=True)
    failed = [row.case.call for row in rows if not row.right]
    if failed:
        console.print(f"[bold red]wrong results[/]: {', '.join(failed)}")
    return 1 if failed else 0

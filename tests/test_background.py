"""The helper process: one for all jobs, which survives them, and never outlives the program."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jobs import Job

from mdhnp.calls.build import Build
from mdhnp.calls.loading import _Ready
from mdhnp.tuning import background
from mdhnp.tuning.background import ahead, later, submit, wait

HERE = Path(__file__).parent
#: Seconds after which a test has failed.
LONG = 60.0


@pytest.fixture(autouse=True)
def helper(monkeypatch: pytest.MonkeyPatch) -> Iterator[background._Helper]:
    own = background._Helper()
    monkeypatch.setattr(background, "_helper", own)
    yield own
    own.end()


def answers(*jobs: Job) -> list[Any]:
    """Have jobs done; give answers and reasons in the order in which they come."""
    found: list[Any] = []
    for job in jobs:
        assert submit(job, found.append, lambda reason: found.append(f"failed: {reason}"))
    wait()
    return found


def eventually(holds: Any) -> bool:
    end = time.monotonic() + LONG
    while not holds() and time.monotonic() < end:
        time.sleep(0.01)
    return bool(holds())


def is_gone(pid: int) -> bool:
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return True
    return status.rpartition(")")[2].split()[0] == "Z"


def test_one_process_does_all_jobs() -> None:
    found = answers(*[Job("process")] * 5)
    assert len(set(found)) == 1
    assert found[0] != os.getpid()


@pytest.mark.parametrize("job", [Job("process"), Job("fail", "no")], ids=lambda job: job.name)
def test_a_job_ahead_starts_the_process_and_its_answer_is_passed_over(helper: background._Helper, job: Job) -> None:
    ahead(job)
    wait()
    assert helper._process is not None
    pid = helper._process.pid
    assert answers(Job("give", 1), Job("process"), Job("give", 2)) == [1, pid, 2]


def test_loading_ahead_may_take_as_long_as_what_waits_for_it() -> None:
    """The process ends itself where a job takes longer than its limit, also one whose answer nobody waits for."""
    assert _Ready.limit >= Build.limit


def test_a_job_ahead_that_ends_the_process() -> None:
    ahead(Job("exit"))
    assert answers(Job("give", 1), Job("give", 2)) == [1, 2]


def test_one_that_was_killed_starts_again() -> None:
    (idle,) = answers(Job("process"))
    os.kill(idle, signal.SIGKILL)
    (pid,) = answers(Job("process"))
    assert pid != idle


def test_one_that_was_killed_at_work_does_the_job_again(tmp_path: Path) -> None:
    found: list[Any] = []
    assert submit(Job("once", str(tmp_path / "pid")), found.append, found.append)
    assert eventually(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text())
    killed = int((tmp_path / "pid").read_text())
    os.kill(killed, signal.SIGKILL)
    wait()
    assert found not in ([], [killed])
    assert isinstance(found[0], int)


def test_it_gives_way_to_others_more_for_jobs_that_nobody_waits_for() -> None:
    mine = os.nice(0)
    (urgent,) = answers(Job("nice", urgent=True))
    (other,) = answers(Job("nice"))
    assert mine < urgent < other
    assert answers(Job("nice")) == [other]
    assert answers(Job("nice", urgent=True)) == [other]  # for good


def test_urgent_jobs_come_first() -> None:
    go = threading.Event()
    later(lambda: go.wait(LONG))  # so that all of them wait
    found: list[int] = []
    for n in range(6):
        submit(Job("give", n, urgent=n % 2 == 1), found.append, found.append)
    go.set()
    wait()
    assert found == [1, 3, 5, 0, 2, 4]


BAD = [
    (Job("fail", "no"), "failed: ValueError: no", True),
    (Job("exit"), "failed: the helper process ended", False),
    (Job("signal", signal.SIGKILL), "failed: the helper process ended", False),
    (Job("crash"), "failed: the helper process ended", False),
    (Job("hang", limit=0.2), "failed: no answer within 0 s", False),
]


@pytest.mark.parametrize(("job", "said", "lives"), BAD, ids=[job.name for job, _, _ in BAD])
def test_a_bad_job_is_told_and_the_next_one_works(job: Job, said: str, lives: bool) -> None:
    first, bad, good, last = answers(Job("process"), job, Job("give", 7), Job("process"))
    assert (bad, good) == (said, 7)
    assert (first == last) == lives


def test_an_answer_that_cannot_be_sent_is_told() -> None:
    bad, good = answers(Job("unpicklable"), Job("give", 7))
    assert bad.startswith("failed: ")
    assert good == 7


def test_a_job_that_cannot_be_sent_is_told() -> None:
    bad, good = answers(Job("give", lambda: None), Job("give", 7))
    assert bad.startswith("failed: ")
    assert good == 7


def test_what_is_done_with_an_answer_may_fail() -> None:
    found: list[Any] = []
    submit(Job("give", 1), lambda answer: 1 / 0, found.append)
    wait()
    assert found == ["division by zero"]
    assert answers(Job("give", 2)) == [2]


def test_it_ends_when_idle_and_begins_again(helper: background._Helper, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "_IDLE", 0.05)
    (pid,) = answers(Job("process"))
    assert eventually(lambda: helper._thread is None and helper._process is None)
    assert is_gone(pid)
    (other,) = answers(Job("process"))
    assert other != pid


def test_where_there_can_be_no_process_the_thread_does_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(*_: Any, **__: Any) -> Any:
        raise OSError("no more processes")

    with monkeypatch.context() as patch:
        patch.setattr(subprocess, "Popen", none)
        assert answers(Job("process")) == [os.getpid()]
    assert answers(Job("process")) != [os.getpid()]


def test_where_there_can_be_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(*_: Any) -> Any:
        raise RuntimeError("can't start new thread")

    done: list[int] = []
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", none)
        assert not submit(Job("give", 1), done.append, done.append)
        later(lambda: done.append(2))
        wait()
    assert done == [2]
    assert answers(Job("give", 3)) == [3]


def test_after_the_exit_began_nothing_is_started(helper: background._Helper) -> None:
    (pid,) = answers(Job("process"))
    helper.end()
    assert is_gone(pid)
    done: list[int] = []
    assert not submit(Job("give", 1), done.append, done.append)
    later(lambda: done.append(2))
    wait()
    assert done == [2]
    assert helper._process is None


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_has_its_own() -> None:
    (ours,) = answers(Job("process"))
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(write, str(answers(Job("process"))).encode())
            background._helper.end()
        finally:
            os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    theirs = os.read(read, 100).decode()
    os.close(read)
    os.close(write)
    assert theirs not in (f"[{ours}]", "")
    assert answers(Job("process")) == [ours]


def script(code: str, *arguments: str) -> subprocess.Popen[str]:
    """Start a program that has jobs done."""
    path = os.pathsep.join([str(HERE), *filter(None, sys.path)])
    head = "import os, sys, time\nfrom jobs import Job\nfrom mdhnp.tuning.background import submit\n"
    command = [sys.executable, "-c", head + code, *arguments]
    return subprocess.Popen(command, env={**os.environ, "PYTHONPATH": path}, stdout=subprocess.PIPE, text=True)


def test_a_daemonic_process_has_none() -> None:
    done = script("""
import multiprocessing
def work(queue): queue.put(submit(Job("give", 1), print, print))
if __name__ == "__main__":
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    process = context.Process(target=work, args=(queue,), daemon=True)
    process.start()
    print(queue.get())
""")
    assert done.communicate(timeout=LONG)[0] == "False\n"


@pytest.mark.parametrize("fork", [False, True], ids=["alone", "a forked child lives on"])
def test_it_ends_with_a_program_that_is_killed(tmp_path: Path, fork: bool) -> None:
    """Also amid a compilation, which sees no signal and no end of a pipe."""
    noted = tmp_path / "pid"
    code = f"""
submit(Job("compile", sys.argv[1]), print, print)
while not os.path.exists(sys.argv[1]) or not open(sys.argv[1]).read(): time.sleep(0.01)
if {fork} and os.fork() == 0:
    os.close(1)
    time.sleep(30)
    os._exit(0)
print("ready", flush=True)
time.sleep(3600)
"""
    program = script(code, str(noted))
    assert program.stdout is not None
    assert program.stdout.readline() == "ready\n"
    pid = int(noted.read_text())
    assert not is_gone(pid)
    program.kill()
    program.wait()
    assert eventually(lambda: is_gone(pid))


@pytest.mark.parametrize("ending", ["", "sys.exit(3)", "raise SystemExit"])
def test_it_ends_with_a_program_that_ends_amid_a_job(tmp_path: Path, ending: str) -> None:
    noted = tmp_path / "pid"
    code = f"""
submit(Job("compile", sys.argv[1]), print, print)
while not os.path.exists(sys.argv[1]) or not open(sys.argv[1]).read(): time.sleep(0.01)
{ending}
"""
    program = script(code, str(noted))
    assert program.communicate(timeout=LONG)[0] == ""
    assert eventually(lambda: is_gone(int(noted.read_text())))

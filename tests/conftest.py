"""What every test shares: a cache folder of its own, the devices, Hypothesis's settings.

A test that takes the fixture `device` runs once for each OpenCL device present, of the kinds in `KINDS`; equal boards
count once. `--device SUBSTRING` keeps those whose runtime, platform or name contains the substring. Nothing is skipped:
no device at all, or none that fits, is an error. Oclgrind, a simulator, is never among them: its tests ask for it.

A plain run takes a part of the tests, the same one each time and on each machine, since names decide. Of a test's cases
so many are drawn as `drawn` says, and each runs on one device if it takes one, as often as `SHARES` says; of tests
marked as `whole`, and of files that are named on the command line, every case runs, and every device gets one of a
test's at least. A test that takes no device finds the runtime first that its name draws, as often as `SHARES` says;
GPUs come before the CPU's, unless `--device` is given. With `--long` each case runs on each device, each test that
takes none runs once for each, which it finds first, and those marked as slow run, too.
"""

from __future__ import annotations

import gc
import os
import shutil
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from math import ceil, sqrt
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zlib import crc32

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from mdhnp.runtime.devices import Device
    from mdhnp.runtime.groups import Group

KINDS = ("intel", "pocl", "nvidia")

#: How many cases in a row a runtime is dealt: one, but PoCL, whose compiler takes a third of the time of Intel's.
SHARES = {"pocl": 7}

# Set before mdhnp is imported. The workers of pytest-xdist inherit the folder of the process that started them.
_OWNS_CACHE = "PYTEST_XDIST_WORKER" not in os.environ
if _OWNS_CACHE:
    os.environ["MDHNP_CACHE_DIR"] = tempfile.mkdtemp(prefix="mdhnp-tests-")
os.environ.pop("MDHNP_DEVICE", None)

os.environ["MDHNP_TUNING"] = "off"  # tests of tuning ask for it
os.environ["MDHNP_HOST"] = "never"  # so that kernels are tested

# `--hypothesis-profile thorough` looks further, and elsewhere each time.
# The device of a test stays the same for all its examples.
_CHECKS = [HealthCheck.function_scoped_fixture]
settings.register_profile("repeatable", suppress_health_check=_CHECKS, deadline=None, derandomize=True, print_blob=True)
settings.register_profile("thorough", suppress_health_check=_CHECKS, deadline=None, max_examples=2000, print_blob=True)
settings.load_profile("repeatable")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--device",
        metavar="SUBSTRING",
        default="",
        help="run device tests only on devices whose runtime, platform or name contains SUBSTRING (any case)",
    )
    parser.addoption("--long", action="store_true", help="run every case, on each device, and the slow ones")
    parser.addoption("--update-golden", action="store_true", help="write tests/golden/* anew instead of comparing")
    parser.addoption("--write-texts", metavar="DIR", help="write the texts that test_texts.py compares hashes of")


def pytest_unconfigure() -> None:
    if _OWNS_CACHE:
        shutil.rmtree(os.environ["MDHNP_CACHE_DIR"], ignore_errors=True)


@pytest.hookimpl(trylast=True)  # of what `-k` and `-m` chose
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("--long"):
        left = {item for item in items if item.get_closest_marker("slow")}
        left |= _left_out([item for item in items if item not in left], config)
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if item not in left]


def is_named(path: Path, config: pytest.Config) -> bool:
    """Whether a file of tests is named on the command line."""
    return any([(config.invocation_params.dir / arg.partition("::")[0]) == path for arg in config.args])


def _left_out(items: list[pytest.Item], config: pytest.Config) -> set[pytest.Item]:
    """Give the cases that are not drawn, and those drawn on devices other than theirs."""
    substring = config.getoption("--device")
    tests = defaultdict[str, defaultdict[str, dict[str, pytest.Item]]](lambda: defaultdict(dict))
    for item in items:
        called = getattr(item, "callspec", None)
        if called is not None:
            taken = called.params.get("device")
            names = chosen_devices(substring) if taken else {}
            name = next((name for name, device in names.items() if device is taken), "")
            # By the case's name: pytest's numbers of stacked parameters and of devices differ from version to version.
            cases = tests[item.nodeid.partition("[")[0]][called.id.replace(name, "")]
            if name in cases:
                raise pytest.UsageError(f"{item.nodeid}: two cases of one name, but for the device's in it")
            cases[name] = item
    left = set()
    for test, cases in tests.items():
        found = next(iter(cases.values()))
        one, takes_device, enough = next(iter(found.values())), "" not in found, len(cases) >= len(found)
        named = is_named(one.path, config)
        for place, case in enumerate(sorted(cases, key=mixed)):
            whole = named or next(iter(cases[case].values())).get_closest_marker("whole")
            if not whole and place >= drawn(len(cases)):
                left |= {*cases[case].values()}
            elif takes_device and (enough or not whole):
                dealt = turn(place if enough else mixed(test), substring)
                left |= {item for name, item in cases[case].items() if name != dealt and dealt in cases[case]}
    return left


def drawn(cases: int) -> int:
    """Give how many of a test's cases a plain run takes: all of up to three, eleven of a hundred."""
    return ceil(sqrt(cases)) + 1


def turn(place: int, substring: str) -> str:
    """Give the identifier of the device whose turn it is: one of each kind first, then the others of `SHARES`."""
    names = [*chosen_devices(substring)]
    wheel = names + [name for name in names for _ in range(SHARES.get(name.rstrip("0123456789"), 1) - 1)]
    return wheel[place % len(wheel)]


def mixed(name: str) -> int:
    """Give a name's number, which says in which order names take turns."""
    return crc32(name.encode())


def pytest_collection_finish() -> None:
    gc.freeze()  # tens of thousands of tests, which each collection of garbage would look at


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    from mdhnp.runtime.devices import devices

    takes_one = "device" in metafunc.fixturenames
    if takes_one or (metafunc.config.getoption("--long") and devices()):
        chosen = chosen_devices(metafunc.config.getoption("--device"))
        name = "device" if takes_one else "first_device"
        metafunc.parametrize(name, list(chosen.values()), ids=list(chosen), indirect=True)


@pytest.fixture
def device(request: pytest.FixtureRequest) -> Iterator[Device]:
    """One OpenCL device, made the current one; the test runs once for each that is present."""
    from mdhnp.runtime.devices import device as use

    with use(request.param):
        yield request.param


@pytest.fixture(autouse=True)
def first_device(request: pytest.FixtureRequest, pytestconfig: pytest.Config) -> Iterator[None]:
    """Have a test that takes no device find one before all others: with `--long` each, else the one its name draws."""
    from mdhnp.runtime import devices

    found = devices.devices()
    with pytest.MonkeyPatch.context() as patch:
        if found and "device" not in request.fixturenames:
            substring = pytestconfig.getoption("--device")
            named = chosen_devices(substring)[turn(mixed(request.node.nodeid), substring)]
            first = getattr(request, "param", named)
            asked = bool(substring) or hasattr(request, "param")
            order = sorted(found, key=lambda d: (d.kind == "cpu" and not asked, d is not first))
            patch.setattr(devices, "_found", [tuple(order)])
            patch.setattr(devices, "_undecided", cache(devices._undecided.__wrapped__))
            request.node.add_report_section("setup", "first device", order[0].runtime)
        yield


@pytest.fixture(params=["shared", "separate"])
def where(request: pytest.FixtureRequest, device: Device) -> Iterator[Device]:
    """Make a device the current one, and it again as if it had memory of its own: that of Arrays."""
    from separate import separate

    from mdhnp.runtime.devices import device as use

    with use(device if request.param == "shared" else separate(device)) as chosen:
        yield chosen


@pytest.fixture(params=["unlike", "apart", "mixed"])
def several(request: pytest.FixtureRequest) -> Iterator[Group]:
    """Several devices, made the current ones: unlike ones, with memory of their own, and some of each kind."""
    from several import groups

    from mdhnp.runtime.devices import device as use

    with use(groups()[request.param]()) as chosen:
        yield chosen


@pytest.fixture
def pair() -> Iterator[Group]:
    """Two devices, made the current ones."""
    from several import groups

    from mdhnp.runtime.devices import device as use

    with use(groups()["unlike"]()) as chosen:
        yield chosen


@pytest.fixture
def cut_always() -> Iterator[None]:
    """Small calls are cut for several devices, too."""
    from several import cut_always

    with cut_always():
        yield


@pytest.fixture
def in_threads(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Have the settings a user has, since parts are computed by other threads, and two of these."""
    import dask

    import mdhnp

    monkeypatch.setattr(mdhnp.config, "host", "auto")
    with dask.config.set(scheduler="threads", num_workers=2):
        yield


@pytest.fixture(autouse=True, scope="module")
def short_collections() -> Iterator[None]:
    """No collection of garbage looks at what modules before have left in caches."""
    yield
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True, scope="session")
def checked() -> Iterator[None]:
    """What is made without checks, since its parts fit by construction, is checked in all tests."""
    from mdhnp.mdh import MdHom

    check = MdHom.__post_init__
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(MdHom, "__post_init__", lambda h, checked: check(h, True))
        yield


@pytest.fixture
def binaries_on_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Binaries are stored whatever the device."""
    from mdhnp.runtime import programs

    monkeypatch.setattr(programs, "UNASKED", ())


@pytest.fixture
def garbage_in_temporaries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Temporaries are NaN before a call, so that what is read but was not written shows; not in buffers."""
    from mdhnp.runtime.memory import SystemMemory

    prepare = SystemMemory._prepare

    def prepared(self: SystemMemory) -> None:
        prepare(self)
        allocate = self.temporaries

        def temporaries() -> tuple[Any, ...]:
            memory = allocate()
            for each in memory:
                each[...] = 0xFF
            return memory

        self.temporaries = temporaries

    monkeypatch.setattr(SystemMemory, "_prepare", prepared)


@cache
def chosen_devices(substring: str) -> dict[str, Device]:
    """Test identifier -> device, one for each different device of the known kinds."""
    from mdhnp.runtime.devices import devices

    found: dict[tuple[str, str], Device] = {}
    for candidate in devices():
        kind = next((kind for kind in KINDS if kind in str(candidate.runtime).lower()), None)
        if kind is not None and substring.lower() in _description(candidate).lower():
            found.setdefault((kind, candidate.name), candidate)
    if not found:
        present = "; ".join(map(_description, devices())) or "none"
        raise pytest.UsageError(f"no OpenCL device to test on (--device {substring!r}); present: {present}")
    kinds = [kind for kind, _ in found]
    return {
        kind if kinds.count(kind) == 1 else f"{kind}{kinds[:position].count(kind)}": found[kind, name]
        for position, (kind, name) in enumerate(found)
    }


def _description(candidate: Device) -> str:
    return f"{candidate.runtime} / {candidate.platform} / {candidate.name}"

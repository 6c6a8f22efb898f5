"""Settings: of the process, of a block in one thread, and the values they take."""

import threading
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from mdhnp.schedule import Schedule
from mdhnp.settings import Config, config


def test_blocks_nest_and_end():
    before = config.tuning
    with config(tuning="full", budget=1) as inside:
        assert inside is config
        with config(tuning="off"):
            assert (config.tuning, config.budget) == ("off", 1)
        assert config.tuning == "full"
    assert config.tuning == before


def test_a_block_is_entered_as_often_as_one_likes():
    usual, block = config.tuning, config(tuning="full")
    with config(precision="default"), block, block:
        assert (config.tuning, config.precision) == ("full", "default")
    with block:
        assert (config.tuning, config.precision) == ("full", "highest")

    @block
    def tuning():
        return config.tuning

    assert (tuning(), config.tuning) == ("full", usual) != ("full", "full")


def test_a_block_is_of_its_thread():
    seen = []
    with config(fallback="error"):
        thread = threading.Thread(target=lambda: seen.append(config.fallback))
        thread.start()
        thread.join()
    assert seen == ["auto"]


def test_assigning_is_for_all_and_shows_after_a_block():
    mine = Config({})
    with mine(evaluations=7):
        mine.evaluations = 9
        assert mine.evaluations == 7
    assert mine.evaluations == 9
    assert "evaluations=9" in repr(mine)
    assert "evaluations" in dir(mine)


@pytest.mark.parametrize(("text", "value"), [("", "auto"), ("off", "off"), (" Background ", "background")])
def test_the_environment_gives_the_first_policy(text, value):
    assert Config({"MDHNP_TUNING": text}).tuning == value


@pytest.mark.parametrize(("text", "value"), [("", "auto"), ("Never", "never")])
def test_the_environment_says_who_computes_small_calls(text, value):
    assert Config({"MDHNP_HOST": text}).host == value


@pytest.mark.parametrize(("text", "value"), [("", "highest"), ("Default", "default")])
def test_the_environment_says_how_exact_products_are(text, value):
    assert Config({"MDHNP_PRECISION": text}).precision == value


@pytest.mark.parametrize(("text", "value"), [("", 0), ("0", 0), (" 3 ", 3)])
def test_the_environment_says_what_is_shown(text, value):
    assert Config({"MDHNP_DEBUG": text}).debug == value


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("debug", 5, "none of 0, 1, 2, 3, 4"),
        ("debug", np.array([1, 2]), "none of 0, 1, 2, 3, 4"),
        ("debug", "1", "none of 0, 1, 2, 3, 4"),
        ("tuning", "never", "'auto', 'background', 'full', 'off'"),
        ("host", "always", "'auto', 'never'"),
        ("precision", "low", "'highest', 'high', 'default'"),
        ("fallback", None, "'numpy', 'error'"),
        ("budget", 0, "positive number of seconds"),
        ("budget", float("inf"), "positive number of seconds"),
        ("budget", "long", "positive number of seconds"),
        ("budget", np.float32("nan"), "positive number of seconds"),
        ("budget", np.int64(-3), "positive number of seconds"),
        ("budget", 10**400, "positive number of seconds"),
        ("budget", Fraction(-(10**400)), "positive number of seconds"),
        ("budget", True, "positive number of seconds"),
        ("evaluations", 0, "integer of at least 1"),
        ("evaluations", 2.5, "integer of at least 1"),
        ("evaluations", np.float64(2), "integer of at least 1"),
        ("evaluations", True, "integer of at least 1"),
        ("memory_limit", np.int64(-1), "neither None nor a number of bytes"),
        ("schedule", "fast", "neither None nor a mdhnp.tuning.Schedule"),
        ("schedule", (), "neither None nor a mdhnp.tuning.Schedule"),
        ("schedule", replace(Schedule.plain((3,), 1), num_wg=[1]), r"num_wg: \[1\] is no tuple"),
    ],
)
def test_wrong_values(name, value, says):
    before = getattr(config, name)
    with pytest.raises(ValueError, match=says), config(**{name: value}):
        pass
    with pytest.raises(ValueError, match=rf"config\.{name}.*{says}"):
        setattr(config, name, value)
    assert getattr(config, name) == before


@pytest.mark.parametrize(
    ("name", "value", "has"),
    [
        ("budget", 3, 3.0),
        ("budget", np.int64(3), 3.0),
        ("budget", np.float32(0.5), 0.5),
        ("evaluations", np.int32(7), 7),
        ("memory_limit", np.uint64(2**40), 2**40),
        ("debug", np.int64(2), 2),
        ("deterministic", np.True_, True),
    ],
)
def test_numbers_of_numpy_are_python_s(name, value, has):
    mine = Config({})
    with mine(**{name: value}):
        assert (getattr(mine, name), type(getattr(mine, name))) == (has, type(has))
    setattr(mine, name, value)
    assert (getattr(mine, name), type(getattr(mine, name))) == (has, type(has))


def test_unknown_settings():
    with pytest.raises(AttributeError, match="no setting 'speed'; there are tuning"):
        config.speed = 1
    with pytest.raises(AttributeError, match="no setting 'speed'"):
        _ = config.speed
    with pytest.raises(TypeError, match="no setting 'speed'"), config(speed=1):
        pass
    with pytest.raises(ValueError, match="environment variable MDHNP_TUNING: 'soon'"):
        Config({"MDHNP_TUNING": "soon"})
    for value in ("9", "-1", "on"):
        with pytest.raises(ValueError, match=r"environment variable MDHNP_DEBUG: .* is none of 0, 1, 2, 3, 4"):
            Config({"MDHNP_DEBUG": value})


def test_the_mode_is_that_of_the_settings_in_force():
    mine = Config({})
    first = mine.mode
    assert (first.host, first.tuning, first.specialise) == (mine.host, mine.tuning, mine.specialise)
    with mine(host="never"):
        inside = mine.mode
        assert (inside, inside.host, inside.tuning) == (mine.mode, "never", first.tuning)
        mine.tuning = "off"
        assert (mine.mode.host, mine.mode.tuning) == ("never", "off")
        with mine(tuning="full", budget=3):
            assert (mine.mode.host, mine.mode.tuning) == ("never", "full")
    assert (mine.mode.host, mine.mode.tuning) == (first.host, "off")
    mine.tuning = first.tuning
    assert mine.mode is first
    given = Schedule.plain((3,), 1)
    with mine(schedule=given, tuning="full"):
        assert (mine.schedule, mine.mode.schedules, mine.mode.tuning) == ((given,), (given,), "off")
        assert mine.mode.of_views.schedules == (given,)
    with config(memory_limit=100) as mine:
        assert mine.mode.of_views.memory_limit == 100


def test_numbers_that_python_does_not_write_are_refused_by_name() -> None:
    for name, number in (("budget", 10**5000), ("memory_limit", -(10**5000)), ("specialise", 10**5000)):
        with pytest.raises(ValueError, match=f"{name}: a number of too many digits"):
            setattr(config, name, number)

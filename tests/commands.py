"""Commands of the command line, run in this process."""

from click.testing import CliRunner, Result

from mdhnp.cli import main


def run(*args: object, status: int = 0, typed: str | None = None) -> Result:
    result = CliRunner().invoke(main, list(map(str, args)), input=typed)
    unforeseen = result.exception is not None and not isinstance(result.exception, SystemExit)
    assert not unforeseen, repr(result.exception)
    assert result.exit_code == status, result.output
    return result

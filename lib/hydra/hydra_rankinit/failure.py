"""A job's failure as an exception: the failing rank's own type, message and traceback."""
import builtins
from typing import Any, Dict


class RankTraceback(Exception):
    """Shown as the cause: where in which rank it happened."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text

    def __str__(self) -> str:
        return "\n" + self.text


class RankFailed(Exception):
    """A job has failed; `verdict` is rankinit's summary of it."""

    def __init__(self, verdict: Dict[str, Any]) -> None:
        # Not the next class: some builtin exceptions want arguments of their own.
        Exception.__init__(self, _message(verdict))
        self.verdict = verdict

    def __str__(self) -> str:
        return str(self.args[0])

    def __reduce__(self) -> Any:
        return from_verdict, (self.verdict,)


def _error(verdict: Dict[str, Any]) -> Dict[str, Any]:
    return verdict.get("root_cause", {}).get("error", {})


def _message(verdict: Dict[str, Any]) -> str:
    error = _error(verdict)
    return error.get("message", "") if "type" in error else verdict.get("message", "no verdict")


def _type(name: str) -> Any:
    """A class of that name which is a RankFailed too, and the builtin one if there is such."""
    module, _, short = name.rpartition(".")
    builtin = getattr(builtins, name, None)
    bases: Any = (RankFailed,)
    if isinstance(builtin, type) and issubclass(builtin, Exception) and builtin is not Exception:
        bases = (RankFailed, builtin)
    return type(short, bases, {"__module__": module or "builtins"})


def from_verdict(verdict: Dict[str, Any]) -> RankFailed:
    """The exception for a summary whose verdict is not `succeeded`."""
    name = _error(verdict).get("type")
    ret: RankFailed = _type(name)(verdict) if name else RankFailed(verdict)
    text = verdict.get("root_cause", {}).get("traceback", "")
    if name:
        ret.__cause__ = RankTraceback(f"{verdict.get('message', '')}\n{text}".rstrip())
    return ret

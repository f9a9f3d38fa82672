"""INT and TERM while jobs run: passed on to them, remembered, and raised when they have ended."""
import signal
import threading
from typing import Any, Callable, Dict, List


class Stop:
    """A context. What runs registers how it is told; a process forked in it does the same again."""

    def __init__(self) -> None:
        self.signal = 0
        self.tell: List[Callable[[int], None]] = []
        self._before: Dict[int, Any] = {}

    def __enter__(self) -> "Stop":
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                if signal.getsignal(number) is not signal.SIG_IGN:  # as under nohup
                    self._before[number] = signal.signal(number, self._on_signal)
        return self

    def __exit__(self, *_: Any) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _on_signal(self, number: int, _: Any) -> None:
        self.signal = self.signal or number
        for tell in list(self.tell):
            tell(number)

    def add(self, tell: Callable[[int], None]) -> None:
        self.tell.append(tell)
        if self.signal:  # it came before there was anybody to tell
            tell(self.signal)

    def remove(self, tell: Callable[[int], None]) -> None:
        self.tell.remove(tell)

    def check(self) -> None:
        """Neither is an Exception: Hydra runs no further job."""
        if self.signal == signal.SIGINT:
            raise KeyboardInterrupt
        if self.signal:
            raise SystemExit(128 + self.signal)

"""The terminal of `oneclaw chat`: a line to type in and a status line below what is said.

What is said scrolls like any other output. Below it, the open end of an answer, the line that the user types, and the
status line are drawn anew when they change; see :mod:`oneclaw_terminal.lines` for terminals where that is no help.
"""

from __future__ import annotations

import asyncio
import io
import signal
import sys
import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, TextIO

from prompt_toolkit.application import Application, in_terminal
from prompt_toolkit.application.current import set_app
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.filters import Condition, has_completions, has_focus
from prompt_toolkit.formatted_text import ANSI
from prompt_toolkit.key_binding import KeyBindings
from prompt_toolkit.layout import (
    BufferControl,
    CompletionsMenu,
    ConditionalContainer,
    Dimension,
    Float,
    FloatContainer,
    FormattedTextControl,
    HSplit,
    Layout,
    Window,
)
from prompt_toolkit.output import create_output
from prompt_toolkit.styles import Style
from prompt_toolkit.widgets import SearchToolbar

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from prompt_toolkit.completion import Completer
    from prompt_toolkit.formatted_text import StyleAndTextTuples
    from prompt_toolkit.history import History
    from prompt_toolkit.key_binding import KeyPressEvent

# Terminals that know it draw what stands between the two at once.
_BEGIN_UPDATE, _END_UPDATE = "\x1b[?2026h", "\x1b[?2026l"
_REDRAW_SECONDS = 0.05
_TWICE_SECONDS = 2.0
_MENU_ROWS = 6
# Rows that the live text leaves to the line that is typed, the status and some of what was said.
_OTHER_ROWS = 8


class ChatScreen:
    """A terminal with a line that can be typed in at any time.

    Args:
        history: of what was typed.
        completer: of what is typed.
        live: the text that is drawn above the line that is typed, with escape sequences for styles; gets the width and
            the most rows, ends without a newline, and is ``""`` for none.
        status: the text of the status line; gets the width.
        interrupt: stops the answer that is being given; False if there is none.
    """

    def __init__(
        self,
        history: History,
        completer: Completer,
        live: Callable[[int, int], str],
        status: Callable[[int], str],
        interrupt: Callable[[], bool],
    ) -> None:
        self._lines: asyncio.Queue[str | None] = asyncio.Queue()
        self._live = live
        self._status = status
        self._interrupt = interrupt
        self._interrupted_at = float("-inf")
        self._unwritten: list[str] = []
        self._is_flushing = self._is_away = self._is_updating = False
        self._output = create_output(sys.stdout)
        # Nothing here needs to know where the cursor is, and asking may take long.
        self._output.enable_cpr = False  # type: ignore[attr-defined]
        self._buffer = Buffer(
            history=history,
            completer=completer,
            complete_while_typing=Condition(lambda: self._buffer.text.startswith("/")),
            enable_history_search=False,
            multiline=True,
            accept_handler=self._accept,
        )
        self._app: Application[None] = Application(
            layout=self._layout(),
            key_bindings=self._key_bindings(),
            style=Style([("prompt", "bold")]),
            output=self._output,
            min_redraw_interval=_REDRAW_SECONDS,
            after_render=lambda _: self._end_update(),
            erase_when_done=True,
        )

    async def read(self) -> str | None:
        """Return the next line that is typed; ``None`` once the user leaves."""
        return await self._lines.get()

    @property
    def columns(self) -> int:
        """The width of the terminal."""
        return self._output.get_size().columns

    def write_raw(self, sequence: str) -> None:
        """Write an escape sequence that shows nothing, at once."""
        self._output.write_raw(sequence)
        self._output.flush()

    def refresh(self) -> None:
        """Draw the live text and the status line anew, soon."""
        self._app.invalidate()

    def leave(self) -> None:
        """End the input."""
        self._lines.put_nowait(None)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Show the screen while the block runs; what is printed meanwhile stands above it."""
        stdout, stderr = sys.stdout, sys.stderr
        loop = asyncio.get_running_loop()
        stream: Any = _ScreenStream(self._write, stdout, loop)
        self._streams = stdout, stderr, stream
        sys.stdout, sys.stderr = stream, stream
        showing = asyncio.create_task(self._app.run_async(handle_sigint=False))
        loop.add_signal_handler(signal.SIGINT, self._on_interrupt)
        try:
            yield
        finally:
            loop.remove_signal_handler(signal.SIGINT)
            if self._app.is_running:
                self._app.exit()
            await asyncio.wait({showing})
            sys.stdout, sys.stderr = stdout, stderr
            self._flush()
            stdout.write(stream.rest())
            stdout.flush()

    @asynccontextmanager
    async def giving_way(self) -> AsyncIterator[None]:
        """Leave the terminal to a question while the block runs; what is typed so far stays for later."""
        self._flush()
        with set_app(self._app):
            async with in_terminal():
                self._is_away = True
                sys.stdout, sys.stderr, _ = self._streams
                try:
                    yield
                finally:
                    sys.stdout = sys.stderr = self._streams[2]
                    self._is_away = False
                    self._flush()

    def _write(self, text: str) -> None:
        """Write whole lines above the screen, together with those that follow at once."""
        self._unwritten.append(text)
        if not self._is_flushing:
            self._is_flushing = True
            asyncio.get_running_loop().call_soon(self._flush)

    def _flush(self) -> None:
        self._is_flushing = False
        if self._is_away or not self._unwritten:
            return
        text = "".join(self._unwritten)
        self._unwritten.clear()
        is_drawn = self._app.is_running
        if is_drawn:
            self._begin_update()
            self._app.renderer.erase()
        self._output.write_raw(text.replace("\n", "\r\n") if is_drawn else text)
        self._output.flush()
        if is_drawn:
            self._app.invalidate()

    def _begin_update(self) -> None:
        if not self._is_updating:
            self._is_updating = True
            self._output.write_raw(_BEGIN_UPDATE)

    def _end_update(self) -> None:
        if self._is_updating:
            self._is_updating = False
            self._output.write_raw(_END_UPDATE)
            self._output.flush()

    # What is typed

    def _accept(self, buffer: Buffer) -> bool:
        self._interrupted_at = float("-inf")
        if buffer.text.strip():
            self._lines.put_nowait(buffer.text)
        return False  # and the line is cleared

    def _on_interrupt(self) -> None:
        """Stop the answer, or clear the line; leave at the second time."""
        now = time.monotonic()
        is_second = now - self._interrupted_at < _TWICE_SECONDS
        self._interrupted_at = now
        if is_second:
            self.leave()
        elif not self._interrupt():
            if self._buffer.text:
                self._buffer.reset()
            else:
                print("(Ctrl-C again, /exit or Ctrl-D leaves)")  # noqa: T201  # above the line that is typed

    def _key_bindings(self) -> KeyBindings:
        bindings = KeyBindings()

        @Condition
        def wants_more() -> bool:
            state = self._buffer.complete_state
            chosen = state.current_completion if state is not None else None
            return chosen is not None and chosen.text.endswith(" ")

        @bindings.add("enter", filter=has_focus(self._buffer))
        def _send(event: KeyPressEvent) -> None:
            event.current_buffer.validate_and_handle()

        @bindings.add("enter", filter=has_focus(self._buffer) & wants_more)
        def _take_completion(event: KeyPressEvent) -> None:
            # What is chosen in the menu stands in the line already, and is sent by the next Enter.
            event.current_buffer.complete_state = None

        @bindings.add("tab", filter=has_focus(self._buffer) & ~has_completions)
        def _complete(event: KeyPressEvent) -> None:
            event.current_buffer.start_completion(insert_common_part=True)

        @bindings.add("tab", filter=has_focus(self._buffer) & has_completions)
        def _next_completion(event: KeyPressEvent) -> None:
            event.current_buffer.complete_next()

        @bindings.add("escape", "enter", filter=has_focus(self._buffer))
        def _new_line(event: KeyPressEvent) -> None:
            event.current_buffer.insert_text("\n")

        @bindings.add("c-c")
        def _stop(event: KeyPressEvent) -> None:
            self._on_interrupt()

        @bindings.add("c-d", filter=Condition(lambda: not self._buffer.text))
        def _leave(event: KeyPressEvent) -> None:
            self.leave()

        @bindings.add("c-z")
        def _suspend(event: KeyPressEvent) -> None:
            event.app.suspend_to_background()

        return bindings

    # How it looks

    def _layout(self) -> Layout:
        search = SearchToolbar(ignore_case=True)
        typed = Window(
            BufferControl(self._buffer, search_buffer_control=search.control, preview_search=True),
            get_line_prefix=lambda line, wrapped: [("class:prompt", "> " if line == wrapped == 0 else "  ")],
            height=lambda: Dimension(min=1 + (_MENU_ROWS if self._buffer.complete_state else 0), max=10),
            wrap_lines=True,
            dont_extend_height=True,
        )
        live = ConditionalContainer(
            Window(FormattedTextControl(self._live_text), dont_extend_height=True, wrap_lines=False),
            Condition(lambda: bool(self._live_rows())),
        )
        status = Window(
            FormattedTextControl(self._status_text), height=1, dont_extend_height=True, style="class:status"
        )
        menu = Float(CompletionsMenu(max_height=_MENU_ROWS, scroll_offset=1), xcursor=True, ycursor=True)
        return Layout(FloatContainer(HSplit([live, typed, search, status]), [menu]), focused_element=typed)

    def _live_rows(self) -> str:
        size = self._output.get_size()
        return self._live(size.columns, max(size.rows - _OTHER_ROWS, 3))

    def _live_text(self) -> ANSI:
        return ANSI(self._live_rows())

    def _status_text(self) -> StyleAndTextTuples:
        return [("", self._status(self._output.get_size().columns - 1))]


class _ScreenStream(io.TextIOBase):
    """Stands for stdout and stderr: passes on whole lines, from any thread."""

    def __init__(self, write: Callable[[str], None], stream: TextIO, loop: asyncio.AbstractEventLoop) -> None:
        self._write = write
        self._stream = stream
        self._loop = loop
        self._open_line = ""

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self._stream.encoding or "utf-8"

    @property
    def errors(self) -> str | None:  # type: ignore[override]
        return self._stream.errors

    def isatty(self) -> bool:
        return self._stream.isatty()

    def fileno(self) -> int:
        return self._stream.fileno()

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        lines, newline, rest = (self._open_line + text).rpartition("\n")
        self._open_line = rest
        if newline:
            try:
                is_here = asyncio.get_running_loop() is self._loop
            except RuntimeError:
                is_here = False
            if is_here:
                self._write(lines + newline)
            else:
                self._loop.call_soon_threadsafe(self._write, lines + newline)
        return len(text)

    def rest(self) -> str:
        """Take a line without an end."""
        rest, self._open_line = self._open_line, ""
        return rest

"""The pace that Telegram allows: one message a second in a chat, 20 a minute in a group, 30 a second in all.

See https://core.telegram.org/bots/faq#my-bot-is-hitting-limits-how-do-i-avoid-this.
"""

from __future__ import annotations

PRIVATE_SECONDS = 1.0
GROUP_SECONDS = 3.0
ALL_SECONDS = 1 / 30
_MOST_CHATS = 1_000


class Pace:
    """The times at which a bot may send; all times are those of one steady clock."""

    def __init__(self) -> None:
        self._free_at: dict[int, float] = {}
        self._blocked_until: dict[int, float] = {}
        self._all_free_at = 0.0

    def take(self, chat: int, now: float) -> float:
        """Take the next place in the line; return its time.

        Args:
            chat: the number of the chat; groups have negative ones.
            now: the time.
        """
        begin = max(now, self._free_at.get(chat, 0.0), self._all_free_at)
        self._forget(now)
        self._free_at[chat] = begin + (PRIVATE_SECONDS if chat > 0 else GROUP_SECONDS)
        # A chat that waits for its own turn keeps no other one from sending.
        self._all_free_at = max(now, self._all_free_at) + ALL_SECONDS
        return begin

    def block(self, chat: int, until: float) -> None:
        """Note that Telegram takes nothing for a chat until a time."""
        self._blocked_until[chat] = until

    def blocked_seconds(self, chat: int, now: float) -> float:
        """Return how long Telegram takes nothing for a chat; 0 or less if it does."""
        return self._blocked_until.get(chat, 0.0) - now

    def _forget(self, now: float) -> None:
        if len(self._free_at) > _MOST_CHATS:
            self._free_at = {chat: time for chat, time in self._free_at.items() if time > now}
            self._blocked_until = {chat: time for chat, time in self._blocked_until.items() if time > now}

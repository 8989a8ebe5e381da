from collections.abc import Sequence
from os import PathLike
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

def games() -> list[str]:
    """Returns the names of all games in the program, including those whose rules are a text."""

@final
class Game:
    """The rules of one variant of a game.

    `Game("cage-6")` is a game of the program, `Game("my.game")` is a game whose rules are a text, and keywords are the
    game's options: `Game("hex", size=7)`. `Game(Nim())` is a game written in Python; `help(petteia.Game)` says what the
    object must have. A game is immutable and can be pickled.
    """

    def __new__(cls, name: str | PathLike[str] | object, **options: bool | float | str) -> Game: ...
    @staticmethod
    def from_text(text: str, **options: bool | float | str) -> Game:
        """Returns the game whose rules are this text."""
    @property
    def id(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def players(self) -> tuple[str, str]: ...
    @property
    def options(self) -> dict[str, bool | float | str]: ...
    @property
    def shape(self) -> tuple[int, int, int]:
        """The shape of an encoded position: (planes, height, width)."""
    @property
    def actions(self) -> int:
        """The number of actions of the policy; an action is a number below this."""
    @property
    def max_plies(self) -> int: ...
    @property
    def manual(self) -> str: ...
    def position(self, text: str | None = None, actions: Sequence[int | str] = ()) -> Position:
        """Returns a game after `actions`, played from the beginning or from the position that `text` names."""
    def batch(self, n: int, auto_reset: bool = True, seed: int = 0) -> Batch:
        """Returns `n` games that are stepped together; with `auto_reset`, a game that has ended begins again at once."""
    def unpack(
        self, packed: NDArray[np.uint64], out: NDArray[np.float32] | None = None
    ) -> NDArray[np.float32]:
        """Makes the planes, float32 [n, planes, height, width], of what `Batch.observe_packed` returns."""
    def perft(self, depth: int) -> int:
        """Returns the number of sequences of `depth` actions from the beginning."""

@final
class Position:
    """A game in progress: where it began, the actions since then, and the current position."""

    @property
    def game(self) -> Game: ...
    @property
    def to_move(self) -> int:
        """The player to move: 0 for the first player, 1 for the second. Players need not alternate."""
    @property
    def text(self) -> str: ...
    @property
    def actions(self) -> list[int]: ...
    @property
    def action_texts(self) -> list[str]: ...
    @property
    def is_over(self) -> bool: ...
    @property
    def outcome(self) -> str | None:
        """How the game ended: "first", "second", or "draw"; None if the game is not over."""
    @property
    def ending(self) -> str: ...
    @property
    def returns(self) -> tuple[float, float]:
        """The results (first, second): 1 for a win, -1 for a loss, otherwise 0."""
    @property
    def key(self) -> int: ...
    def legal_actions(self) -> list[int]: ...
    def legal_texts(self) -> list[str]: ...
    def action_text(self, action: int | str) -> str: ...
    def action_number(self, action: int | str) -> int: ...
    def play(self, action: int | str) -> None: ...
    def undo(self) -> None: ...
    def planes(self) -> NDArray[np.float32]:
        """Returns the planes, float32 [planes, height, width], from the point of view of the player to move."""
    def mask(self) -> NDArray[np.bool_]:
        """Returns which actions are legal, bool [actions]."""
    def clone(self) -> Position: ...
    def svg(self) -> str: ...
    def __copy__(self) -> Position: ...
    def __deepcopy__(self, _memo: Any) -> Position: ...

@final
class Batch:
    """N instances of one game, each at its own position, that are stepped together."""

    def __len__(self) -> int: ...
    @property
    def game(self) -> Game: ...
    @property
    def to_move(self) -> NDArray[np.int8]:
        """The player to move in each game, int8 [n]: 0 for the first player, 1 for the second."""
    def observe(self, out: NDArray[np.float32] | None = None) -> NDArray[np.float32]:
        """Returns the planes, float32 [n, planes, height, width], each from the point of view of the player to move."""
    def observe_packed(self, out: NDArray[np.uint64] | None = None) -> NDArray[np.uint64]:
        """Returns the planes as bits, uint64 [n, planes, words]; `Game.unpack` makes the floats of `observe` of them."""
    def mask(self, out: NDArray[np.bool_] | None = None) -> NDArray[np.bool_]:
        """Returns which actions are legal, bool [n, actions]; none where a game is over."""
    def sample(self, seed: int | None = None) -> NDArray[np.uint16]:
        """Returns a legal action for each game, drawn with equal probability; 0 where a game is over."""
    def apply(self, actions: NDArray[np.uint16]) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
        """Plays an action in each game and returns (rewards, ended): float32 [n, 2] and bool [n]."""
    def legal_actions(self, index: int) -> NDArray[np.uint16]: ...
    def position(self, index: int) -> Position: ...
    def set(self, index: int, position: Position) -> None: ...
    def reset(self, index: int | None = None) -> None: ...

# The functions that petteia/__init__.py calls. `_asking` in that file makes the dict `asking`.
def _end() -> None: ...
def _analyze(positions: list[Position], agent: Any, asking: dict[str, Any]) -> list[dict[str, Any] | None]: ...
def _evaluate(
    positions: list[Position], agent: Any, asking: dict[str, Any]
) -> tuple[NDArray[np.float32], NDArray[np.float32]]: ...
def _play_match(
    game: Game, first: Any, second: Any, games: int, opening_plies: int, asking: dict[str, Any]
) -> str: ...
def _ladder(game: Game, values: list[Any], games: int, opening_plies: int, asking: dict[str, Any]) -> str: ...
def _accuracy(game: Game, agent: Any, path: str | PathLike[str], asking: dict[str, Any]) -> str: ...
def _balance(
    game: Game,
    levels: list[Any],
    experts: int,
    games: int,
    most_games: int,
    within: float,
    solver: int,
    asking: dict[str, Any],
) -> str: ...
def _solve(position: Position, nodes: int, table: int) -> tuple[str | None, list[tuple[int, str | None]], int]: ...
def _selfplay(
    game: Game, agent: Any, games: int, asking: dict[str, Any]
) -> tuple[list[str], dict[str, NDArray[Any]]]: ...
def _records(
    path: str | PathLike[str],
    generations: list[int] | None = None,
    game: Game | None = None,
    window: bool = False,
) -> tuple[Game, list[str], dict[str, NDArray[Any]]]: ...
def _write_records(
    path: str | PathLike[str],
    game: Game,
    games: list[list[str]],
    outcomes: list[str | None] | None = None,
    ended: list[str | None] | None = None,
) -> int: ...
def _write_lines(path: str | PathLike[str], lines: list[str]) -> int: ...
def _weights(path: str | PathLike[str], game: Game | None = None) -> bytes: ...
def _write_weights(
    path: str | PathLike[str], tensors: bytes, like: str | PathLike[str], game: Game | None = None
) -> None: ...
def _new_network(path: str | PathLike[str], game: Game, seed: int, settings: dict[str, Any] | None) -> None: ...
def _check_game(game: Game, games: int, seed: int) -> str: ...
def _game(id: str, options: str) -> Game: ...

"""Rules, search, self-play and agents for two-player abstract board games, batched, at the speed of the program.

>>> import petteia
>>> game = petteia.Game("connect-four")
>>> position = game.position(actions=["4", "4", "3"])
>>> found = petteia.analyze([position], "rollout", simulations=400)[0]
>>> found.text in position.legal_texts()
True

An evaluator is a function of planes, float32 [n, planes, height, width], that returns (policy, value): probabilities
[n, actions], and [n, 3] for win, draw and loss of the player to move, or [n] for values of -1 to 1. It is asked once for each
batch, always on the thread that called; an exception in it ends the work and surfaces unchanged.

An agent is a text as on the command line ("shipped", "rollout:400", a run, a checkpoint, an exported file; ":N" behind it is
the number of simulations), or an evaluator.

Functions that search use all cores and hold no interpreter lock meanwhile; called on the main thread, they end by Ctrl-C, as a
KeyboardInterrupt. An evaluator cannot call them itself: the cores wait for its answer. After a fork, a child process
cannot use a parent's threads: use multiprocessing.get_context("spawn").
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Union

import numpy as np

from petteia import _petteia
from petteia._petteia import Batch, Game, Position, games

__all__ = [
    "Analysis",
    "Batch",
    "Evaluation",
    "Game",
    "Ladder",
    "MatchResult",
    "Position",
    "Rated",
    "Records",
    "Solution",
    "accuracy",
    "analyze",
    "balance",
    "evaluate",
    "games",
    "ladder",
    "metrics",
    "play_match",
    "records",
    "selfplay",
    "solve",
    "write_records",
]

Evaluator = Callable[[np.ndarray], "tuple[Any, Any]"]
Agent = Union[str, "os.PathLike[str]", Evaluator]


def _position(game: Game, text: str | None, actions: Sequence[int]) -> Position:
    """The position of a pickle."""
    return game.position(text, actions)


@dataclass(frozen=True, eq=False)
class Analysis:
    """What a search has found in a position. Arrays have one entry for each legal action, in ascending order."""

    action: int
    """The action to play."""
    text: str
    """Its text."""
    value: float
    """The expected result for the player to move, -1 to 1."""
    simulations: int
    legal: np.ndarray = field(repr=False)
    """The legal actions, uint16."""
    visits: np.ndarray = field(repr=False)
    """How often the search looked at each, uint32."""
    priors: np.ndarray = field(repr=False)
    """The evaluator's probability of each, float32."""
    values: np.ndarray = field(repr=False)
    """The expected result after each for the player to move, -1 to 1; NaN where the search did not look."""
    line: list[str] = field(repr=False)
    """The expected actions from here, as texts."""


@dataclass(frozen=True, eq=False)
class Evaluation:
    """What a network says of n positions without a search."""

    priors: np.ndarray
    """float32 [n, actions]; 0 for illegal actions."""
    wdl: np.ndarray
    """Win, draw and loss for the player to move, float32 [n, 3]."""


@dataclass(frozen=True)
class MatchResult:
    """The result of a match, for the first agent: the figures of `petteia arena`."""

    games: int
    wins: int
    draws: int
    losses: int
    distinct_games: int
    """Games that differ in at least one action."""
    elo: float
    """The difference in Elo."""
    elo_low: float | None
    """Its 95 % bounds; None if the games are too few or too one-sided for one."""
    elo_high: float | None
    more: dict[str, Any] = field(repr=False, default_factory=dict)
    """Everything else that the program counts."""

    @property
    def score(self) -> float:
        """The first agent's share of the points, 0 to 1."""
        return (self.wins + self.draws / 2) / self.games


@dataclass(frozen=True, eq=False)
class Records:
    """Games, and their positions that are trained on as arrays with a row for each."""

    game: Game
    lines: list[str] = field(repr=False)
    """The games, each a line of JSON as in the records of a run."""
    planes: np.ndarray = field(repr=False)
    """float32 [n, planes, height, width], from the point of view of the player to move."""
    policy: np.ndarray = field(repr=False)
    """The policy to be learned, float32 [n, actions]; a row sums to 1."""
    mask: np.ndarray = field(repr=False)
    """The legal actions, bool [n, actions]."""
    wdl: np.ndarray = field(repr=False)
    """The result of the search, win, draw and loss for the player to move, float32 [n, 3]."""
    outcome: np.ndarray = field(repr=False)
    """How the game ended for the player to move, int8 [n]: 1, 0 or -1."""
    weight: np.ndarray = field(repr=False)
    """How often training should draw the position, relative to 1, float32 [n]."""
    generation: np.ndarray = field(repr=False)
    """The generation that played it, int32 [n]."""
    index: np.ndarray = field(repr=False)
    """The number of the game in its generation, int32 [n]."""

    def __len__(self) -> int:
        return len(self.outcome)

    def arrays(self) -> dict[str, np.ndarray]:
        """All arrays by their names."""
        return {name: value for name, value in vars(self).items() if isinstance(value, np.ndarray)}

    def table(self) -> Any:
        """A pyarrow table with a row for each position; planes, policy, mask and wdl are lists. Needs pyarrow."""
        import pyarrow

        return pyarrow.table({name: list(array.reshape(len(self), -1)) if array.ndim > 1 else array for name, array in self.arrays().items()})


@dataclass(frozen=True)
class Solution:
    """What a solver knows of a position."""

    outcome: str | None
    """"first", "second" or "draw" by perfect play; None if the nodes were too few."""
    actions: dict[int, str | None]
    """The same after each legal action."""
    nodes: int

    @property
    def best(self) -> list[int]:
        """The actions that are known to keep the outcome."""
        return [action for action, outcome in self.actions.items() if outcome is not None and outcome == self.outcome]


@dataclass(frozen=True)
class Rated:
    """The rating of an agent in a ladder, relative to the first one; 95 % bounds, None where the games set no limit."""

    elo: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Ladder:
    """Ratings of agents from games among all of them."""

    games: int
    ratings: list[Rated]
    """In the order of the agents."""
    met: list[dict[str, Any]] = field(repr=False)
    """The games of each two: agents (their numbers), wins, draws and losses of the first."""


def analyze(
    positions: Sequence[Position],
    agent: Agent,
    simulations: int | None = None,
    *,
    batch: int = 64,
    logits: bool = False,
    seed: int = 1,
    **settings: Any,
) -> list[Analysis | None]:
    """Searches positions of one game, all at the same time; None where the game is over.

    `batch` is how many positions an evaluator is asked about together: the leaves of one half of the searches are evaluated
    while the cores go on with the other half, so that twice as many positions fill the batches. `logits` says that an evaluator
    returns logits instead of probabilities. `settings` are those of a search, e.g. `cpuct=2.0` (`petteia config --keys`).
    """
    found = _petteia._analyze(list(positions), agent, simulations, batch, logits, seed, settings)
    return [None if one is None else Analysis(**one) for one in found]


def evaluate(positions: Sequence[Position], agent: Agent, *, batch: int = 64, logits: bool = False) -> Evaluation:
    """What the agent's network says of positions of one game, without a search."""
    return Evaluation(*_petteia._evaluate(list(positions), agent, batch, logits))


def play_match(
    game: Game,
    first: Agent,
    second: Agent,
    games: int = 100,
    simulations: int | None = None,
    *,
    opening_plies: int = 2,
    batch: int = 64,
    logits: bool = False,
    seed: int = 1,
    **settings: Any,
) -> MatchResult:
    """Plays a match of paired games: each opening of random actions is played twice, with sides swapped.

    `simulations` are for both agents, where they name no number themselves.
    """
    text = _petteia._play_match(game, first, second, games, simulations, opening_plies, batch, logits, seed, settings)
    found = json.loads(text)
    named = {name: found.pop(name) for name in MatchResult.__dataclass_fields__ if name in found}
    return MatchResult(**named, more=found)


def selfplay(
    game: Game,
    agent: Agent,
    games: int,
    simulations: int | None = None,
    *,
    batch: int = 64,
    logits: bool = False,
    seed: int = 1,
    settings: dict[str, Any] | None = None,
) -> Records:
    """Plays games of an evaluator (or "rollout", "uniform") against itself, as training does.

    Settings that nobody names are those that `petteia train` takes for the game; `settings` are named as in a config, e.g.
    {"search.cpuct": 2.0}. The same seed and the same evaluator give the same games.
    """
    lines, arrays = _petteia._selfplay(game, agent, games, simulations, batch, logits, seed, settings)
    return _records(game, lines, arrays)


def _records(game: Game, lines: list[str], arrays: dict[str, np.ndarray]) -> Records:
    return Records(game, lines, **arrays)


def records(path: str | os.PathLike[str], generations: Sequence[int] | None = None) -> Records:
    """The records of a run, of one of its folders or of a single shard, checked by the rules; of these generations alone, if
    some are named."""
    return _records(*_petteia._records(path, None if generations is None else list(generations)))


def write_records(path: str | os.PathLike[str], game: Game, games: Sequence[Sequence[str]]) -> int:
    """Writes games from elsewhere, each as its action texts from the start to the end, as a shard (NAME.jsonl.zst).

    The rules check every action, and say how each game ended. What was played is the policy that is learned. Returns the number
    of positions.
    """
    return _petteia._write_records(path, game, [list(actions) for actions in games])


def metrics(run: str | os.PathLike[str], kind: str | None = None) -> list[dict[str, Any]]:
    """The lines of a run's metrics.jsonl; of one kind alone ("selfplay", "train", "evaluation", ...), if it is named. A table of
    pandas or polars takes them as they are."""
    with open(os.path.join(run, "metrics.jsonl"), encoding="utf-8") as file:
        # a line that is being written ends the file
        lines = [json.loads(line) for line in file if line.endswith("\n")]
    return [line for line in lines if kind is None or line["kind"] == kind]


def solve(position: Position, nodes: int = 10_000_000, *, memory: int = 256 << 20) -> Solution:
    """Looks for the exact value of a position, with at most so many nodes and so much memory in bytes."""
    outcome, actions, used = _petteia._solve(position, nodes, memory)
    return Solution(outcome, dict(actions), used)


def ladder(
    game: Game,
    agents: Sequence[Agent],
    games: int = 200,
    simulations: int | None = None,
    *,
    opening_plies: int = 2,
    batch: int = 64,
    logits: bool = False,
    seed: int = 1,
    **settings: Any,
) -> Ladder:
    """Rates two or more agents by games among all of them. `simulations` are for those that name no number themselves."""
    text = _petteia._ladder(game, list(agents), games, simulations, opening_plies, batch, logits, seed, settings)
    found = json.loads(text)
    ratings = [Rated(**(one or {"elo": None, "low": None, "high": None})) for one in found["ratings"]]
    return Ladder(found["games"], ratings, found["met"])


def accuracy(
    game: Game,
    agent: Agent,
    path: str | os.PathLike[str],
    simulations: int | None = None,
    *,
    batch: int = 64,
    logits: bool = False,
    seed: int = 1,
) -> dict[str, Any]:
    """How often an agent errs in the solved positions of a file (`sets/` in the repository): what `petteia accuracy --json`
    prints."""
    return json.loads(_petteia._accuracy(game, agent, path, simulations, batch, logits, seed))


def balance(
    game: Game,
    levels: Sequence[Agent],
    games: int = 100,
    simulations: int | None = None,
    *,
    experts: int = 1,
    most_games: int = 1000,
    within: float = 0.03,
    solver: int = 0,
    batch: int = 64,
    logits: bool = False,
    seed: int = 1,
) -> dict[str, Any]:
    """Who has the advantage, between players of these levels, the weakest first, the last `experts` of which know the game: what
    `petteia balance --json` prints. `solver` is how many legal actions a solver looks at first."""
    arguments = (game, list(levels), experts, games, most_games, within, solver, simulations, batch, logits, seed)
    return json.loads(_petteia._balance(*arguments))

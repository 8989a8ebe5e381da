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

import atexit
import json
import os
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any, Union

try:
    import numpy as np

    from petteia import _petteia
except ImportError as error:
    if "once per process" in str(error) or "subinterpreters" in str(error):
        raise ImportError("petteia and NumPy work in the main interpreter alone, not in a subinterpreter: use processes") from error
    raise

from petteia._petteia import Batch, Game, Position, games

# Rust cannot be unwound by the end of a thread that runs Python: what still works is stopped first
atexit.register(_petteia._end)

__all__ = [
    "Accuracy",
    "Analysis",
    "Balance",
    "Batch",
    "Checked",
    "Evaluation",
    "Game",
    "Ladder",
    "Level",
    "MatchResult",
    "Position",
    "Rated",
    "Records",
    "Share",
    "Solution",
    "Weights",
    "accuracy",
    "analyze",
    "balance",
    "check_game",
    "evaluate",
    "games",
    "ladder",
    "metrics",
    "new_network",
    "play_match",
    "records",
    "selfplay",
    "solve",
    "weights",
    "window",
    "write_records",
    "write_weights",
]

__version__ = version("petteia")

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


@dataclass(frozen=True, eq=False)
class Weights:
    """The tensors of a network, and what they are."""

    tensors: dict[str, np.ndarray] = field(repr=False)
    """float32, by their names. Matrices are [inputs, outputs], the transpose of PyTorch's."""
    metadata: dict[str, str]
    """What the header of an export says: the game, the shape, the layers and how they compute ("layer_kinds"), ..."""

    @property
    def layers(self) -> dict[str, Any]:
        """The layers, by the parts of the network."""
        return json.loads(self.metadata["layers"])


@dataclass(frozen=True)
class Checked:
    """What random games of a game were like whose rules passed."""

    games: int
    positions: int
    actions: int
    """Actions played."""
    legal_actions: int
    """Legal actions of all positions together."""
    shortest: int
    longest: int
    """Plies of the shortest and the longest game."""
    outcomes: tuple[int, int, int]
    """Wins of the first player and of the second, and draws."""


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


@dataclass(frozen=True)
class Share:
    """A share with its 95 % bounds, 0 to 1."""

    rate: float
    low: float
    high: float


@dataclass(frozen=True)
class Accuracy:
    """How well an agent knows solved positions: the figures of `petteia accuracy`."""

    positions: int
    errors: int
    """Positions in which its action throws a better result away."""
    error_rate: Share | None
    """Their share of the positions whose actions are all known; None without such positions."""
    slow_rate: Share | None
    """The share of actions that do not win soonest or lose latest, errors among them."""
    agreement: Share | None
    """How often the sign of its value is right where somebody wins."""
    brier: float | None
    """The mean square of what its value is wrong by, as a score of 0 to 1."""
    classes: dict[str, Accuracy] = field(repr=False, default_factory=dict)
    """The same by the classes of the set."""
    more: dict[str, Any] = field(repr=False, default_factory=dict)
    """Everything else that the program counts."""


@dataclass(frozen=True)
class Level:
    """Games between two players of the same level."""

    name: str
    is_expert: bool
    games: int
    first_score: Share
    """The first player's share of the points."""
    draws: float
    """The share of draws."""
    more: dict[str, Any] = field(repr=False, default_factory=dict)
    """Everything else that the program says: endings, lengths, ..."""


@dataclass(frozen=True)
class Balance:
    """Who has the advantage in a game: the figures of `petteia balance`."""

    score: Share | None
    """The first player's share of the points between those who know the game; None if nobody does."""
    is_fair: bool | None
    favors: str | None
    """"first" or "second", if one of them has the advantage beyond doubt."""
    levels: list[Level]
    more: dict[str, Any] = field(repr=False, default_factory=dict)
    """Everything else that the program says: openings, steps between the levels, a proof, ..."""


def _share(found: Any) -> Share | None:
    """A share of a dict, or of a list with its bounds behind it."""
    if found is None:
        return None
    return Share(**found) if isinstance(found, dict) else Share(*found)


def _accuracy(found: dict[str, Any]) -> Accuracy:
    shares = {name: _share(found[name]) for name in ("error_rate", "slow_rate", "agreement")}
    classes = {name: _accuracy(one) for name, one in found.get("classes", {}).items()}
    return Accuracy(**{**found, **shares, "classes": classes})


def _asking(simulations: Any, batch: Any, logits: Any, seed: Any = 1, settings: dict[str, Any] | None = None) -> dict[str, Any]:
    """How agents are asked: the arguments that the functions share."""
    return {"simulations": simulations, "batch": batch, "logits": logits, "seed": seed, "settings": settings}


def _refuse_existing(path: str | os.PathLike[str], overwrite: bool) -> None:
    if not overwrite and os.path.lexists(path):
        raise FileExistsError(f"{os.fspath(path)} already exists: choose another file, or say overwrite=True")


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
    """Searches positions of one game, all at the same time. The list has an Analysis for each, or None where the game is over.

    `batch` is how many positions an evaluator is asked about together: the leaves of one half of the searches are evaluated
    while the cores go on with the other half, so that twice as many positions fill the batches. `logits` says that an evaluator
    returns logits instead of probabilities. `settings` are those of a search, e.g. `cpuct=2.0` (`petteia config --keys`).
    """
    found = _petteia._analyze(list(positions), agent, _asking(simulations, batch, logits, seed, settings))
    return [None if one is None else Analysis(**one) for one in found]


def evaluate(positions: Sequence[Position], agent: Agent, *, batch: int = 64, logits: bool = False) -> Evaluation:
    """What the agent's network says of positions of one game, without a search."""
    return Evaluation(*_petteia._evaluate(list(positions), agent, _asking(None, batch, logits)))


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
    asking = _asking(simulations, batch, logits, seed, settings)
    text = _petteia._play_match(game, first, second, games, opening_plies, asking)
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
    lines, arrays = _petteia._selfplay(game, agent, games, _asking(simulations, batch, logits, seed, settings))
    return _records(game, lines, arrays)


def _records(game: Game, lines: list[str], arrays: dict[str, np.ndarray]) -> Records:
    return Records(game, lines, **arrays)


def records(
    path: str | os.PathLike[str], generations: Sequence[int] | None = None, *, game: Game | None = None
) -> Records:
    """The records of a run, of one of its folders or of a single shard, checked by the rules; of these generations alone, if
    some are named. A run says which game they are of, and so does a shard, unless its game is a text or written in Python."""
    return _records(*_petteia._records(path, None if generations is None else list(generations), game))


def window(run: str | os.PathLike[str], *, game: Game | None = None) -> Records:
    """The positions that the newest checkpoint of a run was trained on, without games that were held out. Training draws them by
    their `weight`, each in one of its symmetries, and counts positions that are there several times as one of a larger weight."""
    return _records(*_petteia._records(run, None, game, True))


def write_records(
    path: str | os.PathLike[str],
    game: Game,
    games: Sequence[Sequence[str]] | Records,
    outcomes: Sequence[str | None] | None = None,
    ended: Sequence[str | None] | None = None,
    *,
    overwrite: bool = False,
) -> int:
    """Writes games as a shard (NAME.jsonl.zst), with which `petteia train --from NETWORK --with-records SHARD` begins a run.

    Games from elsewhere are lists of action texts, from the start to the end. The rules check every action; what was played is
    the policy that is learned. Games that are over by the rules need no more. For the others, `outcomes` has "first", "second"
    or "draw", and `ended` says how they ended: "resigned", "agreed", "adjudicated" or "time"; without it, wins are taken for
    resigned and draws for agreed. Both have an entry for each game, None where the rules say all. Games of `selfplay` are
    written as they are. A file that is there is refused, unless `overwrite` says so. Returns the number of positions.
    """
    _refuse_existing(path, overwrite)
    if isinstance(games, Records):
        if outcomes is not None or ended is not None:
            raise TypeError("the games of selfplay have their outcomes: leave out outcomes and ended")
        return _petteia._write_lines(path, games.lines)
    for index, actions in enumerate(games):
        if isinstance(actions, str):
            raise TypeError(f"game {index} is {actions!r}, and a game is a list of action texts: write [[...], [...]], also for one game")
    return _petteia._write_records(
        path,
        game,
        [list(actions) for actions in games],
        None if outcomes is None else list(outcomes),
        None if ended is None else list(ended),
    )


def weights(network: str | os.PathLike[str], game: Game | None = None) -> Weights:
    """The weights of a run's newest checkpoint, of a checkpoint or of an exported file; "shipped" is the agent that the program
    carries for `game`. `petteia.torch` makes a module of PyTorch of them."""
    file = _petteia._weights(network, game)
    (length,) = struct.unpack("<Q", file[:8])
    header = json.loads(file[8 : 8 + length])
    metadata = header.pop("__metadata__")
    tensors = {}
    for name, about in header.items():
        begin, end = about["data_offsets"]
        numbers = np.frombuffer(file, "<f4", (end - begin) // 4, 8 + length + begin)
        tensors[name] = numbers.reshape(about["shape"]).copy()
    return Weights(tensors, metadata)


def write_weights(
    path: str | os.PathLike[str],
    tensors: dict[str, np.ndarray],
    like: str | os.PathLike[str],
    game: Game | None = None,
    *,
    overwrite: bool = False,
) -> None:
    """Writes a network file with these tensors in place of those of `like`, whose names and shapes they must have. It is an agent,
    can be exported, and begins a run (`petteia train --from`). A file that is there is refused, unless `overwrite` says so."""
    _refuse_existing(path, overwrite)
    header, parts, begin = {}, [], 0
    for name, tensor in tensors.items():
        part = np.ascontiguousarray(tensor, "<f4").tobytes()
        header[name] = {"dtype": "F32", "shape": list(np.shape(tensor)), "data_offsets": [begin, begin + len(part)]}
        parts.append(part)
        begin += len(part)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    _petteia._write_weights(path, b"".join([struct.pack("<Q", len(text)), text, *parts]), like, game)


def new_network(
    path: str | os.PathLike[str], game: Game, *, seed: int = 1, overwrite: bool = False, **settings: Any
) -> None:
    """Writes a network that has learned nothing; `settings` are those of a network, e.g. `filters=32, blocks=4`
    (`petteia config --keys`). A file that is there is refused, unless `overwrite` says so."""
    _refuse_existing(path, overwrite)
    _petteia._new_network(path, game, seed, settings)


def check_game(game: Game, games: int = 20, seed: int = 1) -> Checked:
    """Plays random games, and checks that the rules do what the rest relies on: above all of a game that is written in Python.

    A ValueError says what is wrong, and in which position; an exception of the rules is its cause.
    """
    found = json.loads(_petteia._check_game(game, games, seed))
    return Checked(**{**found, "outcomes": tuple(found["outcomes"])})


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
    asking = _asking(simulations, batch, logits, seed, settings)
    text = _petteia._ladder(game, list(agents), games, opening_plies, asking)
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
) -> Accuracy:
    """How often an agent errs in the solved positions of a file (`sets/` in the repository)."""
    return _accuracy(json.loads(_petteia._accuracy(game, agent, path, _asking(simulations, batch, logits, seed))))


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
) -> Balance:
    """Who has the advantage, between players of these levels, the weakest first, the last `experts` of which know the game.
    Each level plays at least `games` games, and at most `most_games`, until the score is known to `within` this share of the
    points. `solver` is how many legal actions a solver looks at first."""
    asking = _asking(simulations, batch, logits, seed)
    found = json.loads(_petteia._balance(game, list(levels), experts, games, most_games, within, solver, asking))
    verdict = found["verdict"] or {"score": None, "is_fair": None, "favors": None}
    named = ("name", "is_expert", "games", "draws")
    levels = [
        Level(**{name: one.pop(name) for name in named}, first_score=_share(one.pop("first_score")), more=one)
        for one in found.pop("levels")
    ]
    return Balance(_share(verdict["score"]), verdict["is_fair"], verdict["favors"], levels, found)

"""Batched rules, search, self-play, and agents for two-player abstract board games, as fast as the program.

>>> import petteia
>>> game = petteia.Game("connect-four")
>>> position = game.position(actions=["4", "4", "3"])
>>> found = petteia.analyze([position], "rollout", simulations=400)[0]
>>> found.text in position.legal_texts()
True

An evaluator is a function that takes planes, float32 [n, planes, height, width], and returns (policy, value). The policy is
probabilities [n, actions]. The value is probabilities [n, 3] of win, draw, and loss for the player to move, or numbers [n] from
-1 to 1. The function is called once for each batch, always on the calling thread; an exception in it ends the work and reaches
the caller unchanged.

An agent is an evaluator or a text as on the command line: "shipped", "rollout:400", a run, a checkpoint, or an exported file,
optionally followed by ":N", the number of simulations.

Functions that search use all cores and release the interpreter lock while they search. On the main thread, Ctrl-C ends such a
function with a KeyboardInterrupt. An evaluator cannot call these functions itself, because the cores are waiting for its answer.
After a fork, a child process cannot use the parent's threads: use multiprocessing.get_context("spawn").
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
        raise ImportError("petteia and NumPy work only in the main interpreter, not in a subinterpreter: use processes") from error
    raise

from petteia._petteia import Batch, Game, Position, games

# at exit, Python ends threads that are running Python, and Rust cannot unwind from that: stop any work in progress first
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
    """Restores a pickled position."""
    return game.position(text, actions)


@dataclass(frozen=True, eq=False)
class Analysis:
    """The result of a search of a position. Arrays have one entry for each legal action, in ascending order."""

    action: int
    """The action to play."""
    text: str
    """The text of the action to play."""
    value: float
    """The expected result for the player to move, -1 to 1."""
    simulations: int
    legal: np.ndarray = field(repr=False)
    """The legal actions, uint16."""
    visits: np.ndarray = field(repr=False)
    """How often the search visited each action, uint32."""
    priors: np.ndarray = field(repr=False)
    """The evaluator's probability of each action, float32."""
    values: np.ndarray = field(repr=False)
    """The expected result after each action for the player to move, -1 to 1; NaN for actions that the search did not visit."""
    line: list[str] = field(repr=False)
    """The expected continuation of the game, as the texts of its actions."""


@dataclass(frozen=True, eq=False)
class Evaluation:
    """A network's evaluation of n positions, without a search."""

    priors: np.ndarray
    """The probabilities of the actions, float32 [n, actions]; 0 for illegal actions."""
    wdl: np.ndarray
    """The probabilities of win, draw, and loss for the player to move, float32 [n, 3]."""


@dataclass(frozen=True)
class MatchResult:
    """The result of a match, for the first agent: the figures of `petteia arena`."""

    games: int
    wins: int
    draws: int
    losses: int
    distinct_games: int
    """The number of different games; two games are different if at least one action differs."""
    elo: float
    """The difference in Elo."""
    elo_low: float | None
    """The lower 95% bound; None if there are too few games or they are too one-sided to give one."""
    elo_high: float | None
    """The upper 95% bound; None if there are too few games or they are too one-sided to give one."""
    more: dict[str, Any] = field(repr=False, default_factory=dict)
    """Everything else that the program counts."""

    @property
    def score(self) -> float:
        """The first agent's share of the points, 0 to 1."""
        return (self.wins + self.draws / 2) / self.games


@dataclass(frozen=True, eq=False)
class Records:
    """Games, and arrays with a row for each of their positions that training uses."""

    game: Game
    lines: list[str] = field(repr=False)
    """The games, each as a line of JSON, as in the records of a run."""
    planes: np.ndarray = field(repr=False)
    """The planes, float32 [n, planes, height, width], from the point of view of the player to move."""
    policy: np.ndarray = field(repr=False)
    """The policy to learn, float32 [n, actions]; each row sums to 1."""
    mask: np.ndarray = field(repr=False)
    """The legal actions, bool [n, actions]."""
    wdl: np.ndarray = field(repr=False)
    """The result of the search: win, draw, and loss for the player to move, float32 [n, 3]."""
    outcome: np.ndarray = field(repr=False)
    """How the game ended for the player to move, int8 [n]: 1, 0, or -1."""
    weight: np.ndarray = field(repr=False)
    """How often training should draw the position, relative to a position with weight 1, float32 [n]."""
    generation: np.ndarray = field(repr=False)
    """The generation that played the game, int32 [n]."""
    index: np.ndarray = field(repr=False)
    """The number of the game within its generation, int32 [n]."""

    def __len__(self) -> int:
        return len(self.outcome)

    def arrays(self) -> dict[str, np.ndarray]:
        """Returns all arrays by name."""
        return {name: value for name, value in vars(self).items() if isinstance(value, np.ndarray)}

    def table(self) -> Any:
        """Returns a pyarrow table with a row for each position; planes, policy, mask, and wdl are lists. Needs pyarrow."""
        import pyarrow

        return pyarrow.table({name: list(array.reshape(len(self), -1)) if array.ndim > 1 else array for name, array in self.arrays().items()})


@dataclass(frozen=True, eq=False)
class Weights:
    """The tensors of a network, with a description of what they are."""

    tensors: dict[str, np.ndarray] = field(repr=False)
    """The tensors by name, float32. Matrices are [inputs, outputs], the transpose of PyTorch's."""
    metadata: dict[str, str]
    """The header of an export: the game, the shape, the layers and how they compute ("layer_kinds"), ..."""

    @property
    def layers(self) -> dict[str, Any]:
        """The layers, by part of the network."""
        return json.loads(self.metadata["layers"])


@dataclass(frozen=True)
class Checked:
    """Statistics of the random games that checked the rules of a game."""

    games: int
    positions: int
    actions: int
    """The number of actions played."""
    legal_actions: int
    """The number of legal actions in all positions together."""
    shortest: int
    """The length of the shortest game, in plies."""
    longest: int
    """The length of the longest game, in plies."""
    outcomes: tuple[int, int, int]
    """The wins of the first player, the wins of the second player, and the draws."""


@dataclass(frozen=True)
class Solution:
    """What a solver knows about a position."""

    outcome: str | None
    """The outcome with perfect play, "first", "second", or "draw"; None if `nodes` or `memory` was too small to determine it."""
    actions: dict[int, str | None]
    """The outcome with perfect play after each legal action."""
    nodes: int

    @property
    def best(self) -> list[int]:
        """The actions that are known to keep the outcome."""
        return [action for action, outcome in self.actions.items() if outcome is not None and outcome == self.outcome]


@dataclass(frozen=True)
class Rated:
    """The rating of an agent in a ladder, relative to the first agent, with 95% bounds. A figure is None if the games do not
    determine it."""

    elo: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Ladder:
    """Ratings of agents that all played each other."""

    games: int
    ratings: list[Rated]
    """The ratings, in the order of the agents."""
    met: list[dict[str, Any]] = field(repr=False)
    """The games of each pair of agents: `agents`, the indices of both in the list, and `wins`, `draws`, and `losses` of the
    first agent."""


@dataclass(frozen=True)
class Share:
    """A share with its 95% bounds, 0 to 1."""

    rate: float
    low: float
    high: float


@dataclass(frozen=True)
class Accuracy:
    """How well an agent knows solved positions: the figures of `petteia accuracy`."""

    positions: int
    errors: int
    """The number of positions in which the agent's action throws away a better result."""
    error_rate: Share | None
    """The share of errors among the positions for which the results of all actions are known; None if there are none."""
    slow_rate: Share | None
    """The share of actions that are errors, or win later or lose sooner than necessary."""
    agreement: Share | None
    """How often the agent's value has the right sign, in positions that are a win for one of the players."""
    brier: float | None
    """The mean squared error of the agent's value, as a score from 0 to 1."""
    classes: dict[str, Accuracy] = field(repr=False, default_factory=dict)
    """The same figures for each class of the set."""
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
    """Everything else that the program reports: endings, lengths, ..."""


@dataclass(frozen=True)
class Balance:
    """Who has the advantage in a game: the figures of `petteia balance`."""

    score: Share | None
    """The first player's share of the points in games between players who know the game; None if no level knows it."""
    is_fair: bool | None
    favors: str | None
    """The player who clearly has the advantage, "first" or "second"; None if neither does."""
    levels: list[Level]
    more: dict[str, Any] = field(repr=False, default_factory=dict)
    """Everything else that the program reports: openings, steps between the levels, a proof, ..."""


def _share(figures: Any) -> Share | None:
    """Makes a `Share` from a dict, or from a list of the rate and its bounds."""
    if figures is None:
        return None
    return Share(**figures) if isinstance(figures, dict) else Share(*figures)


def _accuracy(figures: dict[str, Any]) -> Accuracy:
    shares = {name: _share(figures[name]) for name in ("error_rate", "slow_rate", "agreement")}
    classes = {name: _accuracy(one) for name, one in figures.get("classes", {}).items()}
    return Accuracy(**{**figures, **shares, "classes": classes})


def _asking(simulations: Any, batch: Any, logits: Any, seed: Any = 1, settings: dict[str, Any] | None = None) -> dict[str, Any]:
    """Returns the arguments about agents that all functions share, as a dict."""
    return {"simulations": simulations, "batch": batch, "logits": logits, "seed": seed, "settings": settings}


def _refuse_existing(path: str | os.PathLike[str], overwrite: bool) -> None:
    if not overwrite and os.path.lexists(path):
        raise FileExistsError(f"{os.fspath(path)} already exists: choose another file, or pass overwrite=True")


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
    """Searches positions of one game, all at the same time. Returns an Analysis for each position, or None if its game is over.

    `batch` is the number of positions that an evaluator gets in one call. While the leaves of one half of the searches are
    evaluated, the cores continue with the other half, so it takes twice as many positions to fill the batches. With `logits`, an
    evaluator returns logits instead of probabilities. `settings` are search settings, e.g. `cpuct=2.0` (see
    `petteia config --keys`).
    """
    analyses = _petteia._analyze(list(positions), agent, _asking(simulations, batch, logits, seed, settings))
    return [None if one is None else Analysis(**one) for one in analyses]


def evaluate(positions: Sequence[Position], agent: Agent, *, batch: int = 64, logits: bool = False) -> Evaluation:
    """Evaluates positions of one game with the agent's network, without a search."""
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

    `simulations` applies to each agent that names no number itself.
    """
    asking = _asking(simulations, batch, logits, seed, settings)
    text = _petteia._play_match(game, first, second, games, opening_plies, asking)
    figures = json.loads(text)
    named = {name: figures.pop(name) for name in MatchResult.__dataclass_fields__ if name in figures}
    return MatchResult(**named, more=figures)


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

    Settings are named as in a config, e.g. {"search.cpuct": 2.0}; other settings have the values that `petteia train` uses for
    the game. The same seed and the same evaluator give the same games.
    """
    lines, arrays = _petteia._selfplay(game, agent, games, _asking(simulations, batch, logits, seed, settings))
    return _records(game, lines, arrays)


def _records(game: Game, lines: list[str], arrays: dict[str, np.ndarray]) -> Records:
    return Records(game, lines, **arrays)


def records(
    path: str | os.PathLike[str], generations: Sequence[int] | None = None, *, game: Game | None = None
) -> Records:
    """Returns the records of a run, of one of its folders, or of a single shard, after checking them against the rules. With
    `generations`, returns only the records of these generations. A run names its game, and so does a shard, unless the game's
    rules are a text or written in Python; in that case, pass `game`."""
    return _records(*_petteia._records(path, None if generations is None else list(generations), game))


def window(run: str | os.PathLike[str], *, game: Game | None = None) -> Records:
    """Returns the positions that the newest checkpoint of a run was trained on, without held-out games. Training draws positions in
    proportion to `weight`, each in one of its symmetries. A position that occurs several times counts as one position with a
    larger weight."""
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
    """Writes games as a shard (NAME.jsonl.zst); `petteia train --from NETWORK --with-records SHARD` begins a run with it.

    A game from elsewhere is a list of its action texts, from the first to the last. The rules check every action; the actions
    played are the policy to learn. A game that is over by the rules needs nothing more. For any other game, `outcomes` has
    "first", "second", or "draw", and `ended` says how the game ended: "resigned", "agreed", "adjudicated", or "time". Without
    `ended`, a win is assumed to be by resignation and a draw by agreement. Both lists have an entry for each game, which is None
    if the game is over by the rules. Games of `selfplay` are written as they are. An existing file is an error, unless
    `overwrite` is True. Returns the number of positions.
    """
    _refuse_existing(path, overwrite)
    if isinstance(games, Records):
        if outcomes is not None or ended is not None:
            raise TypeError("the games of selfplay already have outcomes: leave out outcomes and ended")
        return _petteia._write_lines(path, games.lines)
    for index, actions in enumerate(games):
        if isinstance(actions, str):
            raise TypeError(f"game {index} is {actions!r}, but a game is a list of action texts: write [[...], [...]], even for one game")
    return _petteia._write_records(
        path,
        game,
        [list(actions) for actions in games],
        None if outcomes is None else list(outcomes),
        None if ended is None else list(ended),
    )


def weights(network: str | os.PathLike[str], game: Game | None = None) -> Weights:
    """Returns the weights of a run's newest checkpoint, of a checkpoint, or of an exported file; "shipped" is the agent that the
    program carries for `game`. `petteia.torch` makes a PyTorch module from weights."""
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
    """Writes a network file that has the given tensors and is otherwise a copy of the network `like`. The tensors must have the
    same names and shapes as those of `like`. The file is an agent, can be exported, and can begin a run (`petteia train
    --from`). An existing file is an error, unless `overwrite` is True."""
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
    """Writes an untrained network; `settings` are network settings, e.g. `filters=32, blocks=4` (see
    `petteia config --keys`). An existing file is an error, unless `overwrite` is True."""
    _refuse_existing(path, overwrite)
    _petteia._new_network(path, game, seed, settings)


def check_game(game: Game, games: int = 20, seed: int = 1) -> Checked:
    """Plays random games and checks that the rules keep the contract that everything else relies on. It is mainly meant for games
    written in Python.

    A ValueError says what is wrong and in which position; its cause is the exception in the rules, if there was one.
    """
    figures = json.loads(_petteia._check_game(game, games, seed))
    return Checked(**{**figures, "outcomes": tuple(figures["outcomes"])})


def metrics(run: str | os.PathLike[str], kind: str | None = None) -> list[dict[str, Any]]:
    """Returns the lines of a run's metrics.jsonl; with `kind`, only those of one kind ("selfplay", "train", "evaluation", ...).
    pandas and polars can make a table directly from these lines."""
    with open(os.path.join(run, "metrics.jsonl"), encoding="utf-8") as file:
        # the last line may be incomplete, because it is being written
        lines = [json.loads(line) for line in file if line.endswith("\n")]
    return [line for line in lines if kind is None or line["kind"] == kind]


def solve(position: Position, nodes: int = 10_000_000, *, memory: int = 256 << 20) -> Solution:
    """Looks for the exact value of a position, with at most `nodes` nodes and `memory` bytes of memory."""
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
    """Rates two or more agents by having all of them play each other. `simulations` applies to each agent that names no number
    itself."""
    asking = _asking(simulations, batch, logits, seed, settings)
    text = _petteia._ladder(game, list(agents), games, opening_plies, asking)
    figures = json.loads(text)
    ratings = [Rated(**(one or {"elo": None, "low": None, "high": None})) for one in figures["ratings"]]
    return Ladder(figures["games"], ratings, figures["met"])


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
    """Measures how often an agent errs in the solved positions of a file (`sets/` in the repository)."""
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
    """Measures which player has the advantage when agents of equal strength play each other. `levels` lists the agents, weakest
    first; the last `experts` of them count as knowing the game. Each level plays at least `games` games, and then continues until
    it has played `most_games` or its score is known to within `within`, a share of the points. `solver` is the number of legal
    actions that a solver examines first."""
    asking = _asking(simulations, batch, logits, seed)
    figures = json.loads(_petteia._balance(game, list(levels), experts, games, most_games, within, solver, asking))
    verdict = figures["verdict"] or {"score": None, "is_fair": None, "favors": None}
    named = ("name", "is_expert", "games", "draws")
    levels = [
        Level(**{name: one.pop(name) for name in named}, first_score=_share(one.pop("first_score")), more=one)
        for one in figures.pop("levels")
    ]
    return Balance(_share(verdict["score"]), verdict["is_fair"], verdict["favors"], levels, figures)

"""Tests of games that are written in Python."""

import pickle
import time

import numpy as np
import pytest

import petteia

LINES = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]


class Notakto:
    """Notakto: both players put crosses; a player who makes a line loses."""

    name, title, players = "notakto", "Notakto", ("One", "Two")
    shape, actions, max_plies = (1, 3, 3), 9, 9
    pieces = ("X", "")

    def initial(self):
        return "." * 9

    def to_move(self, board):
        return board.count("X") % 2

    def legal_actions(self, board):
        return [square for square, cross in enumerate(board) if cross == "."]

    def play(self, board, action):
        return board[:action] + "X" + board[action + 1 :]

    def outcome(self, board):
        if any(all(board[square] == "X" for square in line) for line in LINES):
            return ("first", "second")[self.to_move(board)]
        return None

    def planes(self, board):
        return np.array([cross == "X" for cross in board]).reshape(self.shape)

    def state_text(self, board):
        return board

    def parse_state(self, text):
        if len(text) != 9 or set(text) - set("X."):
            raise ValueError("nine squares were expected, X or .")
        return text

    def action_text(self, board, action):
        return "abc"[action % 3] + str(action // 3 + 1)

    def board(self, board):
        return [board[6:], board[3:6], board[:3]]


class Wrapped:
    """A game of the program, rewritten as a game in Python that calls the program's rules."""

    def __init__(self, inner, name="wrapped"):
        self.inner, self.name = inner, name
        self.shape, self.actions, self.max_plies = inner.shape, inner.actions, inner.max_plies

    def initial(self):
        return self.inner.position()

    def to_move(self, position):
        return position.to_move

    def legal_actions(self, position):
        return position.legal_actions()

    def play(self, position, action):
        after = position.clone()
        after.play(action)
        return after

    def outcome(self, position):
        return position.outcome

    def planes(self, position):
        return position.planes()

    def state_text(self, position):
        return position.text

    def parse_state(self, text):
        return self.inner.position(text)

    def key(self, position):
        return position.key


def uniform(actions):
    return lambda planes: (np.full((len(planes), actions), 1 / actions), np.zeros(len(planes)))


def test_a_game_that_is_right():
    game = petteia.Game(Notakto())
    found = petteia.check_game(game, 30)
    assert found.games == 30 and found.outcomes[2] == 0 and sum(found.outcomes) == 30
    assert 3 <= found.shortest <= found.longest <= 7
    position = game.position(actions=["b2", "a1"])
    assert position.text == "X...X...." and str(position) == ". . .\n. X .\nX . ." and position.to_move == 0
    position.play("c3")
    assert position.outcome == "second" and position.returns == (-1, 1) and position.legal_actions() == []
    assert position._repr_svg_().startswith("<svg")
    # the first player wins by starting in the middle
    assert petteia.solve(game.position()).outcome == "first"
    assert game.position("X...X....") == game.position(actions=["a1", "b2"])
    with pytest.raises(ValueError, match="nine squares"):
        game.position("XX")


def test_it_does_what_the_game_in_rust_does():
    for name in ("tic-tac-toe", "konane"):
        inner = petteia.Game(name)
        game = petteia.Game(Wrapped(inner))
        assert petteia.check_game(game, 3).games == 3
        assert game.perft(3) == inner.perft(3)
        evaluator = uniform(inner.actions)
        for settings in ({}, {"leaf_nodes": 0}):
            ours = petteia.analyze([game.position()] * 3, evaluator, 40, **settings)
            theirs = petteia.analyze([inner.position()] * 3, evaluator, 40, **settings)
            assert [one.visits.tolist() for one in ours] == [one.visits.tolist() for one in theirs]
        batch, other = game.batch(5, seed=1), inner.batch(5, seed=1)
        for _ in range(12):
            assert (batch.observe() == other.observe()).all() and (batch.mask() == other.mask()).all()
            (rewards, ended), expected = batch.apply(batch.sample()), other.apply(other.sample())
            assert (rewards == expected[0]).all() and (ended == expected[1]).all()
    settings = {"selfplay.random_plies": 2, "selfplay.solve_nodes": 0}
    inner = petteia.Game("tic-tac-toe")
    ours = petteia.selfplay(petteia.Game(Wrapped(inner)), uniform(9), 6, 8, settings=settings)
    theirs = petteia.selfplay(inner, uniform(9), 6, 8, settings=settings)
    assert ours.planes.shape[0] > 20 and len(ours.lines) == len(theirs.lines) == 6


def test_it_plays_and_keeps_records(tmp_path):
    game = petteia.Game(Notakto())
    result = petteia.play_match(game, "rollout:100", "random", 20)
    assert result.games == 20 and result.score > 0.7
    played = petteia.selfplay(game, "rollout", 10, 20)
    path = tmp_path / "shard-0000.jsonl.zst"
    assert petteia.write_records(path, game, played) > 0
    with pytest.raises(ValueError, match="notakto"):
        petteia.records(path)
    again = petteia.records(path, game=game)
    assert (again.planes == played.planes).all() and again.lines == played.lines
    assert petteia.write_records(path, game, [["b2", "a1", "c3"]], overwrite=True) == 3
    with pytest.raises(ValueError, match="ply 1"):
        petteia.write_records(path, game, [["b2", "b2"]], overwrite=True)
    ratings = petteia.ladder(game, ["random", "rollout:50"], 60).ratings
    assert ratings[1].elo > 0


class Own(Exception):
    pass


@pytest.mark.parametrize("method", ["play", "legal_actions", "outcome", "planes", "to_move", "state_text"])
def test_exceptions_surface_unchanged(method):
    class Raises(Notakto):
        left = 50

        def broken(self, board, *more):
            Raises.left -= 1
            if Raises.left < 0:
                raise Own(method)
            return getattr(Notakto, method)(self, board, *more)

    setattr(Raises, method, Raises.broken)
    game = petteia.Game(Raises())
    for work in (
        lambda: petteia.analyze([game.position()] * 20, uniform(9), 50),
        lambda: petteia.analyze([game.position()] * 20, "rollout", 50),
        lambda: petteia.selfplay(game, uniform(9), 8, 16),
        lambda: petteia.play_match(game, "rollout:50", "random", 4),
        lambda: petteia.check_game(game),
        lambda: game.batch(4).apply([0, 0, 0, 0]),
        lambda: [getattr(game.position(), name) for name in ("text", "to_move", "outcome", "key")] + [game.position().planes()],
    ):
        Raises.left = 0 if work.__code__.co_names[-1] in ("apply", "planes") else 50
        try:
            work()
        except Own as error:
            assert str(error) == method
        except ValueError as error:
            assert isinstance(error.__cause__, Own)
        else:
            # not every function calls every method
            assert Raises.left >= 0
    Raises.left = 10**9
    assert petteia.check_game(game, 5).games == 5


def test_what_is_wrong_is_said():
    with pytest.raises(TypeError, match="lacks"):
        petteia.Game(object())
    with pytest.raises(TypeError, match=r"Game\(Notakto\(\)\)"):
        petteia.Game(Notakto)
    with pytest.raises(TypeError, match="size"):
        petteia.Game(Notakto(), size=3)
    with pytest.raises(ValueError, match="choose another name"):
        petteia.Game(Wrapped(petteia.Game("tic-tac-toe"), "connect-four"))

    def says(change, text, **kept):
        broken = type("Broken", (Notakto,), {**change, **kept})()
        with pytest.raises((ValueError, TypeError), match=text):
            petteia.check_game(petteia.Game(broken))

    says({"to_move": lambda self, board: 2}, "0 or 1")
    says({"legal_actions": lambda self, board: [9]}, "below 9")
    says({"legal_actions": lambda self, board: []}, "empty")
    says({"outcome": lambda self, board: 1}, "None, not 1")
    says({"planes": lambda self, board: np.zeros((2, 3, 3))}, "shape")
    says({"planes": lambda self, board: np.arange(9).reshape(1, 3, 3)}, "plane 0")
    says({"planes": lambda self, board: np.zeros((1, 3, 3))}, "planes")
    says({"key": lambda self, board: 1}, "same key")
    says({"max_plies": 3}, "max_plies")
    says({"shape": (0, 3, 3)}, "0 planes of 3x3 squares")
    says({"shape": (-1, 3, 3)}, "a whole number")
    says({"name": "Not a Name"}, "lower case")

    class Changes(Notakto):
        def initial(self):
            return [self.wrapped(super().initial())]

        def wrapped(self, board):
            return board

        def play(self, board, action):
            board[0] = super().play(board[0], action)
            return board

    for method in ("to_move", "legal_actions", "outcome", "planes", "state_text"):
        setattr(Changes, method, lambda self, board, method=method: getattr(Notakto, method)(self, board[0] if isinstance(board, list) else board))
    with pytest.raises((ValueError, TypeError), match="new position"):
        petteia.Game(Changes()).position().play(0)


def test_pickles():
    game = petteia.Game(Notakto())
    assert pickle.loads(pickle.dumps(game)) == game
    position = game.position(actions=["b2"])
    assert pickle.loads(pickle.dumps(position)) == position
    assert petteia.Game(Wrapped(petteia.Game("hex", size=3))) != petteia.Game(Wrapped(petteia.Game("hex", size=4)))


def test_rules_cannot_search_themselves():
    class Searches(Notakto):
        def legal_actions(self, board):
            petteia.analyze([petteia.Game("tic-tac-toe").position()], "rollout", 8)
            return super().legal_actions(board)

    with pytest.raises(RuntimeError, match="themselves"):
        petteia.analyze([petteia.Game(Searches()).position()], "rollout", 8)


def test_a_failure_ends_the_work_soon():
    class Slow(Notakto):
        asked = 0

        def legal_actions(self, board):
            Slow.asked += 1
            if Slow.asked == 100:
                raise Own("once")
            return super().legal_actions(board)

    begun = time.monotonic()
    with pytest.raises(Own):
        petteia.play_match(petteia.Game(Slow()), "rollout:3000", "rollout:3000", 1000)
    assert Slow.asked < 200_000, f"{Slow.asked} questions, {time.monotonic() - begun:.1f} s"

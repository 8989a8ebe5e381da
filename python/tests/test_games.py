import copy
import pathlib
import pickle
import random
import subprocess
import sys
import threading
import time
import weakref

import numpy as np
import pytest

import petteia

SOME = ["tic-tac-toe", "connect-four", "cage-6", "phage", "custodial-trap-advanced", "konane", "hex"]


@pytest.mark.parametrize("name", SOME)
def test_random_games_follow_the_rules(name):
    game = petteia.Game(name)
    chance = random.Random(1)
    for _ in range(3):
        position, before = game.position(), []
        while not position.is_over:
            legal = position.legal_actions()
            mask, planes = position.mask(), position.planes()
            assert mask.dtype == bool and np.flatnonzero(mask).tolist() == legal
            assert planes.shape == game.shape and planes.dtype == np.float32 and np.isfinite(planes).all()
            action = chance.choice(legal)
            text = position.action_text(action)
            assert position.action_number(text) == action and text in position.legal_texts()
            before.append((position.clone(), position.key))
            position.play(action)
        assert position.outcome in ("first", "second", "draw") and sum(position.returns) == 0
        assert position.legal_actions() == [] and not position.mask().any()
        for position_before, key in reversed(before[-5:]):
            position.undo()
            assert position == position_before and position.key == key


def test_actions_are_numbers_or_texts():
    position = petteia.Game("tic-tac-toe").position()
    position.play("b2")
    position.play(np.int64(0))
    position.play(np.uint16(8))
    assert position.action_texts == ["b2", "a1", "c3"] and position.to_move == 1
    with pytest.raises(ValueError, match="b2 is taken"):
        position.play("b2")
    with pytest.raises(ValueError, match="action 4 is not legal here"):
        position.play(4)
    with pytest.raises(ValueError, match="action -1"):
        position.play(-1)
    with pytest.raises(TypeError):
        position.play(1.5)
    with pytest.raises(TypeError, match="a whole number was expected, not True"):
        petteia.Game("tic-tac-toe").position().play(True)
    with pytest.raises(IndexError):
        petteia.Game("phage").position().undo()


def test_wrong_games_are_named():
    with pytest.raises(ValueError, match="did you mean `phage`"):
        petteia.Game("phag")
    with pytest.raises(ValueError, match="nowhere/run does not exist"):
        petteia.analyze([petteia.Game("phage").position()], "nowhere/run", 8)
    with pytest.raises(FileNotFoundError, match="nowhere.game does not exist"):
        petteia.Game("nowhere.game")
    with pytest.raises(ValueError):
        petteia.Game("hex", size=1000)
    with pytest.raises(ValueError, match="line 1"):
        petteia.Game.from_text("board 3 x")


TEXT = """game Line of Three by nobody
players X, O
board 3 x 3
piece mark X O
action place mark to empty
end line of 3 own: win
stuck: draw
limit 9: draw
"""


def test_a_text_is_a_game(tmp_path):
    text = TEXT
    game = petteia.Game.from_text(text)
    assert game.title == "Line of Three" and "line-of-three" in repr(game)
    path = tmp_path / "line.game"
    path.write_text(text)
    assert petteia.Game(path) == game
    assert pickle.loads(pickle.dumps(game.position(actions=["b2"]))).text == game.position(actions=["b2"]).text


@pytest.mark.parametrize("name", ["cage-6", "konane"])
def test_pickles_and_copies(name):
    game = petteia.Game(name)
    again = pickle.loads(pickle.dumps(game))
    assert again == game and hash(again) == hash(game)
    with pytest.raises(TypeError):
        hash(game.position())
    position = game.position()
    for _ in range(6):
        position.play(position.legal_actions()[0])
    for other in (pickle.loads(pickle.dumps(position)), copy.copy(position), copy.deepcopy(position)):
        assert other == position and other.actions == position.actions
        other.undo()
        assert other != position


def test_options():
    assert petteia.Game("hex", size=7).shape[1:] == (7, 7)


@pytest.mark.parametrize("name", SOME)
def test_a_batch_plays_what_single_games_play(name):
    game = petteia.Game(name)
    batch = game.batch(5, auto_reset=False, seed=3)
    singles = [game.position() for _ in range(5)]
    planes = np.empty((5, *game.shape), np.float32)
    mask = np.empty((5, game.actions), bool)
    for _ in range(game.max_plies + 1):
        assert batch.observe(out=planes) is planes and batch.mask(out=mask) is mask
        packed = batch.observe_packed()
        assert packed.dtype == np.uint64 and (game.unpack(packed) == planes).all()
        assert batch.to_move.tolist() == [single.to_move for single in singles]
        for row, single in enumerate(singles):
            assert batch.legal_actions(row).tolist() == single.legal_actions()
            assert (planes[row] == single.planes()).all() and (mask[row] == single.mask()).all()
        actions = batch.sample()
        rewards, ended = batch.apply(actions)
        for row, single in enumerate(singles):
            if not single.is_over:
                single.play(actions[row])
                assert tuple(rewards[row]) == single.returns
            else:
                assert not rewards[row].any()
        assert ended.tolist() == [single.is_over for single in singles]
        if ended.all():
            return
    raise AssertionError("games do not end")


def test_packed_planes_are_checked():
    game = petteia.Game("tic-tac-toe")
    batch = game.batch(2)
    packed = batch.observe_packed()
    assert batch.observe_packed(out=packed) is packed
    planes = np.empty((2, *game.shape), np.float32)
    assert game.unpack(packed, out=planes) is planes and (planes == batch.observe()).all()
    with pytest.raises(ValueError, match="contiguous array of shape"):
        game.unpack(packed[:, :1])
    packed[1, 1, 0] = 1 << 9
    with pytest.raises(ValueError, match="plane 1 of row 1 has squares beyond the board"):
        game.unpack(packed)


def test_a_batch_begins_again():
    game = petteia.Game("tic-tac-toe")
    batch = game.batch(1000, seed=1)
    ended = sum(batch.apply(batch.sample())[1].sum() for _ in range(100))
    assert 10_000 < ended < 14_000
    other = game.batch(1000, seed=1)
    assert (other.sample() == game.batch(1000, seed=1).sample()).all()
    assert (other.sample() != game.batch(1000, seed=2).sample()).any()


def test_a_batch_refuses_what_is_wrong():
    game = petteia.Game("tic-tac-toe")
    batch = game.batch(3)
    batch.apply(np.array([4, 4, 4], np.uint16))
    with pytest.raises(ValueError, match="game 1: action 4"):
        batch.apply(np.array([0, 4, 0], np.uint16))
    assert batch.position(0).text == ".../.X./... O"
    with pytest.raises(ValueError, match="there is no action -1"):
        batch.apply([0, -1, 0])
    with pytest.raises(TypeError, match="not float64"):
        batch.apply([0.5, 0.5, 0.5])
    with pytest.raises(TypeError, match="not bool"):
        batch.apply([True, False, True])
    for wrong in ([[0, 1, 2]], np.zeros((3, 1), np.uint16), 3, np.uint16(3)):
        with pytest.raises(ValueError, match="one number for each game"):
            batch.apply(wrong)
    with pytest.raises(ValueError, match="2 actions for 3 games"):
        batch.apply(np.array([0, 1], np.uint16))
    with pytest.raises(ValueError, match="shape"):
        batch.observe(out=np.empty((3, 1, 3, 3), np.float32))
    with pytest.raises(TypeError, match=r"float32 and shape \[3, 2, 3, 3\] was expected, not one of float64 and shape \[3, 2, 3, 3\]"):
        batch.observe(out=np.empty((3, 2, 3, 3)))
    with pytest.raises(TypeError, match="bool and shape .* not <class 'list'>"):
        batch.mask(out=[[True] * 9] * 3)
    with pytest.raises(IndexError):
        batch.position(3)
    with pytest.raises(ValueError, match="another game"):
        batch.set(0, petteia.Game("phage").position())
    batch.set(0, game.position(actions=["a1", "a2"]))
    batch.reset(1)
    assert [batch.position(row).text for row in range(2)] == [".../O../X.. X", ".../.../... X"]


def test_counts_that_no_memory_holds():
    game = petteia.Game("tic-tac-toe")
    for n in (10**12, 2**63 - 1, 2**64 - 1):
        with pytest.raises(ValueError, match=f"a batch of {n} games"):
            game.batch(n)
    for n in (-1, 2**64, 10**30):
        with pytest.raises(ValueError, match=f"{n}: a whole number from 0"):
            game.batch(n)
    assert len(game.batch(0)) == 0


def test_a_bool_is_no_number():
    game = petteia.Game("tic-tac-toe")
    batch, position = game.batch(2), game.position()
    for wrong in (
        lambda: game.batch(True),
        lambda: game.batch(2, seed=True),
        lambda: game.perft(True),
        lambda: game.position(actions=[True]),
        lambda: batch.position(True),
        lambda: batch.sample(seed=False),
        lambda: batch.reset(True),
        lambda: position.action_text(True),
        lambda: petteia.solve(position, True),
        lambda: petteia.check_game(game, True),
        lambda: petteia.analyze([position], "rollout", True),
        lambda: petteia.analyze([position], "rollout", seed=True),
        lambda: petteia.selfplay(game, "rollout", True),
        lambda: petteia.play_match(game, "random", "random", True),
        lambda: petteia.new_network("nowhere.safetensors", game, seed=True),
    ):
        with pytest.raises(TypeError, match="a whole number was expected, not (True|False)"):
            wrong()


def together(work, n=4):
    """Returns the errors of threads that call `work` at the same time."""
    errors, start = [], threading.Barrier(n)

    def again():
        start.wait()
        for _ in range(30):
            try:
                work()
            except RuntimeError as error:
                errors.append(str(error))

    threads = [threading.Thread(target=again) for _ in range(n)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return set(errors)


def test_what_several_threads_use_is_said():
    batch = petteia.Game("connect-four").batch(5000)
    assert together(batch.observe) <= {"another thread uses this batch: give each thread its own"}
    assert together(batch.observe), "four threads took turns"

    class Slow:
        name, shape, actions, max_plies = "slow", (1, 1, 1), 1, 9

        def __getattr__(self, name):
            if name in ("initial", "to_move", "outcome"):
                return {"initial": lambda: 0, "to_move": lambda state: 0, "outcome": lambda state: None}[name]
            if name in ("legal_actions", "planes", "state_text", "parse_state"):
                return lambda state: {"legal_actions": [0], "planes": [[[0]]], "state_text": "0", "parse_state": 0}[name]
            raise AttributeError(name)

        def play(self, state, action):
            time.sleep(0.01)
            return state + 1

    position = petteia.Game(Slow()).position()
    assert together(lambda: position.play(0)) == {"another thread uses this position: give each thread its own"}


def test_weak_references():
    game = petteia.Game("tic-tac-toe")
    for one in (game, game.position(), game.batch(2)):
        assert weakref.ref(one)() is one


def test_a_subinterpreter_is_refused():
    # in a child process: once a process has had a subinterpreter, torch assumes that every thread holds the lock
    module = "_xxsubinterpreters" if sys.version_info < (3, 13) else "_interpreters"
    pytest.importorskip(module)
    inner = "try:\n    import petteia\nexcept ImportError as error:\n    print(error)"
    script = f"import numpy, {module} as interpreters\ninterpreters.run_string(interpreters.create(), {inner!r})"
    child = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert "work only in the main interpreter" in child.stdout, child


def test_drawings():
    position = petteia.Game("connect-four").position(actions=["4", "4"])
    assert position._repr_svg_().startswith("<svg") and "Position of connect-four" in repr(position)
    assert len(str(position).splitlines()) == 6


def test_version():
    assert f'version = "{petteia.__version__}"' in (pathlib.Path(__file__).parents[1] / "Cargo.toml").read_text()


def test_perft():
    assert petteia.Game("connect-four").perft(5) == 7**5

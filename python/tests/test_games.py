import copy
import pathlib
import pickle
import random

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
    with pytest.raises(IndexError):
        petteia.Game("phage").position().undo()


def test_wrong_games_are_named():
    with pytest.raises(ValueError, match="did you mean `phage`"):
        petteia.Game("phag")
    with pytest.raises(ValueError, match="nowhere/run does not exist"):
        petteia.analyze([petteia.Game("phage").position()], "nowhere/run", 8)
    with pytest.raises(ValueError, match="cannot read the rules"):
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
    with pytest.raises(TypeError):
        batch.apply([0.5, 0.5, 0.5])
    with pytest.raises(ValueError, match="2 actions for 3 games"):
        batch.apply(np.array([0, 1], np.uint16))
    with pytest.raises(ValueError, match="shape"):
        batch.observe(out=np.empty((3, 1, 3, 3), np.float32))
    with pytest.raises(IndexError):
        batch.position(3)
    with pytest.raises(ValueError, match="another game"):
        batch.set(0, petteia.Game("phage").position())
    batch.set(0, game.position(actions=["a1", "a2"]))
    batch.reset(1)
    assert [batch.position(row).text for row in range(2)] == [".../O../X.. X", ".../.../... X"]


def test_drawings():
    position = petteia.Game("connect-four").position(actions=["4", "4"])
    assert position._repr_svg_().startswith("<svg") and "Position of connect-four" in repr(position)
    assert len(str(position).splitlines()) == 6


def test_version():
    assert f'version = "{petteia.__version__}"' in (pathlib.Path(__file__).parents[1] / "Cargo.toml").read_text()


def test_perft():
    assert petteia.Game("connect-four").perft(5) == 7**5

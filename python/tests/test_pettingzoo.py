import pytest

api_test = pytest.importorskip("pettingzoo.test").api_test

import petteia  # noqa: E402
from petteia.pettingzoo import env  # noqa: E402


@pytest.mark.parametrize("name", ["tic-tac-toe", "connect-four", "cage-4", "phage", "konane"])
def test_api(name):
    api_test(env(name), num_cycles=200)


def test_rewards_and_turns():
    zoo = env("tic-tac-toe")
    zoo.reset()
    for text in ["a1", "a2", "b1", "b2", "c1"]:
        position = zoo.unwrapped.position
        zoo.step(position.action_number(text))
    assert zoo.rewards == {"player_0": 1.0, "player_1": -1.0} and all(zoo.terminations.values())


def test_players_need_not_alternate():
    # a capture in this game gives another action to the same player
    game = petteia.Game("konane")
    zoo = env(game)
    zoo.reset(seed=1)
    acted = []
    for agent in zoo.agent_iter(200):
        observation, _, terminated, truncated, _ = zoo.last()
        if terminated or truncated:
            zoo.step(None)
            continue
        position = zoo.unwrapped.position
        assert agent == f"player_{position.to_move}"
        acted.append(agent)
        legal = observation["action_mask"].nonzero()[0]
        assert legal.tolist() == position.legal_actions()
        zoo.step(int(legal[-1]))
    assert any(one == other for one, other in zip(acted, acted[1:])), "nobody acted twice in a row"

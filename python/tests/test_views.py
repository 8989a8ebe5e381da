import copy
import pickle
import random

import numpy as np
import pytest

import petteia
from petteia import openspiel, pgx


@pytest.mark.parametrize("name", ["tic-tac-toe", "cage-4", "phage", "konane", "hex(size=4)"])
def test_openspiel_plays_as_the_rules_say(name):
    game, chance, repeated = openspiel.load_game(name), random.Random(1), False
    assert openspiel.load_game(str(game)) == game and game.num_players() == 2 and game.utility_sum() == 0
    for _ in range(3):
        state, position, last = game.new_initial_state(), game.game.position(), None
        while not position.is_over:
            player, legal = state.current_player(), state.legal_actions()
            assert not (state.is_terminal() or state.is_chance_node() or state.is_simultaneous_node())
            assert player == position.to_move and legal == position.legal_actions() == state.legal_actions(player)
            assert state.legal_actions_mask() == state.legal_actions_mask(player) == position.mask().tolist()
            assert state.legal_actions(1 - player) == [] and not any(state.legal_actions_mask(1 - player))
            assert state.observation_tensor() == state.observation_tensor(player) == position.planes().ravel().tolist()
            assert state.returns() == state.rewards() == [0, 0]
            repeated, last = repeated or player == last, player
            action = chance.choice(legal)
            text = state.action_to_string(player, action)
            assert state.string_to_action(text) == state.string_to_action(player, text) == action
            child = state.child(action)
            assert state.position == position, "a child is a state of its own"
            child.undo_action(player, action)
            assert child.position == position
            state.apply_action(action)
            position.play(action)
            assert state.position == position
        assert state.is_terminal() and state.current_player() == openspiel.TERMINAL_PLAYER == -4
        assert state.returns() == state.rewards() == [state.player_return(0), state.player_return(1)]
        assert tuple(state.returns()) == position.returns and state.move_number() <= game.max_game_length()
        assert state.legal_actions() == state.legal_actions(0) == [] and not any(state.legal_actions_mask())
        for other in (copy.copy(state), copy.deepcopy(state), pickle.loads(pickle.dumps(state))):
            assert other.history() == position.actions and other.position == position and other.get_game() == game
        assert game.deserialize_state(state.serialize()).position == position
    assert repeated == (name in ("cage-4", "konane")), "players who act twice in a row"


def test_openspiel_knows_who_has_won_and_what_is_wrong():
    game = openspiel.load_game("petteia:tic-tac-toe")
    assert (game.num_distinct_actions(), game.observation_tensor_shape()) == (9, [2, 3, 3])
    state = game.new_initial_state()
    for text in ("a1", "a2", "b1", "b2", "c1"):
        state.apply_action(state.string_to_action(text))
    assert state.returns() == [1, -1] and state.player_reward(1) == -1
    over = state.clone()
    state.undo_action(0, 2)
    assert state.history_str() == "0, 3, 1, 4" and over.is_terminal() and not state.is_terminal()
    for message, wrong in (
        ("the game is over", lambda: over.observation_tensor(0)),
        ("no player -1", lambda: over.player_return(-1)),
        ("not the last action", lambda: over.undo_action(1, 2)),
        ("not the last action", lambda: over.undo_action(0, 4)),
        ("which is 0, not 1", lambda: state.observation_tensor(1)),
        ("player 1 does not act", lambda: state.action_to_string(1, 2)),
        ("not legal", lambda: state.apply_action(0)),
        ("bracket", lambda: openspiel.load_game("hex(size=5")),
        ("name=value", lambda: openspiel.load_game("hex(5)")),
    ):
        with pytest.raises(ValueError, match=message):
            wrong()
    assert over.history() == [0, 3, 1, 4, 2] and state.history() == [0, 3, 1, 4]
    state = game.new_initial_state("O../.../X.. X")
    state.apply_action(4)
    assert state.serialize() == "position: O../.../X.. X\n4\n"
    assert game.deserialize_state(state.serialize()).position == state.position
    assert openspiel.load_game("hex", {"size": 5}) == openspiel.load_game(petteia.Game("hex", size=5)) != game


@pytest.mark.parametrize("name", ["tic-tac-toe", "konane"])
def test_algorithms_of_openspiel_find_what_the_solver_knows(name):
    mcts, minimax = (pytest.importorskip(f"open_spiel.python.algorithms.{module}") for module in ("mcts", "minimax"))
    game, chance, values = openspiel.load_game(name), np.random.RandomState(1), set()
    bot = mcts.MCTSBot(game, 1.4, 1000, mcts.RandomRolloutEvaluator(1, chance), random_state=chance)
    for _ in range(8):
        state = game.new_initial_state()
        while not state.is_terminal():
            state.apply_action(chance.choice(state.legal_actions()))
        for _ in range(5 if name == "konane" else state.move_number() - 3):
            state.position.undo()
        solution = petteia.solve(state.position)
        value, action = minimax.alpha_beta_search(game, state, maximizing_player_id=0)
        assert value == {"first": 1, "second": -1, "draw": 0}[solution.outcome]
        assert action in solution.best and bot.step(state) in solution.best
        values.add(value)
    assert len(values) > 1


@pytest.mark.parametrize("auto_reset", [False, True])
@pytest.mark.parametrize("name", ["tic-tac-toe", "konane"])
def test_pgx_plays_as_the_rules_say(name, auto_reset):
    n, game = 20, petteia.Game(name)
    env = pgx.make(name, n=n, auto_reset=auto_reset)
    state = env.init(seed=1)
    positions, seats = [game.position() for _ in range(n)], state.current_player.copy()
    assert state.current_player.dtype == np.int8 and 0 < seats.sum() < n and not state.terminated.any()
    assert env.observation_shape == state.observation.shape[1:] and not state.truncated.any()
    ended = redrawn = 0
    for _ in range(100):
        for i, position in enumerate(positions):
            assert state.current_player[i] == position.to_move ^ seats[i]
            assert (state.observation[i] == position.planes().transpose(1, 2, 0)).all()
            assert (state.legal_action_mask[i] == (position.mask() | position.is_over)).all()
        actions, before = state.batch.sample(), state
        state = env.step(state, actions)
        for i, position in enumerate(positions):
            returns = (0, 0)
            if not position.is_over:
                position.play(actions[i])
                returns, ended = position.returns, ended + position.is_over
            assert (state.rewards[i, seats[i]], state.rewards[i, 1 - seats[i]]) == returns
            assert state.terminated[i] == position.is_over
            if auto_reset and position.is_over:
                redrawn += seats[i] != state.current_player[i]
                positions[i], seats[i] = game.position(), state.current_player[i]
        assert before.legal_action_mask.any(1).all(), "what a state has said remains"
    assert (ended > n and 0 < redrawn < ended) if auto_reset else ended == n


def test_pgx_refuses_what_is_wrong():
    env = pgx.make("connect-four", n=2)
    first = env.init()
    with pytest.raises(ValueError):
        env.step(first, [7, 0])
    second = env.step(first, [3, 3])
    for stale in (lambda: env.step(first, [0, 0]), lambda: first.observation, lambda: first.legal_action_mask):
        with pytest.raises(RuntimeError, match="has already been stepped"):
            stale()
    with pytest.raises(ValueError, match="another environment"):
        pgx.make("connect-four", n=2).step(second, [0, 0])
    assert (env.init(5).current_player == env.init(5).current_player).all()


@pytest.mark.parametrize("auto_reset", [False, True])
@pytest.mark.parametrize("name", ["tic-tac-toe", "connect-four"])
def test_pgx_plays_as_pgx(name, auto_reset):
    jax, real = pytest.importorskip("jax"), pytest.importorskip("pgx")
    auto = pytest.importorskip("pgx.experimental.wrappers").auto_reset
    n, theirs, ours = 32, real.make(name.replace("-", "_")), pgx.make(name, 32, auto_reset)
    keys, rows, chance = jax.random.split(jax.random.key(1), n), np.arange(n), np.random.default_rng(1)
    step = jax.jit(jax.vmap(auto(theirs.step, theirs.init) if auto_reset else theirs.step))
    one, two, ends = jax.jit(jax.vmap(theirs.init))(keys), ours.init(1), 0
    for _ in range(60):
        mask = np.asarray(one.legal_action_mask)
        assert (mask == two.legal_action_mask).all()
        # row 0 is the lowest in Petteia and the highest in pgx
        planes = two.observation[:, ::-1] if name == "connect-four" else two.observation
        assert (np.asarray(one.observation) == planes[..., :2]).all()
        actions = np.argmax(chance.random(mask.shape) * mask, 1)
        # ids are drawn at random and differ: compare the values of the player who acts, and those of the opponent
        own, mine = np.asarray(one.current_player), two.current_player
        one, two = step(one, actions, keys), ours.step(two, actions)
        assert (np.asarray(one.terminated) == two.terminated).all() and not two.truncated.any()
        rewards = np.asarray(one.rewards)
        assert (rewards[rows, own] == two.rewards[rows, mine]).all()
        assert (rewards[rows, 1 - own] == two.rewards[rows, 1 - mine]).all()
        same = (np.asarray(one.current_player) == own) == (two.current_player == mine)
        assert same[~(two.terminated & auto_reset)].all()
        ends += (rewards != 0).any(1).sum()
    assert ends > n // 2 and (two.terminated.all() or auto_reset)

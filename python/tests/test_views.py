import copy
import pickle
import random

import numpy as np
import pytest

import petteia
from petteia import openspiel, pgx

SOME = ["tic-tac-toe", "connect-four", "cage-4", "phage", "konane", "hex(size=4)"]
WON = ["a1", "a2", "b1", "b2", "c1"]


@pytest.mark.parametrize("name", SOME)
def test_openspiel_plays_as_the_rules_say(name):
    game, chance, repeated = openspiel.load_game(name), random.Random(1), False
    assert openspiel.load_game(str(game)) == game and game.num_players() == 2 and game.utility_sum() == 0
    for _ in range(3):
        state, position, last = game.new_initial_state(), game.game.position(), None
        assert state.is_initial_state()
        while not position.is_over:
            player, legal = state.current_player(), state.legal_actions()
            assert not (state.is_terminal() or state.is_chance_node() or state.is_simultaneous_node())
            assert player == position.to_move and legal == position.legal_actions() == state.legal_actions(player)
            assert state.legal_actions_mask() == state.legal_actions_mask(player) == position.mask().astype(int).tolist()
            assert state.legal_actions(1 - player) == [] and not any(state.legal_actions_mask(1 - player))
            assert state.observation_tensor() == state.observation_tensor(player) == position.planes().ravel().tolist()
            assert state.returns() == state.rewards() == [0, 0]
            repeated, last = repeated or player == last, player
            action = chance.choice(legal)
            text = state.action_to_string(player, action)
            assert state.string_to_action(text) == state.string_to_action(player, text) == action
            child = state.child(action)
            assert state.position == position
            state.apply_action(action)
            position.play(action)
            assert state.position == child.position == position
            child.undo_action(player, action)
            assert child.history() == position.actions[:-1] and child.current_player() == player
        assert state.is_terminal() and state.current_player() == openspiel.TERMINAL_PLAYER
        assert state.returns() == state.rewards() == list(position.returns) and sum(state.returns()) == 0
        assert [state.player_return(player) for player in (0, 1)] == state.returns()
        assert state.legal_actions() == state.legal_actions(0) == [] and not any(state.legal_actions_mask())
        assert state.move_number() == len(position.actions) <= game.max_game_length()
        assert str(state).endswith(position.text)
        for other in (copy.copy(state), copy.deepcopy(state), pickle.loads(pickle.dumps(state))):
            assert other.history() == position.actions and other.position == position and other.get_game() == game
        assert game.deserialize_state(state.serialize()).position == position
    assert repeated == (name in ("cage-4", "konane")), "players who act twice in a row"


def test_openspiel_knows_who_has_won_and_what_is_wrong():
    game = openspiel.load_game("petteia:tic-tac-toe")
    state = game.new_initial_state()
    for text in WON:
        state.apply_action(state.string_to_action(text))
    assert state.returns() == [1, -1] and state.player_reward(1) == -1
    assert game.observation_tensor_shape() == [2, 3, 3] and game.observation_tensor_size() == 18
    assert (game.num_distinct_actions(), game.min_utility(), game.max_utility()) == (9, -1, 1)
    with pytest.raises(ValueError, match="the game is over"):
        state.observation_tensor(0)
    with pytest.raises(ValueError, match="not the last one"):
        state.undo_action(1, 2)
    with pytest.raises(ValueError, match="no player -1"):
        state.player_return(-1)
    state.undo_action(0, 2)
    assert state.history_str() == "0, 3, 1, 4" and not state.is_terminal()
    with pytest.raises(ValueError, match="which is 0, not 1"):
        state.observation_tensor(1)
    with pytest.raises(ValueError, match="player 1 does not act"):
        state.action_to_string(1, 2)
    with pytest.raises(ValueError, match="not legal"):
        state.apply_action(0)
    state = game.new_initial_state("O../.../X.. X")
    state.apply_action(4)
    assert state.serialize() == "position: O../.../X.. X\n4\n"
    assert game.deserialize_state(state.serialize()).position == state.position
    assert openspiel.load_game("hex", {"size": 5}) == openspiel.load_game(petteia.Game("hex", size=5)) != game
    for wrong in ("hex(size=5", "hex(5)", "hex(size=many)", "hexx"):
        with pytest.raises(ValueError):
            openspiel.load_game(wrong)


@pytest.mark.parametrize("name", ["tic-tac-toe", "konane"])
def test_algorithms_of_openspiel_find_what_the_solver_knows(name):
    mcts = pytest.importorskip("open_spiel.python.algorithms.mcts")
    minimax = pytest.importorskip("open_spiel.python.algorithms.minimax")
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
    assert {1, -1} <= values or name == "tic-tac-toe"


@pytest.mark.parametrize("auto_reset", [False, True])
@pytest.mark.parametrize("name", ["tic-tac-toe", "konane"])
def test_pgx_plays_as_the_rules_say(name, auto_reset):
    n, game = 20, petteia.Game(name)
    env = pgx.make(name, n=n, auto_reset=auto_reset)
    state = env.init(seed=1)
    positions, seats = [game.position() for _ in range(n)], state.current_player.copy()
    assert state.current_player.dtype == np.int8 and 0 < seats.sum() < n and not state.terminated.any()
    ended = 0
    for _ in range(100):
        assert state.observation.shape == (n, *env.observation_shape) and not state.truncated.any()
        assert state.legal_action_mask.shape == (n, env.num_actions)
        for i, position in enumerate(positions):
            assert state.current_player[i] == position.to_move ^ seats[i]
            assert (state.observation[i] == position.planes().transpose(1, 2, 0)).all()
            assert (state.legal_action_mask[i] == (position.mask() | position.is_over)).all()
        actions, before = state.batch.sample(), state
        state = env.step(state, actions)
        for i, position in enumerate(positions):
            was_over = position.is_over
            if not was_over:
                position.play(actions[i])
            returns = (0, 0) if was_over else position.returns
            assert [state.rewards[i, seats[i]], state.rewards[i, 1 - seats[i]]] == list(returns)
            assert state.terminated[i] == position.is_over
            ended += position.is_over and not was_over
            if auto_reset and position.is_over:
                positions[i], seats[i] = game.position(), state.current_player[i]
        assert before.legal_action_mask.any(1).all(), "what a state has said remains"
    assert ended == n or auto_reset and ended > n // 2


def test_pgx_refuses_what_is_wrong():
    env = pgx.make("connect-four", n=2)
    first = env.init()
    with pytest.raises(ValueError):
        env.step(first, [7, 0])
    second = env.step(first, [3, 3])
    for stale in (lambda: env.step(first, [0, 0]), lambda: first.observation, lambda: first.legal_action_mask):
        with pytest.raises(RuntimeError, match="has been stepped"):
            stale()
    with pytest.raises(ValueError, match="another environment"):
        pgx.make("connect-four", n=2).step(second, [0, 0])
    assert (env.init(5).current_player == env.init(5).current_player).all()


@pytest.mark.parametrize("auto_reset", [False, True])
@pytest.mark.parametrize("name", ["tic-tac-toe", "connect-four"])
def test_pgx_plays_as_pgx(name, auto_reset):
    jax, real = pytest.importorskip("jax"), pytest.importorskip("pgx")
    wrappers = pytest.importorskip("pgx.experimental.wrappers")
    n, theirs, ours = 32, real.make(name.replace("-", "_")), pgx.make(name, 32, auto_reset)
    keys = jax.random.split(jax.random.key(1), n)
    step = jax.jit(jax.vmap(wrappers.auto_reset(theirs.step, theirs.init) if auto_reset else theirs.step))
    one, two, rows = jax.jit(jax.vmap(theirs.init))(keys), ours.init(1), np.arange(n)
    chance = np.random.default_rng(1)
    for ply in range(60):
        mask = np.asarray(one.legal_action_mask)
        assert (mask == two.legal_action_mask).all()
        planes = two.observation[:, ::-1] if name == "connect-four" else two.observation
        assert (np.asarray(one.observation) == planes[..., :2]).all()
        actions = np.argmax(chance.random(mask.shape) * mask, 1)
        players = [np.asarray(one.current_player), two.current_player]
        one, two = step(one, actions, jax.random.split(jax.random.key(ply), n)), ours.step(two, actions)
        assert (np.asarray(one.terminated) == two.terminated).all() and not two.truncated.any()
        for theirs_own, ours_own in ((players[0], players[1]), (1 - players[0], 1 - players[1])):
            assert (np.asarray(one.rewards)[rows, theirs_own] == two.rewards[rows, ours_own]).all()
        goes_on = ~two.terminated | (not auto_reset)
        assert ((one.current_player == players[0]) == (two.current_player == players[1]))[goes_on].all()
    assert two.terminated.all() or auto_reset

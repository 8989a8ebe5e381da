import json
import multiprocessing
import pathlib
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import petteia

SETS = pathlib.Path(__file__).parents[2] / "sets"
GAME = petteia.Game("connect-four")
ACTIONS = GAME.actions


def uniform(planes):
    n = len(planes)
    return np.full((n, ACTIONS), 1 / ACTIONS, np.float32), np.full((n, 3), 1 / 3, np.float32)


def random_positions(count, seed=1):
    batch = GAME.batch(count, auto_reset=False, seed=seed)
    for _ in range(6):
        batch.apply(batch.sample())
    return [batch.position(row) for row in range(count)]


def test_an_evaluator_in_python_is_the_one_in_rust():
    positions = random_positions(50)
    theirs = petteia.analyze(positions, "uniform", 64)
    # with small batches, two are in progress at the same time
    for batch in (64, 8):
        ours = petteia.analyze(positions, uniform, 64, batch=batch)
        for one, other in zip(ours, theirs, strict=True):
            assert one.action == other.action and (one.visits == other.visits).all()
    for one in ours:
        # a search ends early once it has proved the result
        assert one.line[0] == one.text and (one.visits.sum() >= 63 or abs(one.value) == 1)


def test_numbers_of_every_kind():
    positions = random_positions(4)
    said = petteia.analyze(positions, uniform, 32)
    kinds = [
        lambda planes: (np.zeros((len(planes), ACTIONS)), np.zeros((len(planes), 3))),
        lambda planes: ([[0.0] * ACTIONS] * len(planes), [[0] * 3] * len(planes)),
    ]
    for kind in kinds:
        for one, other in zip(petteia.analyze(positions, kind, 32, logits=True), said):
            assert (one.visits == other.visits).all()
    values = lambda planes: (uniform(planes)[0], np.zeros(len(planes), np.float32))
    assert abs(petteia.analyze([GAME.position()], values, 32)[0].value) < 1


def test_what_the_player_to_move_sees_counts():
    # a player to move who has three in a row wins at once, and the search finds this win for both players
    for actions in (["1", "2", "1", "2", "1", "2"], ["7", "1", "2", "1", "2", "1", "7"]):
        position = GAME.position(actions=actions)
        found = petteia.analyze([position], uniform, 100)[0]
        assert found.text == "1" and found.value > 0.9


def test_wrong_answers_are_errors():
    position = GAME.position()
    for wrong, error in [
        (lambda planes: planes, TypeError),
        (lambda planes: (np.zeros((len(planes), 3)), np.zeros(len(planes))), ValueError),
        (lambda planes: (np.full((len(planes), ACTIONS), np.nan), np.zeros(len(planes))), ValueError),
        (lambda planes: (-uniform(planes)[0], np.zeros(len(planes))), ValueError),
    ]:
        with pytest.raises(error, match="evaluator"):
            petteia.analyze([position], wrong, 8)


def test_arrays_in_any_order_of_memory():
    positions = random_positions(30)
    def evaluator(planes, order="C"):
        seen = planes.reshape(len(planes), -1).sum(1)
        policy = np.abs(np.sin(np.outer(seen + 1, np.arange(1, ACTIONS + 1))))
        wdl = np.tile([0.5, 0.2, 0.3], (len(planes), 1))
        return np.asarray(policy, np.float32, order=order), np.asarray(wdl, np.float32, order=order)

    ours = petteia.analyze(positions, evaluator, 32)
    theirs = petteia.analyze(positions, lambda planes: evaluator(planes, "F"), 32)
    assert all((one.visits == other.visits).all() for one, other in zip(ours, theirs))
    assert all(np.allclose(one.priors.sum(), 1, atol=1e-5) for one in ours)
    batch = GAME.batch(4)
    with pytest.raises(ValueError, match="contiguous"):
        batch.mask(out=np.empty((4, ACTIONS), bool, order="F"))


def test_values_out_of_range_are_errors():
    for wrong in (np.nan, 1.5, -2.0):
        with pytest.raises(ValueError, match="-1 to 1"):
            petteia.analyze([GAME.position()], lambda planes: (uniform(planes)[0], np.full(len(planes), wrong)), 8)
    masked = lambda planes: (np.where(np.arange(ACTIONS) > 3, -np.inf, 0.0) + np.zeros((len(planes), 1)), np.zeros((len(planes), 3)))
    found = petteia.analyze([GAME.position()], masked, 8, logits=True)[0]
    assert found.priors[4:].max() < 1e-6


def test_an_evaluator_cannot_search_itself():
    def nested(planes):
        petteia.analyze([GAME.position()], "rollout", 8)
        return uniform(planes)

    with pytest.raises(RuntimeError, match="cannot search"):
        petteia.analyze([GAME.position()], nested, 8)

    def steps(planes):
        GAME.batch(10).apply(GAME.batch(10).sample())
        return uniform(planes)

    assert petteia.analyze([GAME.position()], steps, 8)[0].simulations == 8


class Own(Exception):
    pass


def test_a_slow_evaluator_that_raises_ends_a_match():
    # every thread is waiting for an answer when the evaluator raises
    def raises(planes):
        time.sleep(0.01)
        raise Own("at once")

    for other in ("random", "rollout:50"):
        with pytest.raises(Own):
            petteia.play_match(GAME, raises, other, 40, 16)


def test_an_exception_surfaces_unchanged():
    asked = []

    def raises(planes):
        asked.append(len(planes))
        if len(asked) == 3:
            raise Own("the third batch")
        return uniform(planes)

    for work in (
        lambda: petteia.analyze(random_positions(200), raises, 64),
        lambda: petteia.analyze(random_positions(200), raises, 64, batch=16),
        lambda: petteia.selfplay(GAME, raises, 64, 16),
        lambda: petteia.play_match(GAME, raises, "random", 40, 16),
    ):
        asked.clear()
        with pytest.raises(Own, match="the third batch"):
            work()
        assert len(asked) == 3


def test_the_evaluator_runs_on_the_thread_that_called():
    threads = set()

    def notes(planes):
        threads.add(threading.get_ident())
        return uniform(planes)

    petteia.analyze(random_positions(100), notes, 16)
    assert threads == {threading.get_ident()}


def test_several_threads_search_at_once():
    positions = random_positions(20)
    expected = [one.visits.tolist() for one in petteia.analyze(positions, uniform, 32)]
    found = []
    work = lambda: found.append([one.visits.tolist() for one in petteia.analyze(positions, uniform, 32)])
    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 8


def test_no_lock_is_held_while_the_cores_search():
    counted = 0
    done = threading.Event()

    def count():
        nonlocal counted
        while not done.is_set():
            counted += 1
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    petteia.analyze(random_positions(20), "rollout", 800)
    done.set()
    thread.join()
    assert counted > 20


INTERRUPTED = """
import petteia, sys
game = petteia.Game("cage")
print("begins", flush=True)
try:
    petteia.play_match(game, {agent}, "rollout:1000000", 1000, 1000000)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals of Unix")
def test_ctrl_c_ends_a_perfect_agent():
    script = "import petteia\ngame = petteia.Game('tic-tac-toe')\nprint('begins', flush=True)\n"
    script += "try:\n    petteia.analyze([game.position()] * 10**6, 'perfect')\nexcept KeyboardInterrupt:\n    print('interrupted', flush=True)"
    child = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "begins\n"
    time.sleep(5)
    child.send_signal(signal.SIGINT)
    assert child.stdout.read() == "interrupted\n" and child.wait() == 0


@pytest.mark.skipif(sys.platform == "win32", reason="signals of Unix")
@pytest.mark.parametrize("agent", ['"rollout:1000000"', "lambda planes: (__import__('numpy').ones((len(planes), game.actions)), __import__('numpy').zeros(len(planes)))"])
def test_ctrl_c_ends_a_match(agent):
    # a single search of this match takes far too long to wait for
    child = subprocess.Popen([sys.executable, "-c", INTERRUPTED.format(agent=agent)], stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "begins\n"
    time.sleep(1)
    child.send_signal(signal.SIGINT)
    assert child.stdout.read() == "interrupted\n"
    assert child.wait() == 0


def in_child(queue):
    try:
        queue.put(petteia.analyze([GAME.position()], "rollout", 20)[0].simulations)
    except RuntimeError as error:
        queue.put(str(error))


@pytest.mark.parametrize(("method", "expected"), [("spawn", 20), ("fork", "forked")])
def test_processes(method, expected):
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"there is no {method} here")
    petteia.analyze([GAME.position()], "rollout", 20)
    context = multiprocessing.get_context(method)
    queue = context.Queue()
    child = context.Process(target=in_child, args=(queue,))
    child.start()
    said = queue.get(timeout=120)
    child.join()
    assert said == expected or expected in str(said)


def test_agents_of_the_program():
    position = petteia.Game("phage").position()
    found = petteia.analyze([position], "shipped:50")[0]
    assert found.text in position.legal_texts() and found.simulations == 50
    said = petteia.evaluate([position] * 3, "shipped")
    assert said.priors.shape == (3, position.game.actions) and np.allclose(said.priors.sum(1), 1)
    assert ((said.priors > 0) <= position.mask()).all() and np.allclose(said.wdl.sum(1), 1)
    own = petteia.evaluate(random_positions(3), uniform)
    assert np.allclose(own.wdl, 1 / 3)
    with pytest.raises(ValueError, match="game is over"):
        petteia.evaluate([GAME.position(actions=list("1212121"))], uniform)
    assert petteia.analyze([GAME.position(actions=list("1212121"))], uniform, 8) == [None]


def test_a_perfect_agent_has_looked_at_nothing():
    found = petteia.analyze([petteia.Game("tic-tac-toe").position()], "perfect")[0]
    assert found.visits.tolist() == [0] * 9 and np.isnan(found.values).all() and found.value == 0


def test_numbers_of_simulations_and_settings():
    position = GAME.position()
    assert petteia.analyze([position], "rollout:40", 80)[0].simulations == 40
    assert petteia.analyze([position], "rollout", 80)[0].simulations == 80
    with pytest.raises(ValueError, match="their own settings"):
        petteia.analyze([position], "shipped", 8, cpuct=2.0)
    for games in (0, 7):
        with pytest.raises(ValueError, match="even number"):
            petteia.play_match(GAME, "random", "random", games)
    with pytest.raises(ValueError, match="does not search"):
        petteia.analyze([position], "random", 8)
    for number in (0, 10**9):
        with pytest.raises(ValueError, match=f"simulations={number}"):
            petteia.analyze([position], uniform, number)
    for batch in (0, 2**40):
        with pytest.raises(ValueError, match=f"batch={batch}"):
            petteia.evaluate([position], uniform, batch=batch)
    with pytest.raises(ValueError, match="games=1000000000000"):
        petteia.selfplay(GAME, uniform, 10**12, 2)
    with pytest.raises(ValueError, match="opening_plies=1000000000000"):
        petteia.play_match(GAME, "random", "random", 2, opening_plies=10**12)
    with pytest.raises(ValueError, match="experts=3"):
        petteia.balance(GAME, ["random", "rollout:2"], experts=3)
    with pytest.raises(TypeError, match="argument 'simulations': 'float' object"):
        petteia.analyze([position], uniform, 1.5)
    with pytest.raises(ValueError, match="game.size"):
        petteia.selfplay(GAME, uniform, 1, 2, settings={"game.size": 9})


def test_exact_values():
    found = petteia.solve(petteia.Game("tic-tac-toe").position())
    assert found.outcome == "draw" and len(found.best) == 9 and found.nodes > 0
    assert petteia.solve(petteia.Game("tic-tac-toe").position(), memory=2**63).outcome == "draw"
    assert petteia.solve(petteia.Game("cage").position(), 1000).outcome is None


def test_a_ladder():
    found = petteia.ladder(GAME, ["random", "rollout:20", "rollout:200"], 120)
    elo = [rated.elo for rated in found.ratings]
    assert elo[0] == 0 and elo[0] < elo[1] < elo[2] and found.games == 120


def test_balance():
    found = petteia.balance(petteia.Game("tic-tac-toe"), ["rollout:10", "perfect"], 20, most_games=20)
    assert found.levels[0].games == 20 and found.levels[1].draws == 1 and found.levels[1].is_expert
    assert found.score.low < found.score.rate == 0.5 < found.score.high and found.favors is None
    assert 0 < found.levels[0].first_score.rate < 1 and found.more["openings"]


def test_accuracy():
    # the sets of solved positions are only in the repository
    game = petteia.Game("connect-four")
    found = petteia.accuracy(game, "uniform:16", SETS / "connect-four.jsonl.zst", batch=256)
    assert found.positions > 1000 and 0.05 < found.error_rate.rate < 0.6
    assert found.error_rate.low < found.error_rate.rate < found.error_rate.high
    assert sum(one.positions for one in found.classes.values()) == found.positions
    own = petteia.accuracy(game, uniform, SETS / "connect-four.jsonl.zst", 16, batch=256)
    assert own.errors == found.errors and own.brier == pytest.approx(found.brier)


def test_missing_files_are_said_alike(tmp_path):
    gone = tmp_path / "gone"
    for wrong in (
        lambda: petteia.accuracy(GAME, "rollout:2", gone),
        lambda: petteia.records(gone),
        lambda: petteia.window(gone),
        lambda: petteia.metrics(gone),
        lambda: petteia.weights(gone),
        lambda: petteia.write_weights(tmp_path / "other", {}, gone),
        lambda: petteia.analyze([GAME.position()], gone, 2),
        lambda: petteia.Game(gone.with_suffix(".game")),
    ):
        with pytest.raises(FileNotFoundError, match="gone"):
            wrong()


def test_games_from_elsewhere(tmp_path):
    path = tmp_path / "shard-0000.jsonl.zst"
    games = [list("1212121"), list("4444443") + list("1212") + ["5", "5", "5", "5"]]
    with pytest.raises(ValueError, match="game 1"):
        petteia.write_records(path, GAME, games)
    assert petteia.write_records(path, GAME, games[:1]) == 7
    again = petteia.records(path)
    assert again.game == GAME and len(again) == 7 and again.outcome.tolist() == [1, -1, 1, -1, 1, -1, 1]
    assert (again.policy.argmax(1) == [0, 1, 0, 1, 0, 1, 0]).all()


def test_games_that_people_ended(tmp_path):
    path = tmp_path / "games.jsonl.zst"
    resigned, drawn, over = list("4435"), list("44"), list("1212121")
    games = [resigned, drawn, over, drawn]
    outcomes, ended = ["second", "draw", None, "first"], [None, None, None, "time"]
    assert petteia.write_records(path, GAME, games, outcomes, ended) == 15
    again = petteia.records(path)
    ends = [(json.loads(line)["outcome"], json.loads(line).get("ended")) for line in again.lines]
    assert ends == [("second", "resigned"), ("draw", "agreed"), ("first", None), ("first", "time")]
    assert again.outcome.tolist() == [-1, 1, -1, 1, 0, 0, 1, -1, 1, -1, 1, -1, 1, 1, -1]
    for outcomes, ended, why in (
        (["second"], None, "1 outcomes for 4 games"),
        (["won", None, None, None], None, "won.*first, second, or draw"),
        (["second", "draw", None, "first"], ["mate", None, None, None], "mate.*resigned, agreed"),
        (["second", None, None, "first"], None, "game 1: the game is not over"),
        (["second", "draw", "draw", "first"], None, "game 2: .*the rules say first"),
        (["second", "draw", "first", "first"], [None, None, "time", None], "game 2: .*it is over"),
        (["draw"] * 2 + [None, "first"], ["resigned", None, None, None], "game 0: .*has a winner"),
    ):
        with pytest.raises(ValueError, match=why):
            petteia.write_records(path, GAME, games, outcomes, ended, overwrite=True)
    with pytest.raises(TypeError, match="selfplay"):
        petteia.write_records(path, GAME, petteia.selfplay(GAME, uniform, 1, 2), ["draw"], overwrite=True)
    # refused games leave the file unchanged
    assert petteia.records(path).lines == again.lines


def test_games_are_lists_and_are_not_overwritten(tmp_path):
    path = tmp_path / "games.jsonl.zst"
    for games in (list("1212121"), [list("1212121"), "4435"]):
        with pytest.raises(TypeError, match="a list of action texts"):
            petteia.write_records(path, GAME, games)
    assert not path.exists()
    assert petteia.write_records(path, GAME, [list("1212121")]) == 7
    for games in ([list("1212121")] * 2, petteia.selfplay(GAME, uniform, 1, 2)):
        with pytest.raises(FileExistsError, match="overwrite=True"):
            petteia.write_records(path, GAME, games)
    assert petteia.write_records(path, GAME, [list("1212121")] * 2, overwrite=True) == 14


def test_matches():
    result = petteia.play_match(GAME, "rollout:100", "random", 40, seed=2)
    assert result.games == 40 and result.score > 0.9 and result.elo > 100
    assert result == petteia.play_match(GAME, "rollout:100", "random", 40, seed=2)
    own = petteia.play_match(GAME, uniform, "random", 20, 50)
    assert own.wins > 10 and own.more["faults"]


def test_selfplay_gives_arrays():
    played = petteia.selfplay(GAME, uniform, 8, 16, seed=5)
    n = len(played)
    assert n > 40 and played.planes.shape == (n, *GAME.shape) and len(played.lines) == 8
    assert np.allclose(played.policy.sum(1), 1, atol=1e-5) and ((played.policy > 0) <= played.mask).all()
    assert set(np.unique(played.outcome)) <= {-1, 0, 1} and np.allclose(played.wdl.sum(1), 1, atol=2e-3)
    again = petteia.selfplay(GAME, uniform, 8, 16, batch=7, seed=5)
    assert again.lines == played.lines
    assert petteia.selfplay(GAME, uniform, 8, 16, seed=6).lines != played.lines
    with pytest.raises(ValueError, match="search.cpct"):
        petteia.selfplay(GAME, uniform, 1, 2, settings={"search.cpct": 1.0})

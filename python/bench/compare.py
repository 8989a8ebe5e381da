"""Compares the speed of our module with pgx, OpenSpiel, and EnvPool's native games in one run, each on one core of the CPU.

    python compare.py [--seconds 1] [--rounds 3] [--only steps|search] [--threads 1]

Steps: plays random legal actions in many games at once, which begin again when they end, and counts millions of steps per
second; then does the same while computing planes (or the library's observation) and masks at each step, ours as floats and,
in a third row, as bits. In the rows without them, pgx computes only masks, because it draws from them. EnvPool always computes both, with observations for both players.
EnvPool's time excludes the time in which NumPy draws the actions, and its count excludes the steps that begin a game again. All
libraries use the same boards, and Hex always has the swap rule.

Search: counts simulations per second of `analyze` in 256 positions with a constant evaluator in Python, with the uniform
evaluator in Rust, and with a PyTorch network (32 filters, 4 blocks). For the network, also counts evaluations per second, in
the search and by the network alone in batches of the sizes that the search asked for. The network has its own thread beside the
threads of the search; the last number is the share of the time in which the network computes.

Libraries that are not installed are left out. Prints tables in Markdown, and JSON.
"""

import argparse
import json
import os
import tempfile
import time

OPTIONS = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
OPTIONS.add_argument("--seconds", type=float, default=1.0)
OPTIONS.add_argument("--rounds", type=int, default=3)
OPTIONS.add_argument("--only", choices=["steps", "search"])
OPTIONS.add_argument("--threads", type=int, default=1, help="for the search and for PyTorch")
OPTIONS.add_argument("--simulations", type=int, default=200)
OPTIONS = OPTIONS.parse_args()
os.environ.setdefault("RAYON_NUM_THREADS", str(OPTIONS.threads))
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")

import numpy as np  # noqa: E402

# our name and options, and the names in the other libraries; all use boards of 6 x 7, 11 x 11, 8 x 8, and 3 x 3
GAMES = {
    "connect-four": ({}, "connect_four", "connect_four", "ConnectFour-v1"),
    "hex": ({"size": 11}, "hex", "hex(board_size=11,swap=True)", "Hex-v1"),
    "othello": ({}, "othello", "othello", "Othello-v1"),
    "tic-tac-toe": ({}, "tic_tac_toe", "tic_tac_toe", "TicTacToe-v1"),
}
SIZES = {"petteia": 4096, "pgx": 4096, "EnvPool": 1024}
BATCH = 64


def ours(name, observes):
    import petteia

    n, game = SIZES["petteia"], petteia.Game(name, **GAMES[name][0])
    batch = game.batch(n)
    planes, mask = np.empty((n, *game.shape), np.float32), np.empty((n, game.actions), bool)
    packed = batch.observe_packed()

    def step():
        begun = time.perf_counter()
        if observes == "packed":
            batch.observe_packed(out=packed)
        elif observes:
            batch.observe(out=planes)
        if observes:
            batch.mask(out=mask)
        batch.apply(batch.sample())
        return n, time.perf_counter() - begun

    return step


def pgx_steps(name, observes, inner=16):
    import jax
    import jax.numpy as jnp
    import pgx
    from pgx.experimental import auto_reset

    n, env = SIZES["pgx"], pgx.make(GAMES[name][1])
    step_one = jax.vmap(auto_reset(env.step, env.init))

    @jax.jit
    def run(state, key):
        def one(carry, _):
            state, key, seen = carry
            key, draw, reset = jax.random.split(key, 3)
            action = jax.random.categorical(draw, jnp.where(state.legal_action_mask, 0.0, -1e9))
            state = step_one(state, action, jax.random.split(reset, n))
            # JAX computes an observation only if the code reads it or the state keeps it
            seen = seen + (state.observation.sum() if observes else 0)
            state = state.replace(observation=jnp.zeros_like(state.observation))
            return (state, key, seen), None

        return jax.lax.scan(one, (state, key, jnp.float32(0)), None, length=inner)[0]

    key = jax.random.PRNGKey(0)
    kept = [jax.jit(jax.vmap(env.init))(jax.random.split(key, n)), key]

    def step():
        begun = time.perf_counter()
        state, key, seen = run(*kept)
        seen.block_until_ready()
        kept[:] = [state, key]
        return n * inner, time.perf_counter() - begun

    return step


def openspiel_steps(name, observes, count=1000):
    import random

    import pyspiel

    game = pyspiel.load_game(GAMES[name][2])
    kept = [game.new_initial_state()]

    def step():
        begun, state = time.perf_counter(), kept[0]
        for _ in range(count):
            if observes:
                state.observation_tensor()
                state.legal_actions_mask()
            state.apply_action(random.choice(state.legal_actions()))
            if state.is_terminal():
                state = game.new_initial_state()
        kept[0] = state
        return count, time.perf_counter() - begun

    return step


def envpool_steps(name, observes):
    import envpool

    if not observes:
        raise NotImplementedError("EnvPool always computes observations")
    n, random = SIZES["EnvPool"], np.random.default_rng(1)
    pool = envpool.make(GAMES[name][3], env_type="gymnasium", num_envs=n, num_threads=1, seed=1)
    kept = [pool.reset()[1]["legal_action_mask"]]

    def step():
        actions = (random.random(kept[0].shape, np.float32) * kept[0]).argmax(1).astype(np.int32)
        begun = time.perf_counter()
        info = pool.step(actions)[4]
        spent, kept[0] = time.perf_counter() - begun, info["legal_action_mask"]
        # if a game has ended, a step begins the next game and plays no action
        return int((info["elapsed_step"] > 0).sum()), spent

    return step


def measured(makers):
    """Returns the median rate per second of each library, measured in turn in each round; libraries that are missing are left
    out."""
    steps = {}
    for library, make in makers.items():
        try:
            steps[library] = make()
        except (ImportError, NotImplementedError):
            continue
    rates = {library: [] for library in steps}
    for step in steps.values():
        step()
    for _ in range(OPTIONS.rounds):
        for library, step in steps.items():
            made, spent = 0, 0.0
            while spent < OPTIONS.seconds:
                count, seconds = step()
                made, spent = made + count, spent + seconds
            rates[library].append(made / spent)
    return {library: sorted(of)[len(of) // 2] for library, of in rates.items()}


def searches(name):
    """Returns simulations per second for each kind of evaluator; for a network, also evaluations per second with and without a
    search."""
    import petteia

    game = petteia.Game(name)
    batch = game.batch(256, auto_reset=False, seed=1)
    for _ in range(4):
        batch.apply(batch.sample())
    positions = [batch.position(row) for row in range(256)]
    priors, wdl = np.full((4096, game.actions), 1 / game.actions, np.float32), np.full((4096, 3), 1 / 3, np.float32)

    def search(agent, **named):
        begun = time.perf_counter()
        found = petteia.analyze(positions, agent, OPTIONS.simulations, batch=BATCH, **named)
        return sum(one.simulations for one in found if one), time.perf_counter() - begun

    constant = lambda planes: (priors[: len(planes)], wdl[: len(planes)])  # noqa: E731
    found = measured({"uniform, in Rust": lambda: lambda: search("uniform"), "constant, in Python": lambda: lambda: search(constant)})
    try:
        import petteia.torch
        import torch
    except ImportError:
        return found
    torch.set_num_threads(OPTIONS.threads)
    with tempfile.TemporaryDirectory() as folder:
        petteia.new_network(f"{folder}/new.safetensors", game, filters=32, blocks=4)
        evaluator = petteia.torch.evaluator(petteia.torch.load(f"{folder}/new.safetensors"))
    planes = np.stack([position.planes() for position in positions])
    evaluator(planes[:BATCH])
    rounds = []
    for _ in range(OPTIONS.rounds):
        sizes, computing = [], 0.0

        def counting(seen):
            nonlocal computing
            begun = time.perf_counter()
            answer = evaluator(seen)
            sizes.append(len(seen))
            computing += time.perf_counter() - begun
            return answer

        made, searching = search(counting, logits=True)
        begun = time.perf_counter()
        for size in sizes:
            evaluator(planes[:size])
        alone = time.perf_counter() - begun
        rounds.append((alone / searching, computing / searching, made / searching, sum(sizes) / searching, sum(sizes) / alone, sum(sizes) / len(sizes)))
    share, busy, *rates = sorted(rounds)[len(rounds) // 2]
    kinds = ["network, simulations", "network, evaluations", "network alone, evaluations", "positions a batch"]
    return found | dict(zip(kinds, rates)) | {"% of the network alone": 100 * share, "% of the time in the network": 100 * busy}


def main():
    found = {}
    if OPTIONS.only != "search":
        for name in GAMES:
            for observes in (False, True):
                makers = {
                    "petteia": lambda: ours(name, observes),
                    **({"packed": lambda: ours(name, "packed")} if observes else {}),
                    "pgx": lambda: pgx_steps(name, observes),
                    "OpenSpiel": lambda: openspiel_steps(name, observes),
                    "EnvPool": lambda: envpool_steps(name, observes),
                }
                found[f"{name}, observed" if observes else name] = measured(makers)
        libraries = ["petteia", "packed", "pgx", "OpenSpiel", "EnvPool"]
        print(f"| million steps per second | {' | '.join(libraries)} |\n|-|{'-|' * len(libraries)}")
        for row, rates in found.items():
            mine = [rates[one] for one in ("petteia", "packed") if one in rates]
            speedups = {one: ", ".join(f"{own / rates[one]:.1f}" for own in mine) for one in rates}
            cells = [f"{rates[one] / 1e6:.3f} ({speedups[one]})" if one in rates else "" for one in libraries]
            print(f"| {row} | {' | '.join(cells)} |")
        print("In parentheses: the speedup of our module, with floats and with bits.\n")
    if OPTIONS.only != "steps":
        rows = {name: searches(name) for name in ("connect-four", "othello")}
        kinds = list(rows["connect-four"])
        print(f"| a second | {' | '.join(kinds)} |\n|-|{'-|' * len(kinds)}")
        for name, rates in rows.items():
            print(f"| {name} | {' | '.join(f'{rates[kind]:,.0f}' for kind in kinds)} |")
        found |= {f"{name}, search": rates for name, rates in rows.items()}
    print(json.dumps(found))


if __name__ == "__main__":
    main()

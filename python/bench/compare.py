"""Our module beside pgx, OpenSpiel and EnvPool's native games, in one run on one core each.

    python compare.py [--seconds 1] [--rounds 3]

Random steps a second (millions) with and without observation, of as many games at once as each library likes best, and simulations a
second of a search with a constant evaluator. What is not installed is left out. The last line is JSON.
"""

import argparse
import json
import os
import time

os.environ.setdefault("RAYON_NUM_THREADS", "1")
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")

import numpy as np  # noqa: E402

GAMES = {
    "connect-four": ("connect_four", "connect_four"),
    "hex": ("hex", "hex"),
    "othello": ("othello", "othello"),
    "tic-tac-toe": ("tic_tac_toe", "tic_tac_toe"),
}


def rate(step, seconds):
    """Steps a second of a function that returns how many it has made."""
    step()
    begun, made = time.perf_counter(), 0
    while (now := time.perf_counter()) - begun < seconds:
        made += step()
    return made / (now - begun)


def ours(name, observes, n=4096):
    import petteia

    game = petteia.Game(name, size=11) if name == "hex" else petteia.Game(name)
    batch = game.batch(n)
    planes, mask = np.empty((n, *game.shape), np.float32), np.empty((n, game.actions), bool)

    def step():
        if observes:
            batch.observe(out=planes)
            batch.mask(out=mask)
        batch.apply(batch.sample())
        return n

    return step


def pgx_step(name, observes, n=4096, inner=16):
    import jax
    import jax.numpy as jnp
    import pgx
    from pgx.experimental import auto_reset

    env = pgx.make(name)
    step = jax.vmap(auto_reset(env.step, env.init), in_axes=(0, 0, 0))
    observe = jax.vmap(env.observe)

    @jax.jit
    def run(state, key):
        def one(carry, _):
            state, key, seen = carry
            key, draw, reset = jax.random.split(key, 3)
            logits = jnp.where(state.legal_action_mask, 0.0, -1e9)
            action = jax.random.categorical(draw, logits)
            state = step(state, action, jax.random.split(reset, n))
            seen = seen + (state.observation.sum() if observes else 0)
            return (state, key, seen), None

        (state, key, seen), _ = jax.lax.scan(one, (state, key, jnp.float32(0)), None, length=inner)
        return state, key, seen

    del observe
    key = jax.random.PRNGKey(0)
    state = jax.jit(jax.vmap(env.init))(jax.random.split(key, n))
    kept = [state, key]

    def step_all():
        state, key, seen = run(*kept)
        seen.block_until_ready()
        kept[:] = [state, key]
        return n * inner

    return step_all


def openspiel_step(name, observes):
    import random

    import pyspiel

    game = pyspiel.load_game(name if name != "hex" else "hex(board_size=11)")
    kept = [game.new_initial_state()]

    def step():
        state = kept[0]
        for _ in range(1000):
            if observes:
                state.observation_tensor()
            state.apply_action(random.choice(state.legal_actions()))
            if state.is_terminal():
                state = game.new_initial_state()
        kept[0] = state
        return 1000

    return step


def simulations(name, evaluator, positions=256, simulations=200):
    import petteia

    game = petteia.Game(name)
    batch = game.batch(positions, auto_reset=False, seed=1)
    for _ in range(4):
        batch.apply(batch.sample())
    given = [batch.position(row) for row in range(positions)]
    policy, wdl = np.full((4096, game.actions), 1 / game.actions, np.float32), np.full((4096, 3), 1 / 3, np.float32)
    agent = evaluator or (lambda planes: (policy[: len(planes)], wdl[: len(planes)]))

    def step():
        found = petteia.analyze(given, agent, simulations)
        return sum(one.simulations for one in found if one)

    return step


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    found = {}
    for name, (in_pgx, in_openspiel) in GAMES.items():
        row = found[name] = {}
        for observes in (False, True):
            makers = {"petteia": lambda: ours(name, observes), "pgx": lambda: pgx_step(in_pgx, observes), "OpenSpiel": lambda: openspiel_step(in_openspiel, observes)}
            steps = {}
            for library, make in makers.items():
                try:
                    steps[library] = make()
                except Exception as error:  # noqa: BLE001 (whatever a library that is not there says)
                    print(f"{library}: left out ({type(error).__name__}: {str(error)[:80]})")
            rates = {library: [] for library in steps}
            for _ in range(options.rounds):
                for library, step in steps.items():
                    rates[library].append(rate(step, options.seconds))
            row["observed" if observes else "plain"] = {library: round(float(np.median(of)) / 1e6, 3) for library, of in rates.items()}
        print(name, json.dumps(row), flush=True)
    row = found["search"] = {}
    for name in ("connect-four", "othello"):
        steps = {"uniform, in Rust": simulations(name, "uniform"), "constant, in Python": simulations(name, None)}
        rates = {kind: [] for kind in steps}
        for _ in range(options.rounds):
            for kind, step in steps.items():
                rates[kind].append(rate(step, options.seconds))
        row[name] = {kind: round(float(np.median(of))) for kind, of in rates.items()}
        print(name, json.dumps(row[name]), flush=True)
    print(json.dumps(found))


if __name__ == "__main__":
    main()

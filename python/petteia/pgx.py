"""Many games that are stepped together, as in pgx, but with numpy arrays and without jax.

>>> env = petteia.pgx.make("connect-four", n=1024)
>>> state = env.init(seed=0)
>>> while not state.terminated.all():
...     state = env.step(state, choose(state.observation, state.legal_action_mask))

As in pgx, players have ids, 0 and 1, and chance decides for each game which of them begins; `current_player` and
`rewards` refer to ids. Players need not alternate. A step in a game that has terminated changes nothing and gives no
rewards, and all actions of that game count as legal. With `auto_reset`, a game that ends begins again at once, as with
`pgx.experimental.auto_reset`: `terminated` and `rewards` belong to the game that has ended, everything else to the new
one.

Differences from pgx:

- Games step in place: a state can be stepped once, and a second step raises a RuntimeError. `observation` and
  `legal_action_mask` are computed when they are first read, and the first reading must precede the step. After the step, arrays
  that have been read stay available.
- An illegal action raises a ValueError and changes nothing; in pgx, the player who plays it loses.
- A state holds a whole batch, so no `vmap` is needed. Steps need no random key.
- Observations are float32; the planes are those of the game in Petteia, not those of pgx.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from petteia import Batch, Game

__all__ = ["Env", "State", "make"]


def make(game: Game | str, n: int, auto_reset: bool = False) -> Env:
    """Returns an environment of `n` games of one kind."""
    return Env(Game(game) if isinstance(game, str) else game, n, auto_reset)


class Env:
    """Begins and steps games. An `Env` holds no games itself: each `init` begins new games."""

    def __init__(self, game: Game, n: int, auto_reset: bool = False) -> None:
        self.game, self.n, self.auto_reset = game, n, auto_reset

    @property
    def id(self) -> str:
        return self.game.id

    @property
    def num_players(self) -> int:
        return 2

    @property
    def num_actions(self) -> int:
        return self.game.actions

    @property
    def observation_shape(self) -> tuple[int, int, int]:
        """The shape of an observation: (height, width, planes)."""
        planes, height, width = self.game.shape
        return height, width, planes

    def init(self, seed: int = 0) -> State:
        """Returns the state of new games. The seed decides who begins and what `state.batch.sample` draws."""
        chance = np.random.default_rng(seed)
        firsts = chance.integers(0, 2, self.n, np.int8)
        rewards, terminated = np.zeros((self.n, 2), np.float32), np.zeros(self.n, bool)
        return State(self, self.game.batch(self.n, self.auto_reset, seed), chance, firsts, rewards, terminated)

    def step(self, state: State, actions: np.ndarray) -> State:
        """Plays an action in each game and returns the state afterward. `actions` are integers [n]; actions for terminated
        games are ignored."""
        if state._env is not self:
            raise ValueError("the state belongs to another environment")
        batch, firsts = state.batch, state._firsts
        by_seats, ended = batch.apply(actions)
        state._batch = None
        rewards = np.where(firsts[:, None] == 0, by_seats, by_seats[:, ::-1])
        if self.auto_reset and ended.any():
            firsts = np.where(ended, state._chance.integers(0, 2, self.n, np.int8), firsts)
        return State(self, batch, state._chance, firsts, rewards, ended)


class State:
    """Games at one moment. Arrays have a row for each game.

    `current_player`, int8 [n], is the player to move. `rewards`, float32 [n, 2], are 1 and -1 for the winner and the loser
    of a game that ended with the last action, and otherwise 0. `terminated` and `truncated` are bool [n]; no game is ever
    truncated.
    """

    def __init__(
        self,
        env: Env,
        batch: Batch,
        chance: np.random.Generator,
        firsts: np.ndarray,
        rewards: np.ndarray,
        terminated: np.ndarray,
    ) -> None:
        self._env, self._batch, self._chance, self._firsts = env, batch, chance, firsts
        self.current_player = batch.to_move ^ firsts
        self.rewards = rewards
        self.terminated = terminated
        self.truncated = np.zeros(len(batch), bool)

    @property
    def batch(self) -> Batch:
        """The games themselves, until the state is stepped: `state.batch.sample()` draws legal actions."""
        if self._batch is None:
            raise RuntimeError("the state has already been stepped: use the state that `step` returned")
        return self._batch

    @cached_property
    def observation(self) -> np.ndarray:
        """The planes, float32 [n, height, width, planes], each from the point of view of the player to move: a transposed
        view, not a copy, of what `Batch.observe` returns."""
        return self.batch.observe().transpose(0, 2, 3, 1)

    @cached_property
    def legal_action_mask(self) -> np.ndarray:
        """The legal actions, bool [n, actions]; all are legal where a game is over."""
        mask = self.batch.mask()
        if not self._env.auto_reset:
            mask[self.terminated] = True
        return mask

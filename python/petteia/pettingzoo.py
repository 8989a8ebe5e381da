"""A PettingZoo environment (AEC) for any game: `env("cage-6")`, or `raw_env` with a `Game`.

An observation is a dict: `observation`, float32 [planes, height, width], always from the point of view of the player to move,
and `action_mask`, int8 [actions], all 0 for an agent that does not act. Agents are "player_0" and "player_1"; they need not
alternate. Rewards come at the end: 1, 0, or -1.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces
from pettingzoo import AECEnv
from pettingzoo.utils import wrappers

from petteia import Game

__all__ = ["env", "raw_env"]


def env(game: Game | str, render_mode: str | None = None) -> AECEnv:
    """Returns the environment with the usual checks: an illegal action loses, and calls in the wrong order are errors."""
    inner: AECEnv = raw_env(game, render_mode)
    inner = wrappers.TerminateIllegalWrapper(inner, illegal_reward=-1)
    inner = wrappers.AssertOutOfBoundsWrapper(inner)
    return wrappers.OrderEnforcingWrapper(inner)


class raw_env(AECEnv):  # noqa: N801 (PettingZoo's name)
    metadata = {"render_modes": ["ansi"], "name": "petteia", "is_parallelizable": False}

    def __init__(self, game: Game | str, render_mode: str | None = None) -> None:
        super().__init__()
        self.game = Game(game) if isinstance(game, str) else game
        self.metadata = {**raw_env.metadata, "name": f"petteia-{self.game.id}"}
        self.render_mode = render_mode
        self.possible_agents = ["player_0", "player_1"]
        self.agents = self.possible_agents[:]
        planes = spaces.Box(-np.inf, np.inf, self.game.shape, np.float32)
        mask = spaces.Box(0, 1, (self.game.actions,), np.int8)
        self.observation_spaces = {
            agent: spaces.Dict({"observation": planes, "action_mask": mask}) for agent in self.possible_agents
        }
        self.action_spaces = {agent: spaces.Discrete(self.game.actions) for agent in self.possible_agents}
        self._begin()

    def observation_space(self, agent: str) -> spaces.Space:
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Space:
        return self.action_spaces[agent]

    def _begin(self) -> None:
        self.position = self.game.position()
        self.agents = self.possible_agents[:]
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos: dict[str, dict[str, Any]] = {agent: {} for agent in self.agents}
        self.agent_selection = self.agents[self.position.to_move]

    def reset(self, seed: int | None = None, options: dict | None = None) -> None:
        self._begin()

    def observe(self, agent: str) -> dict[str, np.ndarray]:
        acts = agent == self.possible_agents[self.position.to_move] and not self.position.is_over
        mask = self.position.mask().astype(np.int8) if acts else np.zeros(self.game.actions, np.int8)
        # an agent that does not act sees the board from the point of view of the agent that does
        return {"observation": self.position.planes(), "action_mask": mask}

    def step(self, action: int | None) -> None:
        if self.terminations[self.agent_selection] or self.truncations[self.agent_selection]:
            return self._was_dead_step(action)
        self._cumulative_rewards[self.agent_selection] = 0.0
        self.position.play(action)
        if self.position.is_over:
            self.rewards = dict(zip(self.possible_agents, self.position.returns))
            self.terminations = dict.fromkeys(self.agents, True)
        self.agent_selection = self.possible_agents[self.position.to_move]
        self._accumulate_rewards()
        return None

    def render(self) -> str | None:
        return f"{self.position}\n" if self.render_mode == "ansi" else None

    def close(self) -> None:
        pass

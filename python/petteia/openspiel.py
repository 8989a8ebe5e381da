"""Games and states with the methods of OpenSpiel (`pyspiel`), for programs written for it.

>>> game = petteia.openspiel.load_game("hex(size=7)")
>>> state = game.new_initial_state()
>>> while not state.is_terminal():
...     state.apply_action(random.choice(state.legal_actions()))
>>> state.returns()
[1.0, -1.0]

Players are 0 and 1. They need not alternate: here as in OpenSpiel, an algorithm must call `current_player` to find out who
acts. Differences:

- An observation is always that of the player to move. Requesting another player's observation, or any observation when the
  game is over, raises a ValueError. OpenSpiel's `rl_environment` requests the observations of both players, so it cannot be
  used.
- Actions have texts only for the player to move.
- An illegal action always raises a ValueError and changes nothing.
- There are no chance nodes, no simultaneous actions, and no information states.

OpenSpiel's algorithms in Python can play these games; its algorithms in C++ cannot. Only `Game.get_type` needs OpenSpiel.
"""

from __future__ import annotations

from typing import Any

import petteia

__all__ = ["TERMINAL_PLAYER", "Game", "State", "load_game"]

TERMINAL_PLAYER = -4
"""What `current_player` returns when the game is over: `pyspiel.PlayerId.TERMINAL`."""


def load_game(game: str | petteia.Game, options: dict[str, bool | float | str] | None = None) -> Game:
    """Loads a game by name, with options in the name or as an argument: "cage-6", "petteia:cage-6", "hex(size=7)"."""
    if not isinstance(game, str):
        if options:
            raise TypeError("options can only be given with the name of a game")
        return Game(game)
    name, bracket, rest = game.removeprefix("petteia:").partition("(")
    if bracket and not rest.endswith(")"):
        raise ValueError(f"{game}: the closing bracket is missing")
    named = {}
    for option in filter(None, rest[:-1].split(",")):
        key, equals, value = option.partition("=")
        if not equals:
            raise ValueError(f"{game}: {option}: options are written as name=value")
        named[key.strip()] = _value(value.strip())
    return Game(petteia.Game(name, **named, **(options or {})))


def _value(text: str) -> bool | float | str:
    """Returns the value of an option: a switch, a number, or a word."""
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            pass
    return text


class Game:
    """The rules of a game, with the methods of `pyspiel.Game`; `game` is the `petteia.Game`."""

    def __init__(self, game: petteia.Game) -> None:
        self.game = game

    def num_distinct_actions(self) -> int:
        return self.game.actions

    def max_game_length(self) -> int:
        return self.game.max_plies

    def num_players(self) -> int:
        return 2

    def min_utility(self) -> float:
        return -1.0

    def max_utility(self) -> float:
        return 1.0

    def utility_sum(self) -> float:
        return 0.0

    def observation_tensor_shape(self) -> list[int]:
        """Returns [planes, height, width]."""
        return list(self.game.shape)

    def observation_tensor_size(self) -> int:
        planes, height, width = self.game.shape
        return planes * height * width

    def get_type(self) -> Any:
        """Returns a `pyspiel.GameType`, which tells algorithms whether they can play the game. Needs OpenSpiel."""
        from pyspiel import GameType

        return GameType(
            short_name=self.game.id,
            long_name=self.game.title,
            dynamics=GameType.Dynamics.SEQUENTIAL,
            chance_mode=GameType.ChanceMode.DETERMINISTIC,
            information=GameType.Information.PERFECT_INFORMATION,
            utility=GameType.Utility.ZERO_SUM,
            reward_model=GameType.RewardModel.TERMINAL,
            max_num_players=2,
            min_num_players=2,
            provides_information_state_string=False,
            provides_information_state_tensor=False,
            provides_observation_string=False,
            provides_observation_tensor=True,
        )

    def new_initial_state(self, text: str | None = None) -> State:
        """Returns a game at its start or, with `text`, at the position that the text names."""
        position = self.game.position(text)
        return State(self, position, None if text is None else position.text)

    def deserialize_state(self, text: str) -> State:
        """Returns the state that `State.serialize` wrote."""
        lines = text.splitlines()
        start = lines.pop(0).removeprefix("position: ") if text.startswith("position: ") else None
        state = self.new_initial_state(start)
        for line in lines:
            state.apply_action(int(line))
        return state

    def __str__(self) -> str:
        """Returns the game in the form that `load_game` reads, unless its rules are a text or a Python object."""
        options = [f"{name}={value}" for name, value in sorted(self.game.options.items()) if name != "text"]
        return f"{self.game.id}({','.join(options)})"

    def __repr__(self) -> str:
        return f"load_game({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return self.game == other.game if isinstance(other, Game) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.game)


class State:
    """A game in progress, with the methods of `pyspiel.State`; `position` is the `petteia.Position`."""

    def __init__(self, game: Game, position: petteia.Position, start: str | None = None) -> None:
        self._game, self.position, self._start = game, position, start

    def get_game(self) -> Game:
        return self._game

    def num_players(self) -> int:
        return 2

    def num_distinct_actions(self) -> int:
        return self._game.num_distinct_actions()

    def current_player(self) -> int:
        """Returns the player to move, 0 or 1, or `TERMINAL_PLAYER` if the game is over. Players need not alternate."""
        return TERMINAL_PLAYER if self.position.is_over else self.position.to_move

    def is_terminal(self) -> bool:
        return self.position.is_over

    def is_initial_state(self) -> bool:
        return not self.position.actions

    def is_player_node(self) -> bool:
        return not self.position.is_over

    def is_chance_node(self) -> bool:
        return False

    def is_simultaneous_node(self) -> bool:
        return False

    def _acts(self, player: int | None) -> bool:
        return player is None or player == self.current_player()

    def legal_actions(self, player: int | None = None) -> list[int]:
        """Returns the legal actions in ascending order; none for a player who does not act."""
        return self.position.legal_actions() if self._acts(player) else []

    def legal_actions_mask(self, player: int | None = None) -> list[int]:
        """Returns 1 for each legal action and 0 for the others; all 0 for a player who does not act."""
        return self.position.mask().astype(int).tolist() if self._acts(player) else [0] * self.num_distinct_actions()

    def action_to_string(self, player: int, action: int | None = None, /) -> str:
        """Returns the text of a legal action: `action_to_string(action)` or `action_to_string(player, action)`."""
        if action is None:
            return self.position.action_text(player)
        self._check(player)
        return self.position.action_text(action)

    def string_to_action(self, player: int | str, text: str | None = None, /) -> int:
        """Returns the legal action with this text: `string_to_action(text)` or `string_to_action(player, text)`."""
        if text is None:
            return self.position.action_number(player)
        self._check(player)
        return self.position.action_number(text)

    def _check(self, player: int) -> None:
        if not self._acts(player):
            raise ValueError(f"player {player} does not act here: current_player is {self.current_player()}")

    def apply_action(self, action: int) -> None:
        """Plays a legal action; any other action raises a ValueError."""
        self.position.play(action)

    def apply_action_with_legality_check(self, action: int) -> None:
        """Does the same as `apply_action`, which also checks the action."""
        self.position.play(action)

    def undo_action(self, player: int, action: int) -> None:
        """Takes back the last action, which must be `action`, played by `player`."""
        before = self.position.clone()
        if self.position.actions[-1:] == [action]:
            before.undo()
            if before.to_move == player:
                self.position.undo()
                return
        raise ValueError(f"action {action} of player {player} was not the last action")

    def child(self, action: int) -> State:
        """Returns an independent state after this action."""
        state = self.clone()
        state.apply_action(action)
        return state

    def clone(self) -> State:
        """Returns an independent state at the same point of the game."""
        return State(self._game, self.position.clone(), self._start)

    def returns(self) -> list[float]:
        """Returns, for each player, 1 for a win, -1 for a loss, and otherwise 0."""
        return list(self.position.returns)

    def rewards(self) -> list[float]:
        """Returns the rewards of the last action: 0 before the end, then `returns`."""
        return list(self.position.returns)

    def player_return(self, player: int) -> float:
        if player not in (0, 1):
            raise ValueError(f"there is no player {player}")
        return self.position.returns[player]

    def player_reward(self, player: int) -> float:
        return self.player_return(player)

    def history(self) -> list[int]:
        """Returns the actions since the beginning."""
        return self.position.actions

    def history_str(self) -> str:
        return ", ".join(map(str, self.position.actions))

    def move_number(self) -> int:
        """Returns the number of actions since the beginning."""
        return len(self.position.actions)

    def observation_tensor(self, player: int | None = None) -> list[float]:
        """Returns the planes in one list, from the point of view of the player to move. The other player has none."""
        if self.position.is_over:
            raise ValueError("an observation belongs to the player to move, but the game is over")
        if player not in (None, self.position.to_move):
            raise ValueError(f"an observation belongs to the player to move, which is {self.position.to_move}, not {player}")
        return self.position.planes().ravel().tolist()

    def serialize(self) -> str:
        """Returns the state as text that `Game.deserialize_state` reads: its actions, one per line, preceded by the start
        position if one was given."""
        lines = [] if self._start is None else [f"position: {self._start}"]
        return "".join(f"{line}\n" for line in [*lines, *self.position.actions])

    def __str__(self) -> str:
        """Returns the board in letters and the position as text. Positions from which the game can continue differently have
        different texts."""
        return f"{self.position}\n{self.position.text}"

    def __repr__(self) -> str:
        return f"<State of {self._game}: {self.position.text}>"

    def __copy__(self) -> State:
        return self.clone()

    def __deepcopy__(self, memo: dict[int, Any]) -> State:
        return self.clone()

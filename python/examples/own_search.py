"""Your own search on Petteia's rules: UCT with random playouts in Python, against an agent of the program.

    python own_search.py [--game connect-four] [--simulations 400] [--games 4] [--against rollout:50]

An agent is named as on the command line, e.g. "uniform:50" or "shipped:1". The exit code is 1 if the search misses an immediate
win.
"""

import argparse
import math
import random
import sys

import petteia


class Node:
    def __init__(self, position):
        self.position, self.visits, self.total = position, 0, 0.0
        self.untried, self.children = position.legal_actions(), {}

    def best(self):
        # `total` is for the first player, and players need not alternate
        sign, explore = 1 if self.position.to_move == 0 else -1, 2 * math.log(self.visits)
        score = lambda child: sign * child.total / child.visits + math.sqrt(explore / child.visits)
        return max(self.children.values(), key=score)


def search(position, simulations, chance):
    """Returns the action that was visited most."""
    root = Node(position.clone())
    for _ in range(simulations):
        node, path = root, [root]
        while node.children and not node.untried:
            node = node.best()
            path.append(node)
        if node.untried:
            action = node.untried.pop(chance.randrange(len(node.untried)))
            after = node.position.clone()
            after.play(action)
            node.children[action] = node = Node(after)
            path.append(node)
        end = node.position.clone()
        while not end.is_over:
            end.play(chance.choice(end.legal_actions()))
        for node in path:
            node.visits += 1
            node.total += end.returns[0]
    return max(root.children, key=lambda action: root.children[action].visits)


def wins(position, action):
    """Returns whether the action wins the game at once."""
    after, mover = position.clone(), position.to_move
    after.play(action)
    return after.returns[mover] == 1


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--game", default="connect-four")
    parser.add_argument("--simulations", type=int, default=400)
    parser.add_argument("--games", type=int, default=4)
    parser.add_argument("--against", default="rollout:50", metavar="AGENT")
    options = parser.parse_args()
    game, chance, points = petteia.Game(options.game), random.Random(1), 0.0
    for number in range(options.games):
        position, ours = game.position(), number % 2
        while not position.is_over:
            if position.to_move == ours:
                action = search(position, options.simulations, chance)
                best = [one for one in position.legal_actions() if wins(position, one)]
                if best and action not in best:
                    played, better = position.action_text(action), position.action_text(best[0])
                    sys.exit(f"{played} is played, but {better} wins at once:\n{position}")
            else:
                action = petteia.analyze([position], options.against, seed=number + 1)[0].action
            position.play(action)
        points += (1 + position.returns[ours]) / 2
        print(f"game {number + 1}, {game.players[ours]}: {position.outcome}, {' '.join(position.action_texts)}", flush=True)
    print(f"{points:g} of {options.games} points against {options.against}")


if __name__ == "__main__":
    main()

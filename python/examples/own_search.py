"""A search of one's own on our rules: UCT with random playouts, in 40 lines of Python, against the program's.

    python own_search.py [--simulations 200]
"""

import argparse
import math
import random

import petteia


class Node:
    def __init__(self, position):
        self.position, self.visits, self.total = position, 0, 0.0
        self.untried, self.children = position.legal_actions(), {}

    def best(self):
        # `total` is for the first player, and players need not alternate
        sign = 1 if self.position.to_move == 0 else -1
        return max(
            self.children.values(),
            key=lambda child: sign * child.total / child.visits + 1.4 * math.sqrt(math.log(self.visits) / child.visits),
        )


def search(position, simulations, chance):
    root = Node(position.clone())
    for _ in range(simulations):
        node, path = root, [root]
        while not node.untried and node.children:
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


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--simulations", type=int, default=200)
    parser.add_argument("--games", type=int, default=4)
    options = parser.parse_args()
    game, chance, points = petteia.Game("connect-four"), random.Random(1), 0.0
    for number in range(options.games):
        position, ours = game.position(), number % 2
        while not position.is_over:
            if position.to_move == ours:
                position.play(search(position, options.simulations, chance))
            else:
                position.play(petteia.analyze([position], "uniform", 50, seed=number)[0].action)
        points += (1 + position.returns[ours]) / 2
        print(f"game {number + 1}: {position.outcome}, {' '.join(position.action_texts)}")
    print(f"{points} points of {options.games}")


if __name__ == "__main__":
    main()

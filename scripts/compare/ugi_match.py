#!/usr/bin/env python3
"""Plays games between two UGI engines. The script knows no rules; it asks the engines.

    python3 scripts/compare/ugi_match.py ./a ./b --games 20 --go 'nodes 100'
    python3 scripts/compare/ugi_match.py ./a ./b --games 1000 --clock 200+2 --random 4    (milliseconds)

Every position is sent to both engines, which must give the same answers to `query p1turn`, `gameover`, and `result`. A
game begins with random moves from `query moves` (Petteia's extension of UGI); both games of a pair begin with the same moves.
A violation of the protocol counts as a fault: no answer, a malformed answer, an action that the other engine does not accept,
or running out of time. The exit code is 1 if there was a fault. Requires only Python 3.8.
"""
import argparse, queue, random, shlex, subprocess, sys, threading, time


class Fault(Exception):
    pass


class Engine:
    def __init__(self, command, patience):
        self.name, self.patience = command, patience
        pipes = dict(stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, errors="replace", bufsize=1)
        try:
            self.process = subprocess.Popen(shlex.split(command), **pipes)
        except OSError as error:
            sys.exit(f"{command} cannot be started: {error}")
        self.lines = queue.Queue()
        threading.Thread(target=self.read, daemon=True).start()
        self.send("ugi")
        while self.read_line() != "ugiok":
            pass

    def read(self):
        for line in self.process.stdout:
            self.lines.put((line.rstrip("\n"), time.perf_counter()))
        self.lines.put((None, time.perf_counter()))

    def send(self, line):
        try:
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()
        except OSError as error:
            raise Fault(f"{self.name} does not read its input: {error}")

    def read_line(self, patience=None):
        try:
            line, self.answered = self.lines.get(timeout=patience or self.patience)
        except queue.Empty:
            raise Fault(f"{self.name} does not answer")
        if line is None:
            raise Fault(f"{self.name} has ended")
        return line

    def answer(self, question, first, patience=None):
        """Returns the words after `first` in the answer. Only info lines may precede the answer."""
        self.send(question)
        while True:
            words = self.read_line(patience).split()
            if words[:1] == [first]:
                return words[1:]
            if words[:2] == ["info", "string"] or words[:1] != ["info"]:
                raise Fault(f"{self.name} answers {question!r} with {' '.join(words)!r}")

    def position(self, moves):
        self.send("position startpos" + (" moves " + " ".join(moves) if moves else ""))
        self.answer("isready", "readyok")
        return tuple(self.answer("query " + what, "response")[0] for what in ("p1turn", "gameover", "result"))


def play(engines, first, options, seed):
    """Plays a game and returns the result for engine 0 (1, 0.5, or 0) and the moves."""
    moves, chance = [], random.Random(seed)
    left = [options.clock[0] / 1000] * 2 if options.clock else None
    for engine in engines:
        engine.send("uginewgame")
    while True:
        states = [engine.position(moves) for engine in engines]
        if states[0] != states[1]:
            raise Fault(f"after {' '.join(moves)}: {states[0]} or {states[1]}?")
        p1turn, over, result = states[0]
        if over == "true" and result == "none":
            raise Fault(f"after {' '.join(moves)}: no result; was the last move legal?")
        if over == "true":
            return {"p1win": 1 - first, "p2win": first, "draw": 0.5}[result], moves
        player = 0 if p1turn == "true" else 1
        mover = engines[player ^ first]
        go, patience = options.go, None
        if len(moves) < options.random:
            lists = [engine.answer("query moves", "response") for engine in engines]
            if lists[0] != lists[1]:
                raise Fault(f"after {' '.join(moves)}: different moves")
            moves.append(chance.choice(lists[0]))
            continue
        if left:
            increment = options.clock[1]
            go = f"p1time {max(1, int(left[0] * 1000))} p2time {max(1, int(left[1] * 1000))} p1inc {increment} p2inc {increment}"
            patience = left[player] + 10
        asked = time.perf_counter()
        best = mover.answer("go " + go, "bestmove", patience)
        if left:
            left[player] -= mover.answered - asked
            options.least = min(options.least, left[player])
            if left[player] < 0:
                raise Fault(f"{mover.name} lost on time after {len(moves)} moves, by {-left[player] * 1000:.0f} ms")
            left[player] += options.clock[1] / 1000
        if len(best) != 1 or best[0] == "none":
            raise Fault(f"{mover.name} plays {' '.join(best)!r}")
        moves.append(best[0])


def milliseconds(text):
    clock = [int(part) for part in text.split("+")]
    if len(clock) != 2:
        raise ValueError
    return clock


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("engines", nargs=2, metavar="COMMAND", help="a program with its arguments, quoted as one word")
    parser.add_argument("--games", type=int, default=20, help="default: 20")
    parser.add_argument("--go", default="nodes 100", help="text after `go` (default: nodes 100)")
    parser.add_argument("--clock", type=milliseconds, metavar="MS+MS", help="clock and increment per game, in milliseconds")
    parser.add_argument("--random", type=int, default=2, help="random moves at the start of a game (default: 2)")
    parser.add_argument("--patience", type=float, default=20, help="seconds to wait for an answer (default: 20)")
    options = parser.parse_args()
    options.least = float("inf")
    try:
        engines = [Engine(command, options.patience) for command in options.engines]
    except Fault as fault:
        sys.exit(f"{fault}; expected the answer `ugiok` to `ugi`")
    scores, faults, played = {1: 0, 0.5: 0, 0: 0}, 0, []
    for game in range(options.games):
        try:
            score, moves = play(engines, game % 2, options, game // 2)
            scores[score] += 1
            played.append(" ".join(moves))
        except Fault as fault:
            print(f"game {game + 1}: {fault}", file=sys.stderr)
            faults += 1
            for engine in engines:
                engine.process.kill()
            engines = [Engine(command, options.patience) for command in options.engines]
    for engine in engines:
        engine.send("quit")
        faults += engine.process.wait(timeout=10) != 0
    clock = f", least time left {options.least * 1000:.0f} ms" if options.clock else ""
    moves = sum(len(game.split()) for game in played)
    print(f"{scores[1]} wins, {scores[0.5]} draws, {scores[0]} losses, {faults} faults, {moves} moves, {len(set(played))} distinct games{clock}")
    sys.exit(faults > 0)


main()

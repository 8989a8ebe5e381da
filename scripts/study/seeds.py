"""The statistics of a study: how many seeds and games an effect needs, and what the seeds played so far show.

Two runs that differ only in their seed differ in strength. The score of a match between an arm and the first arm with the same
seed therefore has two errors: that of the seeds, and that of the games. The model of all matches is

    score(arm, seed) = 1/2 + effect(arm) + error(arm, seed),

where the errors of all arms have the same variance, that of the seeds plus that of the games (a mixed model with a random effect
for each seed of each arm). The variance is estimated from all arms together, because the two or three seeds of one arm cannot
show it. Effects and variances are in expected scores, from 0 to 1; the results are in Elo.

A study looks at its results after each seed. Looking often finds differences that are not there, so an early look needs a far
larger difference than the last one (O'Brien and Fleming, "A Multiple Testing Procedure for Clinical Trials", 1979).
"""

import functools
import math
from dataclasses import dataclass

import numpy
from scipy.optimize import brentq
from scipy.stats import nct, norm, t

# the probability that an arm without an effect is called better or worse
ERROR = 0.05
# the probability that an arm with the effect that the study plans for is decided
POWER = 0.8
# the standard deviation of the difference between two runs with different seeds, in Elo, before a study has measured its own: 25
# to 35 in the studies of docs/journal/strength.md with 200 games for each seed
SPREAD = 30.0
# the variance of the score of a pair of games per game: 1/4 without draws, less with them
GAME = 0.2
# verdicts after which an arm needs no more seeds
DECIDED = ("better", "worse", "equal")
# a study that would need more seeds than this is not worth its time
MOST_SEEDS = 64


def score_of(elo):
    """Returns the expected score, from 0 to 1, of a player who is `elo` Elo stronger."""
    return 1 / (1 + 10 ** (-elo / 400))


def elo_of(score):
    """Returns the Elo difference of an expected score between 0 and 1."""
    return 400 * math.log10(score / (1 - score))


@dataclass(frozen=True)
class Plan:
    """Numbers that find an effect: `seeds`, and `games` of an arm for each of them."""

    seeds: int
    games: int


def power(effect, error, seeds, arms):
    """Returns the probability that the last look at `seeds` seeds finds an effect.

    `effect` and `error` (the standard deviation of the score of one seed's match) are scores, from 0 to 1.
    """
    degrees = freedom(seeds, arms)
    bound = t.ppf(1 - look_error(seeds, seeds) / 2, degrees)
    return 1 - nct.cdf(bound, degrees, effect / error * math.sqrt(seeds))


def freedom(seeds, arms):
    """Returns the degrees of freedom of the variance that `arms` arms with `seeds` seeds each estimate together.

    Half of the variance of a difference is that of the first arm, which all arms share. The estimates of two arms are therefore
    correlated by (1/2)^2, and A arms are worth A / (1 + (A - 1) / 4) independent ones.
    """
    return 4 * arms * (seeds - 1) / (arms + 3)


def plan(effect, arms, spread=SPREAD):
    """Returns how many seeds and games find an effect of `effect` Elo with a probability of `POWER`.

    `arms` is the number of arms without the first, and `spread` the standard deviation between seeds in Elo. The games' own
    error adds half as much variance as the seeds: more games of the same runs would hardly help.

    # Errors

    `ValueError` if more than `MOST_SEEDS` seeds are needed.
    """
    wanted, between = score_of(effect) - 0.5, score_of(spread) - 0.5
    games = 2 * math.ceil(GAME / (between**2 / 2) / 2)
    error = math.sqrt(between**2 + GAME / games)
    for seeds in range(2, MOST_SEEDS + 1):
        if power(wanted, error, seeds, arms) >= POWER:
            return Plan(seeds, games)
    raise ValueError(
        f"an effect of {effect:g} Elo needs more than {MOST_SEEDS} seeds if seeds differ by {spread:g} Elo; plan for a larger effect"
    )


def promise(effect, planned, seeds, games):
    """Says what `seeds` seeds with `games` games each can find, and what would be needed."""
    if seeds < planned.seeds or games < planned.games:
        need = f"{planned.seeds} seeds of {planned.games} games"
        return f"too few to find an effect of {effect} Elo, which needs {need}"
    return f"an effect of {effect} Elo is found with a probability of {POWER:.0%}"


@functools.cache
def last_bound(looks):
    """Returns the number of standard errors that the last of `looks` looks needs; look k needs sqrt(looks / k) times as many.

    The sum of k seeds' scores is a random walk with steps of variance 1, and all looks have the same bound for the sum. The
    density of walks that have not crossed a bound follows step by step, in cells of a grid.
    """

    def crosses(bound):
        step = 2 * bound / 400
        grid = (numpy.arange(400) + 0.5) * step - bound
        moves = norm.pdf(grid[:, None] - grid[None, :]) * step
        density = norm.pdf(grid)
        for _ in range(looks - 1):
            density = moves @ density
        return 1 - density.sum() * step

    return brentq(lambda bound: crosses(bound * math.sqrt(looks)) - ERROR, 1.9, 2.4, xtol=1e-3)


def look_error(look, looks):
    """Returns the error, from 0 to 1, of a two-sided test at look number `look` of `looks`."""
    return 2 * norm.sf(last_bound(looks) * math.sqrt(looks / look))


def game_variance(match):
    """Returns the variance of the mean score of a match that comes from its games, by the match's own bounds.

    The more distant bound counts, because bounds are far from symmetric near a perfect score.
    """
    score = score_in(match)
    low = 0 if match["elo_low"] is None else score_of(match["elo_low"])
    high = 1 if match["elo_high"] is None else score_of(match["elo_high"])
    return (max(high - score, score - low) / norm.ppf(0.975)) ** 2


def score_in(match):
    """Returns the score of a match, from 0 to 1."""
    return (match["wins"] + match["draws"] / 2) / match["games"]


def variance(by_arm):
    """Returns the variance of the score of one match, with its degrees of freedom, from the matches of all arms.

    The variance is at least that of the games: with few seeds, the seeds may agree by chance. Without two seeds of any arm, only
    the games are known, and the degrees are infinite.
    """
    games = [game_variance(match) for matches in by_arm.values() for match in matches]
    least = sum(games) / len(games)
    squares, number, arms = 0, 0, 0
    for matches in by_arm.values():
        if len(matches) > 1:
            scores = [score_in(match) for match in matches]
            mean = sum(scores) / len(scores)
            squares += sum((score - mean) ** 2 for score in scores)
            number += len(scores) - 1
            arms += 1
    if number == 0:
        return least, math.inf
    return max(squares / number, least), 4 * number / (arms + 3)


def pooled(by_arm, look=1, looks=1, effect=None):
    """Pools the matches of each arm: returns for each arm its `elo`, bounds, `games`, `seeds`, and `verdict`.

    `by_arm` maps the name of an arm to its matches, one for each seed (the results of `petteia arena --json`). `look` of `looks`
    says how many of the planned seeds have been played. The verdict is one of

    - `better`, `worse`: the bounds exclude 0;
    - `equal`: the bounds exclude `effect` (Elo) and its opposite, so that the arm gains or loses less than that;
    - `undecided`;
    - `one seed`: nothing is known about other seeds, whatever the bounds say about this one.
    """
    by_arm = {arm: matches for arm, matches in by_arm.items() if matches}
    if not by_arm:
        return {}
    one, degrees = variance(by_arm)
    quantile = t.ppf(1 - look_error(look, looks) / 2, degrees) if degrees < math.inf else norm.ppf(1 - ERROR / 2)
    return {arm: estimate(matches, one, quantile, effect) for arm, matches in by_arm.items()}


def estimate(matches, variance_of_one, quantile, effect):
    """Returns the estimate of one arm; see `pooled`."""
    games, mean = sum(match["games"] for match in matches), sum(map(score_in, matches)) / len(matches)
    error = quantile * math.sqrt(variance_of_one / len(matches))
    least = 1 / games
    bound = lambda score: elo_of(score) if least < score < 1 - least else None
    low, high = bound(mean - error), bound(mean + error)
    if len(matches) == 1:
        verdict = "one seed"
    elif low is not None and low > 0:
        verdict = "better"
    elif high is not None and high < 0:
        verdict = "worse"
    elif effect and low is not None and high is not None and -effect < low and high < effect:
        verdict = "equal"
    else:
        verdict = "undecided"
    elo = elo_of(min(max(mean, least / 2), 1 - least / 2))
    return {"games": games, "seeds": len(matches), "elo": elo, "elo_low": low, "elo_high": high, "verdict": verdict}

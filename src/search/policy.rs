//! Turns logits into the priors of legal actions, and the weights of actions into the action played.
//!
//! A search computes exponentials and logarithms with the crate `libm`. The functions of operating systems differ in
//! the last bit, so a search that used them would differ, too.

use rand::RngExt;

use crate::error::Error;
use crate::game::{Action, Game};
use crate::random::Random;

/// Turns logits into probabilities. Returns false if a logit is not finite; the values are then meaningless.
pub(crate) fn softmax(values: &mut [f32]) -> bool {
    let (mut top, mut finite) = (f32::NEG_INFINITY, true);
    for &value in values.iter() {
        top = top.max(value);
        finite &= value.is_finite();
    }
    let mut sum = 0.0;
    for value in values.iter_mut() {
        *value = libm::expf(*value - top);
        sum += *value;
    }
    values.iter_mut().for_each(|value| *value /= sum);
    finite
}

/// Writes the probabilities of the `legal` actions, given one logit for every action of the game in the order of
/// [`Action`]. Returns false if a legal action's logit is not finite; the output is then meaningless.
///
/// # Panics
///
/// If a legal action has no logit, or if there is not exactly one prior per legal action.
pub(crate) fn legal_softmax(logits: &[f32], legal: &[Action], priors: &mut [f32]) -> bool {
    assert_eq!(priors.len(), legal.len(), "there must be one prior for each legal action");
    for (prior, action) in priors.iter_mut().zip(legal) {
        *prior = logits[action.index()];
    }
    softmax(priors)
}

/// Returns the error for a network whose output in `state` is not finite.
pub(crate) fn not_finite<G: Game>(game: &G, state: &G::State) -> Error {
    let position = game.state_text(state);
    Error::Data(format!(
        "the network's output is not a number in the position `{position}`: its weights are damaged or its training \
         diverged; use another checkpoint"
    ))
}

/// Draws an action with probability proportional to `weight ^ (1 / temperature)`: a temperature of 1 draws by the
/// weights, a lower one favors large weights, and 0 takes the largest. `Tree::targets` gives the weights of a search.
///
/// # Panics
///
/// If there is no action, or if the temperature is negative or NaN.
pub(crate) fn draw(weights: &[(Action, u32)], temperature: f32, random: &mut Random) -> Action {
    assert!(temperature >= 0.0, "a temperature must be 0 or more, not {temperature}");
    // the last action with the largest weight is drawn at temperature 0, or if rounding errors leave no other action
    let largest = weights.iter().max_by_key(|(_, weight)| *weight).expect("there is an action to draw");
    if temperature == 0.0 {
        return largest.0;
    }
    let top = largest.1 as f64;
    let weigh = |weight: u32| libm::pow(weight as f64 / top, 1.0 / temperature as f64);
    let sum: f64 = weights.iter().map(|&(_, weight)| weigh(weight)).sum();
    let mut rest = random.random::<f64>() * sum;
    for &(action, weight) in weights {
        rest -= weigh(weight);
        if rest < 0.0 {
            return action;
        }
    }
    largest.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, stream};

    #[test]
    fn the_temperature_decides_how_often_an_action_is_drawn() {
        let weights = [(Action(0), 1), (Action(1), 3), (Action(2), 0)];
        for (temperature, expected) in [(1.0, 0.75), (0.5, 0.9), (2.0, 0.634), (0.0, 1.0)] {
            let mut random = stream(1, Purpose::Agent, &[]);
            let drawn: Vec<Action> = (0..10_000).map(|_| draw(&weights, temperature, &mut random)).collect();
            let share = drawn.iter().filter(|action| **action == Action(1)).count() as f64 / 10_000.0;
            assert!((share - expected).abs() < 0.02, "{temperature}: {share}, expected {expected}");
            assert!(!drawn.contains(&Action(2)));
        }
    }

    #[test]
    fn priors_are_those_of_legal_actions() {
        let logits = [f32::NAN, 1.0, 50.0, 1.0 + 2f32.ln()];
        let mut priors = [0.0; 2];
        assert!(legal_softmax(&logits, &[Action(1), Action(3)], &mut priors));
        assert!((priors[0] - 1.0 / 3.0).abs() < 1e-6 && (priors[1] - 2.0 / 3.0).abs() < 1e-6, "{priors:?}");
        assert!(!legal_softmax(&logits, &[Action(0), Action(1)], &mut priors));
    }
}

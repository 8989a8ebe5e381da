//! Explains why an action of Cage is not legal, by the rulings in [`super`].

use super::{Cage, JUMPS, NOBODY, STEPS, State};
use crate::board::parse_square;

/// Returns the reason, if the squares in `text` show which action was meant.
pub(super) fn why_illegal(cage: &Cage, state: &State, text: &str) -> Option<String> {
    let square = |text: &str| parse_square(text, cage.side, cage.side);
    let name = super::ABOUT.player(state.to_move);
    let (own, enemy) = state.sides();
    let has = |set: u128, square: usize| set >> square & 1 == 1;
    if text == "pass" {
        return Some(format!("{name} can step or jump (G5)"));
    }
    let at = text.find(['-', 'x'])?;
    let (from, to) = (square(&text[..at])?, &text[at + 1..]);
    if !has(own, from) {
        return Some(format!("{name} has no checker on {}", cage.square(from)));
    }
    if state.jumping != NOBODY && (text.as_bytes()[at] == b'-' || from != usize::from(state.jumping)) {
        return Some(format!("the checker on {} must go on jumping", cage.square(state.jumping.into())));
    }
    let beside = |square: usize, set: u128| {
        let set = set & !(1 << from);
        (0..JUMPS).any(|direction| cage.ahead(square, direction, 1).is_some_and(|near| has(set, near)))
    };
    if text.as_bytes()[at] == b'-' {
        let to = square(to)?;
        let steps = |direction: usize| cage.ahead(from, direction, 1) == Some(to);
        if !(0..STEPS).any(steps) {
            return Some("a step goes to one of the 8 adjacent squares".into());
        }
        let distance = |square: usize| {
            let from_center = |at: usize| (2 * at + 1).abs_diff(cage.side).pow(2);
            from_center(square % cage.side) + from_center(square / cage.side)
        };
        return Some(match (beside(from, enemy), beside(to, enemy)) {
            _ if has(own | enemy, to) => format!("{} is not empty", cage.square(to)),
            _ if beside(to, own) => format!("{} is next to another {name} checker", cage.square(to)),
            (true, false) => "a checker that is next to an enemy may not step away from all of them".into(),
            (near, _) if near && distance(to) >= distance(from) => {
                "a checker that is next to an enemy may only step closer to the center".into()
            }
            _ => "the step is neither closer to the center nor next to an enemy".into(),
        });
    }
    let over = |direction: usize| cage.ahead(from, direction, 1);
    let inside = square(to);
    let outside = to.strip_prefix("off(").and_then(|to| square(to.strip_suffix(')')?));
    let direction = (0..JUMPS).find(|&direction| match (inside, outside) {
        (Some(to), _) => cage.ahead(from, direction, 2) == Some(to),
        (None, Some(captured)) => over(direction) == Some(captured),
        _ => false,
    });
    let Some(direction) = direction else {
        return (inside.is_some() || outside.is_some())
            .then(|| "a jump goes over the next square straight ahead, never diagonally".into());
    };
    let captured = over(direction)?;
    if !has(enemy, captured) {
        return Some(format!("there is no enemy on {} to jump over", cage.square(captured)));
    }
    let land = cage.ahead(from, direction, 2)?;
    if outside.is_some() {
        return Some(format!("{} is on the board: jump there", cage.square(land)));
    }
    Some(if has(own | enemy, land) {
        format!("{} is not empty", cage.square(land))
    } else {
        format!("{} is next to another {name} checker", cage.square(land))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::game::{Game, GameOptions, Variants};

    #[test]
    fn reasons_are_those_of_the_rules() {
        let game = Cage::new(&GameOptions { variant: "6".into(), ..GameOptions::default() }).unwrap();
        let why = |position: &str, text: &str| {
            let state = game.parse_state(position).unwrap();
            assert_eq!(game.parse_action(&state, text), None, "{text} is legal in {position}");
            game.why_illegal(&state, text).unwrap_or_default()
        };
        let open = "5B/6/6/6/6/R5 r - 0";
        for (text, reason) in [
            ("b1-c2", "Red has no checker on b1"),
            ("a1-a3", "a step goes to one of the 8 adjacent squares"),
            ("pass", "Red can step or jump (G5)"),
            ("a1xa3", "there is no enemy on a2 to jump over"),
            ("a1xc3", "a jump goes over the next square straight ahead, never diagonally"),
            ("hello", ""),
            ("", ""),
            ("a1-z9", ""),
        ] {
            assert_eq!(why(open, text), reason, "{text}");
        }
        assert_eq!(
            why("5B/6/6/2R3/6/6 r - 0", "c3-b2"),
            "the step is neither closer to the center nor next to an enemy"
        );
        assert_eq!(why("5B/6/6/6/R5/1R4 r - 0", "b1-b2"), "b2 is next to another Red checker");
        assert_eq!(
            why("6/6/6/2R3/2B3/6 r - 0", "c3-b2"),
            "a checker that is next to an enemy may only step closer to the center"
        );
        assert_eq!(
            why("6/6/6/2R3/2B3/6 r - 0", "c3-b4"),
            "a checker that is next to an enemy may not step away from all of them"
        );
        assert_eq!(why("6/6/6/6/B5/R5 r - 0", "a1-a2"), "a2 is not empty");
        assert_eq!(why("6/6/6/R5/B5/R5 r - 0", "a1xa3"), "a3 is not empty");
        assert_eq!(why("6/6/R5/6/B5/R5 r - 0", "a1xa3"), "a3 is next to another Red checker");
        assert_eq!(why("6/6/6/6/B5/R5 r - 0", "a1xoff(a2)"), "a3 is on the board: jump there");
        assert_eq!(why("5B/6/R5/B5/6/3R1R r a4 9", "d1-c2"), "the checker on a4 must go on jumping");
    }
}

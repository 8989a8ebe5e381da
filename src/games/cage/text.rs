//! Positions of Cage as text.

use super::{Cage, MAX_PLIES, NOBODY, State, free, jumps, union};
use crate::board::{parse_count, parse_ranks, parse_square};
use crate::game::Player;

impl Cage {
    /// Returns the position that a text describes. The error says what is wrong with the text.
    pub(super) fn parse(&self, text: &str) -> Result<State, String> {
        let fields: Vec<&str> = text.split(' ').collect();
        let [board, side, jumping, plies] = fields[..] else {
            return Err("it needs four fields: board, side to move, jumping square or `-`, plies".into());
        };
        let to_move = match side {
            "r" => Player::First,
            "b" => Player::Second,
            _ => return Err(format!("the side to move must be `r` or `b`, not `{side}`")),
        };
        let mut checkers = [0; 2];
        for (square, letter) in parse_ranks(board, self.side, self.side, "RB")?.into_iter().enumerate() {
            if let Some(letter) = letter {
                checkers[(letter == 'B') as usize] |= 1 << square;
            }
        }
        let Some(plies) = parse_count(plies, MAX_PLIES as usize) else {
            return Err(format!("the plies must be a number up to {MAX_PLIES}, not `{plies}`"));
        };
        let mut state = State { checkers, to_move, jumping: NOBODY, plies: plies as u16 };
        if jumping != "-" {
            let square = parse_square(jumping, self.side, self.side)
                .ok_or_else(|| format!("the jumping square must be a square or `-`, not `{jumping}`"))?;
            self.set_jumping(&mut state, square)?;
        }
        Ok(state)
    }

    /// Records that the checker on `square` has just jumped and must continue (G4).
    fn set_jumping(&self, state: &mut State, square: usize) -> Result<(), String> {
        let name = self.square(square);
        if state.plies == 0 {
            return Err(format!("{name} has jumped, but no action has been played"));
        }
        let (own, enemy) = state.sides();
        if own >> square & 1 == 0 {
            return Err(format!("the player to move has no checker on {name} that could jump"));
        }
        let free = sized!(self, free(own, enemy));
        if union(sized!(self, jumps(1 << square, enemy, free))) == 0 {
            return Err(format!("the checker on {name} cannot jump"));
        }
        state.jumping = square as u8;
        Ok(())
    }
}

//! The variants, their starting positions, and their options.

use std::ops::RangeInclusive;

use crate::error::{Error, Result};
use crate::game::{About, GameOption, GameOptions, Variants};

use super::{CustodialTrap, MAX_NO_PROGRESS, MEN};

pub(super) static ABOUT: About = about(["White", "Black"]);
pub(super) static ABOUT_ADVANCED: About = about(["A", "B"]).colors(["White", "Black"]);

const fn about(players: [&'static str; 2]) -> About {
    About::new(CustodialTrap::NAME, players).title("Custodial Trap").author("Rich Hutnik, 2014").summary(
        "A man slides like a chess queen (a1-d4), or captures an adjacent enemy \
        if a man of its own side is directly behind it or behind the row that it begins (b4xc5). It is \
        trapped and can do neither if the unbroken row of own men through it, along a file, rank or \
        diagonal, has an enemy directly at both ends. With reserves, men are dropped on inner squares \
        (@c3). The setup places men with W@c3 and B@c3, then uses the words in the list. A player with \
        fewer than 7 men left or without an action loses; with reserves, a player with none left to drop \
        and all men joined along files and ranks wins.",
    )
}

/// The name of a starting position, its board, and the men in reserve.
pub(super) type NamedStart = (&'static str, &'static str, u8);
const INTRO: &[NamedStart] = &[
    ("standard", "8/1bbbbbb1/1bbbbbb1/1bbbbbb1/1wwwwww1/1wwwwww1/1wwwwww1/8", 0),
    ("quarters", "8/1bbbwww1/1bbbwww1/1bbbwww1/1wwwbbb1/1wwwbbb1/1wwwbbb1/8", 0),
    // the standard position, under the name that it has in the other variant
    ("blocks", "8/1bbbbbb1/1bbbbbb1/1bbbbbb1/1wwwwww1/1wwwwww1/1wwwwww1/8", 0),
];
const INTERMEDIATE: &[NamedStart] = &[
    ("standard", "8/2bbww2/1bbbwww1/1bbbwww1/1wwwbbb1/1wwwbbb1/2wwbb2/8", 2),
    ("blocks", "8/2bbbb2/1bbbbbb1/1bbbbbb1/1wwwwww1/1wwwwww1/2wwww2/8", 2),
];
const ADVANCED: &[NamedStart] = &[("standard", "8/8/8/8/8/8/8/8", MEN as u8)];

/// The permitted values for the number of plies without a capture or drop that make a draw. The default is the maximum.
const NO_PROGRESS: RangeInclusive<i64> = 2..=MAX_NO_PROGRESS as i64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::games) enum Variant {
    Intro,
    Intermediate,
    Advanced,
}

impl Variant {
    fn starts(self) -> &'static [NamedStart] {
        [INTRO, INTERMEDIATE, ADVANCED][self as usize]
    }

    fn start_names(self) -> Vec<&'static str> {
        self.starts().iter().map(|start| start.0).collect()
    }

    /// Returns whether C4, C5b, and C5d apply.
    pub(super) fn drops(self) -> bool {
        self != Variant::Intro
    }
}

/// Returns the options and the values that they may have.
pub(super) fn list(variant: Variant) -> Vec<GameOption> {
    let start = "\"standard\" (default); in intro \"quarters\", \"blocks\"; in intermediate \"blocks\"";
    let diagonal = "men also capture diagonally, ruling C3 (default true)";
    let repetition = "occurrences of a position that make a draw, 2 to 9, or 0 for none (default 3)";
    let no_progress = "plies without capture or drop that make a draw, 2 to 100 (default 100)";
    vec![
        GameOption::choice("start", start, &variant.start_names()),
        GameOption::flag("diagonal_capture", diagonal, true),
        GameOption::one_of("repetition", repetition, 3, [0, 2, 3, 4, 5, 6, 7, 8, 9]),
        GameOption::integer("no_progress", no_progress, *NO_PROGRESS.end(), NO_PROGRESS),
    ]
}

impl Variants for CustodialTrap {
    const NAME: &'static str = "custodial-trap";
    const VARIANTS: &'static [&'static str] = &["intro", "intermediate", "advanced"];

    fn new(options: &GameOptions) -> Result<CustodialTrap> {
        options.expect_settings(
            CustodialTrap::NAME,
            &["start", "diagonal_capture", "repetition", "no_progress"],
        )?;
        let variant = match options.variant.as_str() {
            "intro" => Variant::Intro,
            "intermediate" => Variant::Intermediate,
            "advanced" => Variant::Advanced,
            other => {
                let known = CustodialTrap::VARIANTS.join(", ");
                return Err(Error::Config(format!("unknown variant `{other}` of custodial-trap ({known})")));
            }
        };
        let repetition = match options.integer("repetition", 3, 0..=9) {
            Ok(number) if number != 1 => number,
            _ => {
                let value = &options.settings["repetition"];
                return Err(Error::Config(format!(
                    "game.repetition = {value} is not permitted: use a whole number from 2 to 9, or 0 for none"
                )));
            }
        };
        Ok(CustodialTrap {
            variant,
            start: variant.starts()[options.choice("start", &variant.start_names())?],
            diagonal_capture: options.flag("diagonal_capture", true)?,
            repetition: repetition as u8,
            no_progress: options.integer("no_progress", *NO_PROGRESS.end(), NO_PROGRESS)? as u8,
        })
    }
}

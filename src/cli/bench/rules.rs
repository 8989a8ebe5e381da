//! `petteia bench rules`: measures the speed of the rules on one thread.

use clap::Args;

use super::measure::Measuring;
use crate::any::fast::RulesWork;
use crate::cli::{GameArgs, print};
use crate::error::Result;
use crate::registry::Catalog;

/// The measurements, in the order in which they are made.
const WORK: [(RulesWork, &str, &str); 4] = [
    (RulesWork::Playouts, "rules/playouts", "actions/s"),
    (RulesWork::Counted, "rules/perft-bulk", "leaves/s"),
    (RulesWork::Played, "rules/perft", "leaves/s"),
    (RulesWork::Encode, "rules/encode", "positions/s"),
];

/// Measure the speed of the rules on one thread.
#[derive(Args)]
#[command(after_help = "\
Measures random playouts, perft from the initial position (once with the last ply only counted, and once with every \
leaf played), and the encoding of positions from random games. perft uses the smallest depth with two million leaves \
or, if there is none, the depth with the most leaves. Prints the median, minimum, and maximum of the repetitions by \
wall-clock time, and the median by CPU time; with --json, wall and cpu are [minimum, median, maximum] in units per \
second.")]
pub(super) struct RulesBench {
    /// Game id (see `petteia games`) [default: all games]
    game: Option<String>,
    /// Game option, e.g. game.start=blocks; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE", requires = "game")]
    set: Vec<String>,
    #[command(flatten)]
    measuring: Measuring,
}

impl RulesBench {
    /// Measures the rules, and prints each line as soon as it is known.
    pub(super) fn run(self, catalog: Catalog) -> Result<()> {
        self.measuring.check()?;
        let games = match self.game {
            Some(id) => vec![GameArgs { id, set: self.set }],
            None => catalog.ids().into_iter().map(|id| GameArgs { id, set: Vec::new() }).collect(),
        };
        for game in games {
            let rules = game.opened(catalog)?;
            for (work, bench, unit) in WORK {
                let mut work = rules.game.rules_work(work);
                let measured = self.measuring.measure(bench, &game.id, unit, &mut *work);
                print(self.measuring.line(&measured))?;
            }
        }
        Ok(())
    }
}

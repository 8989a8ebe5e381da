//! `petteia check-game`: tests the rules of a game for conformance, or shows a random game.

use clap::Args;
use cpu_time::ThreadTime;

use super::board::{Marks, drawn, player_text};
use super::counter::Counter;
use super::play::result_text;
use super::text::{counted, terminal_width, wrapped};
use super::{GameArgs, catch_interrupts, interrupted, print};
use crate::any::Opened;
use crate::conformance;
use crate::error::{Error, Result};
use crate::game::{Game, line_text};

/// The default number of games.
const GAMES: usize = 200;
/// The default limit of CPU time, in seconds, if neither games nor seconds are given.
const SECONDS: f64 = 20.0;

/// Check the rules of a game by playing random games.
#[derive(Args)]
#[command(after_help = "\
Checks everything that the rest of the program relies on: the order and range of \
actions, texts and their parsing, planes, symmetries, keys, and whether games end.

No program can tell whether the right player wins; look at a few games with --show.

Examples:
  petteia check-game phage --games 1000
  petteia check-game phage --show --seed 3")]
pub(super) struct CheckGame {
    #[command(flatten)]
    pub game: GameArgs,
    /// Number of random games to play [default: 200, or as many as can be checked in 20 seconds of CPU time]
    #[arg(long, value_name = "N")]
    games: Option<usize>,
    /// Stop after this much CPU time
    #[arg(long, value_name = "SECONDS")]
    seconds: Option<f64>,
    /// Random seed of the games
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Only print a random game: its actions, its last board, and who won
    #[arg(long, conflicts_with_all = ["games", "seconds"])]
    show: bool,
}

impl CheckGame {
    /// Runs the command on a game.
    pub(super) fn on(self, rules: Opened) -> Result<()> {
        let game = &rules.game;
        if self.show {
            return self.show(&rules);
        }
        let games = self.games.unwrap_or(GAMES);
        if games == 0 {
            return Err(Error::Config("--games 0: must be at least 1".into()));
        }
        let most = match (self.seconds, self.games) {
            (Some(seconds), _) if seconds > 0.0 => seconds,
            (Some(seconds), _) => {
                return Err(Error::Config(format!("--seconds {seconds}: must be more than 0")));
            }
            (None, Some(_)) => f64::INFINITY,
            (None, None) => SECONDS,
        };
        catch_interrupts();
        let (began, counter) = (ThreadTime::now(), Counter::new(games as u64, "games"));
        let mut is_complete = true;
        let checked = conformance::check_while(game, games, self.seed, &mut |checked| {
            counter.show(
                checked.games as u64,
                &format!(", {}", counted(checked.positions, "position", "positions")),
            );
            is_complete = !interrupted() && began.elapsed().as_secs_f64() < most;
            is_complete
        });
        drop(counter);
        let id = &rules.identity.id;
        let checked = checked.map_err(|problem| Error::Illegal(format!("{id}: {problem}")))?;
        let result = match checked.games {
            0 => format!(
                "{id}: ok so far, {} of one game",
                counted(checked.positions, "position", "positions")
            ),
            _ => format!("{id}: ok, {checked}"),
        };
        print(result)?;
        if interrupted() {
            return Err(Error::Interrupted);
        }
        if !is_complete {
            let (games, width) = (counted(games, "game", "games"), terminal_width());
            let more = format!(
                "{most} s of CPU time were not enough for {games}; --games N plays them all, and --seconds N allows \
                 more time"
            );
            print(wrapped(&more, width))?;
        }
        Ok(())
    }
}

impl CheckGame {
    /// Prints a random game, so that a person can check that the right player won.
    fn show(&self, rules: &Opened) -> Result<()> {
        let game = &rules.game;
        let (states, actions) = conformance::random_game(game, self.seed);
        let last = &states[states.len() - 1];
        let texts = line_text(game, &states[0], &actions);
        let played = counted(actions.len(), "action", "actions");
        let (id, seed) = (&rules.identity.id, self.seed);
        let width = terminal_width();
        print(format_args!(
            "{id}, a random game (seed {seed}) of {played}:\n{}\n",
            wrapped(&texts.join(" "), width)
        ))?;
        let mut marks = Marks::default();
        if let (Some(before), Some(action)) = (states.iter().rev().nth(1), actions.last()) {
            let player = player_text(game, game.to_move(before));
            print(format_args!("Before the last action:\n\n{}\n", drawn(game, before, &marks, width)))?;
            print(format_args!("{player} plays {}:\n", texts[texts.len() - 1]))?;
            marks.last = game.touched(before, *action);
        }
        print(format_args!("{}\n", drawn(game, last, &marks, width)))?;
        print(format_args!("position: {}", game.state_text(last)))?;
        let player = player_text(game, game.to_move(last));
        let legal = counted(game.legal(last).len(), "legal action", "legal actions");
        print(format_args!("{player} would move next and has {legal}."))?;
        match game.outcome(last) {
            Some(outcome) => {
                print(format_args!("The rules say: {}. Is that right?", result_text(game, outcome)))
            }
            None => print(format_args!(
                "The rules say that the game continues, but it cannot; run check-game without --show."
            )),
        }
    }
}

//! `petteia play`: a person against an agent, in the terminal.

use std::io::BufRead;

use clap::{Args, ValueEnum};

use super::analyze::line_text;
use super::{GameArgs, print};
use crate::arena::agent::{AgentSpec, Contestant};
use crate::error::{Error, Result};
use crate::game::{Action, Game, GameOptions, Outcome, Player, identity};
use crate::games::Job;
use crate::random::{Purpose, stream};

const HELP: &str = "Type an action, or: legal (all actions), hint, undo, board, help, quit";
/// Legal actions shown without being asked.
const SHOWN_ACTIONS: usize = 12;

/// Play against an agent.
#[derive(Args)]
pub struct Play {
    /// The game
    #[command(flatten)]
    pub game: GameArgs,
    /// random, perfect, rollout:SIMS, uniform:SIMS or RUN-OR-CHECKPOINT[:SIMS][:f32|:bf16]
    #[arg(long, value_name = "AGENT")]
    opponent: String,
    /// Your side
    #[arg(long, value_enum, default_value_t = Side::First)]
    side: Side,
    /// Start here instead of the initial position
    #[arg(long, value_name = "TEXT")]
    position: Option<String>,
    /// Seed of the opponent
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

#[derive(Clone, Copy, ValueEnum)]
enum Side {
    First,
    Second,
}

/// A game between a person and an agent.
struct Table<'a, G: Game> {
    game: &'a G,
    contestant: &'a Contestant<G>,
    person: Player,
    seed: u64,
    start: G::State,
    actions: Vec<Action>,
}

impl Job for Play {
    type Output = Result<()>;

    fn run<G: Game>(self, game: G, options: GameOptions) -> Result<()> {
        let spec = AgentSpec::parse(&self.opponent)?;
        let contestant = Contestant::new(&game, &identity(&game, &options), &spec)?;
        let start = match &self.position {
            Some(text) => game.parse_state(text)?,
            None => game.initial(),
        };
        let person = match self.side {
            Side::First => Player::First,
            Side::Second => Player::Second,
        };
        let mut table = Table {
            game: &game,
            contestant: &contestant,
            person,
            seed: self.seed,
            start,
            actions: Vec::new(),
        };
        print(format_args!(
            "{}, by {}. You are {}. {HELP}",
            G::TITLE,
            G::AUTHOR,
            game.players()[person.index()]
        ))?;
        table.play()
    }
}

impl<G: Game> Table<'_, G> {
    fn play(&mut self) -> Result<()> {
        self.show_board()?;
        loop {
            let state = self.state();
            if let Some(outcome) = self.game.outcome(&state) {
                print(result_text(self.game, outcome))?;
                print("undo to take back, quit to leave")?;
            } else if self.game.to_move(&state) != self.person {
                let action = self.opponent(&state)?;
                print(format_args!(
                    "{} plays {}",
                    player(self.game, self.person.other()),
                    self.game.action_text(&state, action)
                ))?;
                self.actions.push(action);
                self.show_board()?;
                continue;
            } else {
                self.show_legal(&state, SHOWN_ACTIONS)?;
            }
            if !self.ask(&state)? {
                return Ok(());
            }
        }
    }

    /// Reads one line and does what it says; false to leave.
    fn ask(&mut self, state: &G::State) -> Result<bool> {
        let mut line = String::new();
        if std::io::stdin().lock().read_line(&mut line).map_err(Error::io("standard input"))? == 0 {
            return Ok(false);
        }
        match line.trim() {
            "" => {}
            "quit" | "exit" => return Ok(false),
            "help" | "?" => print(HELP)?,
            "board" => self.show_board()?,
            "legal" => self.show_legal(state, usize::MAX)?,
            "undo" => self.undo()?,
            "hint" => self.hint(state)?,
            text => match self
                .game
                .parse_action(state, text)
                .filter(|action| self.game.legal(state).contains(action))
            {
                Some(action) => {
                    self.actions.push(action);
                    self.show_board()?;
                }
                None if self.game.outcome(state).is_some() => print("the game is over: undo or quit")?,
                None => print(format_args!("`{text}` is not legal here. {HELP}"))?,
            },
        }
        Ok(true)
    }

    fn state(&self) -> G::State {
        self.state_before(self.actions.len())
    }

    fn state_before(&self, ply: usize) -> G::State {
        let mut state = self.start.clone();
        for &action in &self.actions[..ply] {
            self.game.play(&mut state, action);
        }
        state
    }

    fn opponent(&self, state: &G::State) -> Result<Action> {
        self.contestant.agent(self.stream()).choose(state)
    }

    fn stream(&self) -> crate::random::Random {
        stream(self.seed, Purpose::Agent, &[self.actions.len() as u64])
    }

    /// Takes back to the person's last decision.
    fn undo(&mut self) -> Result<()> {
        let mine = (0..self.actions.len())
            .rev()
            .find(|&ply| self.game.to_move(&self.state_before(ply)) == self.person);
        match mine {
            Some(ply) => {
                print(format_args!("taken back to ply {ply}"))?;
                self.actions.truncate(ply);
            }
            None => return print("there is nothing to take back"),
        }
        self.show_board()
    }

    fn hint(&self, state: &G::State) -> Result<()> {
        if self.game.outcome(state).is_some() {
            return print("the game is over");
        }
        let Some(mut agent) = self.contestant.searcher(self.stream()) else {
            return print("this opponent does not search, so it has no hint");
        };
        let analysis = agent.analyze(state);
        let mut visits = analysis.visits;
        visits.retain(|(_, visits)| *visits > 0);
        visits
            .sort_by_key(|&(action, visits)| (action != analysis.action, std::cmp::Reverse(visits), action));
        let shown: Vec<String> = visits
            .iter()
            .take(5)
            .map(|&(action, visits)| format!("{} {visits}", self.game.action_text(state, action)))
            .collect();
        print(format_args!(
            "hint: {} (value {:+.2} for you; visits: {}; line: {})",
            self.game.action_text(state, analysis.action),
            analysis.value,
            shown.join(", "),
            line_text(self.game, state, &analysis.principal_variation).join(" ")
        ))
    }

    fn show_legal(&self, state: &G::State, most: usize) -> Result<()> {
        let legal = self.game.legal(state);
        let texts: Vec<String> = legal.iter().take(most).map(|a| self.game.action_text(state, *a)).collect();
        let more =
            if legal.len() > most { format!(" ... ({} in all: legal)", legal.len()) } else { String::new() };
        print(format_args!("your actions: {}{more}", texts.join(" ")))
    }

    /// The board with the squares of the last action in brackets.
    fn show_board(&self) -> Result<()> {
        let view = self.game.view(&self.state());
        let touched = match self.actions.split_last() {
            Some((last, before)) => self.game.touched(&self.state_before(before.len()), *last),
            None => Vec::new(),
        };
        print("")?;
        for (row, (label, cells)) in view.rows.iter().zip(&view.cells).enumerate() {
            let mut line = format!("{label:>3} ");
            for (column, cell) in cells.iter().enumerate() {
                let (open, close) = if touched.contains(&(row, column)) { ('[', ']') } else { (' ', ' ') };
                line.push_str(&format!("{open}{cell}{close}"));
            }
            print(line.trim_end())?;
        }
        let columns: String = view.columns.iter().map(|label| format!("{label:^3}")).collect();
        print(format_args!("    {}", columns.trim_end()))?;
        if !view.note.is_empty() {
            print(&view.note)?;
        }
        print("")
    }
}

fn player<G: Game>(game: &G, player: Player) -> &'static str {
    game.players()[player.index()]
}

fn result_text<G: Game>(game: &G, outcome: Outcome) -> String {
    match outcome {
        Outcome::Win(winner) => format!("{} wins", player(game, winner)),
        Outcome::Draw if G::DRAWLESS => {
            format!(
                "a draw, which {} does not know: the limit of {} actions cut it short",
                G::TITLE,
                game.max_plies()
            )
        }
        Outcome::Draw => "a draw".into(),
    }
}

//! `petteia solve`: finds the exact value of a position, and makes sets of solved positions.

use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;
use serde_json::{Map, Value, json};

use super::counter::Counter;
use super::text::counted;
use super::{GameArgs, catch_interrupts, interrupted, print, refuse_existing, use_threads};
use crate::any::{AnyGame, AnyState, Opened};
use crate::error::{Error, Result, quoted};
use crate::game::{Game, Outcome};
use crate::program::Program;
use crate::solve::{Bounds, Limits, Solved, Solver};
use crate::truth::endgames::{SetPlan, make};
use crate::truth::set;

/// The largest table, in MiB.
const MAX_TABLE: usize = 1 << 20;
/// The possible values of an action, and their names.
const VALUES: [(i8, &str); 3] = [(1, "win"), (0, "draw"), (-1, "loss")];

/// Find the exact value of a position and of its actions.
#[derive(Args)]
#[command(after_help = "\
Finds out by proof-number search whether the position and each legal action are a win, a draw, or a loss with \
best play. The winner is printed as soon as it is known. A value that cannot be decided with \
--nodes stays unknown; nothing is guessed. Positions are remembered by 64-bit keys: \
among ten million positions, the odds that two have the same key and are confused are \
one in 370,000.

--out makes a set of solved positions for `petteia accuracy`: positions near the end of random games, each solved with \
--nodes. Positions that cannot be solved or that take fewer than 50 nodes are left out, and so are positions in which \
no action is an error, except lost positions. Lost positions serve to judge values and make up at most a quarter of \
the set. Classes: easy (fewer than 1,000 nodes), medium, hard (10,000 or more), lost.

Examples:
  petteia solve tic-tac-toe
  petteia solve tic-tac-toe --position 'X../.../... O'
  petteia solve cage-6 --out cage-6.jsonl.zst --count 1000 --nodes 50000")]
pub(super) struct Solve {
    #[command(flatten)]
    pub game: GameArgs,
    /// Position to solve [default: the initial position]
    #[arg(long, value_name = "TEXT", conflicts_with = "out")]
    position: Option<String>,
    /// Maximum number of nodes for a position and its actions
    #[arg(long, value_name = "N", default_value_t = 10_000_000)]
    nodes: u64,
    /// Maximum memory for remembered positions in MiB; with --out, for each thread
    #[arg(long, value_name = "MIB", default_value_t = 256)]
    table: usize,
    /// Make a set of solved positions in this file
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Number of positions in the set
    #[arg(long, value_name = "N", default_value_t = 1000, requires = "out")]
    count: usize,
    /// Random seed of the set
    #[arg(long, value_name = "N", default_value_t = 1, requires = "out")]
    seed: u64,
    /// How far before the end of a random game the positions of the set may be, in actions
    #[arg(long, value_name = "A..B", default_value = "4..16", requires = "out")]
    before_end: String,
    /// Worker threads for --out; the result does not depend on them [default: all cores]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

impl Solve {
    /// Runs the command on a game.
    pub(super) fn on(self, rules: Opened) -> Result<()> {
        if self.nodes == 0 {
            return Err(Error::Config("--nodes 0: must be at least 1".into()));
        }
        if !(1..=MAX_TABLE).contains(&self.table) {
            return Err(Error::Config(format!("--table {}: must be from 1 to {MAX_TABLE} MiB", self.table)));
        }
        catch_interrupts();
        match &self.out {
            Some(out) => self.make_set(&rules, out),
            None => self.solve(&rules),
        }
    }
}

impl Solve {
    fn limits(&self) -> Limits {
        Limits { nodes: self.nodes, table: self.table.saturating_mul(1 << 20) }
    }

    fn solve(&self, rules: &Opened) -> Result<()> {
        let game = &rules.game;
        let state = match &self.position {
            Some(text) => game.parse_state(text)?,
            None => game.initial(),
        };
        let started = Instant::now();
        let counter = Counter::new(self.nodes, "nodes");
        let mut headline = None;
        let solved = Solver::new(game.clone(), self.limits()).solve(&state, |nodes, bounds| {
            if headline.is_none()
                && let Some(outcome) = bounds.outcome()
            {
                headline = Some(self.announce(game, outcome, nodes, &counter));
            }
            counter.show(nodes, "");
            !interrupted()
        });
        drop(counter);
        headline.unwrap_or(Ok(()))?;
        if self.json && !interrupted() {
            return print(shown(rules, &state, &solved, started.elapsed().as_secs_f64()));
        }
        if !self.json {
            print_solved(game, &state, &solved)?;
        }
        if interrupted() { Err(Error::Interrupted) } else { Ok(()) }
    }

    /// Prints the winner, if the output is not JSON. The values of all actions can take much longer to find.
    fn announce(&self, game: &AnyGame, outcome: Outcome, nodes: u64, counter: &Counter) -> Result<()> {
        if self.json {
            return Ok(());
        }
        let nodes = counted(nodes as usize, "node", "nodes");
        counter.hidden_while(|| match outcome {
            Outcome::Win(winner) => {
                print(format_args!("{} wins with best play ({nodes})", game.about().player(winner)))
            }
            Outcome::Draw => print(format_args!("a draw with best play ({nodes})")),
        })
    }

    fn make_set(&self, rules: &Opened, out: &Path) -> Result<()> {
        refuse_existing(out)?;
        if !(1..=set::MAX_POSITIONS).contains(&self.count) {
            return Err(Error::Config(format!(
                "--count {}: must be from 1 to {}",
                self.count,
                set::MAX_POSITIONS
            )));
        }
        use_threads(self.threads)?;
        let (id, count, seed, before, nodes, table) =
            (&rules.identity.id, self.count, self.seed, &self.before_end, self.nodes, self.table);
        let made_by = format!(
            "{} solve {id} --count {count} --seed {seed} --before-end {before} --nodes {nodes} --table {table}",
            Program::current().name
        );
        let before_end = parse_range(before)?;
        let plan = SetPlan { count, seed, before_end, limits: self.limits(), made_by };
        let counter = Counter::new(count as u64, "positions");
        let set = make(rules, &plan, &|done| {
            counter.show(done as u64, "");
            !interrupted()
        });
        drop(counter);
        let (header, lines) = set?;
        set::write(out, &header, &lines)?;
        let classes = header.classes.iter();
        let classes: Vec<(&String, usize)> =
            classes.map(|class| (class, lines.iter().filter(|line| line.class == *class).count())).collect();
        if self.json {
            let classes: Map<String, Value> =
                classes.into_iter().map(|(class, count)| (class.clone(), count.into())).collect();
            return print(
                json!({"game": id, "path": out.display().to_string(), "count": count, "classes": classes}),
            );
        }
        let classes: Vec<String> =
            classes.into_iter().map(|(class, count)| format!("{count} {class}")).collect();
        print(format_args!("saved {count} positions in {}: {}", out.display(), classes.join(", ")))
    }
}

/// Parses `A..B`, which includes both ends.
fn parse_range(text: &str) -> Result<RangeInclusive<usize>> {
    let range = text.split_once("..").and_then(|(from, to)| Some(from.parse().ok()?..=to.parse().ok()?));
    range.filter(|range: &RangeInclusive<usize>| *range.start() > 0 && !range.is_empty()).ok_or_else(|| {
        Error::Config(format!(
            "--before-end {}: must be a range of actions from 1, such as 4..16",
            quoted(text)
        ))
    })
}

fn shown(rules: &Opened, state: &AnyState, solved: &Solved, seconds: f64) -> Value {
    let game = &rules.game;
    let player = game.to_move(state);
    let value = |bounds: Bounds| bounds.outcome().map(|outcome| outcome.value_for(player) as i8);
    let actions: Map<String, Value> = solved
        .actions
        .iter()
        .map(|(action, bounds)| (game.action_text(state, *action), value(*bounds).into()))
        .collect();
    let best = solved
        .best_actions()
        .map(|best| best.into_iter().map(|action| game.action_text(state, action)).collect::<Vec<_>>());
    json!({
        "game": rules.identity.id, "position": game.state_text(state), "to_move": player.id(),
        "value": value(solved.bounds), "bounds": solved.bounds.for_player(player), "best_actions": best,
        "actions": actions, "nodes": solved.nodes, "seconds": seconds,
    })
}

/// Prints the actions by value, and those whose value is unknown.
fn print_solved(game: &AnyGame, state: &AnyState, solved: &Solved) -> Result<()> {
    let player = game.to_move(state);
    let nodes = counted(solved.nodes as usize, "node", "nodes");
    if solved.bounds.outcome().is_none() {
        let name = game.about().player(player);
        print(match solved.bounds.for_player(player) {
            (0, _) => format!("unknown after {nodes}: at least a draw for {name}"),
            (_, 0) => format!("unknown after {nodes}: at most a draw for {name}"),
            _ => format!("unknown after {nodes}"),
        })?;
    }
    let with = |wanted: Option<i8>| -> Vec<String> {
        let value = |bounds: Bounds| bounds.outcome().map(|outcome| outcome.value_for(player) as i8);
        let chosen = solved.actions.iter().filter(|(_, bounds)| value(*bounds) == wanted);
        chosen.map(|(action, _)| game.action_text(state, *action)).collect()
    };
    let unknown = match solved.bounds.outcome() {
        Some(_) => format!("unknown after {nodes}"),
        None => "unknown".into(),
    };
    let named = VALUES.iter().map(|(value, name)| (name.to_string(), with(Some(*value))));
    for (name, actions) in named.chain([(unknown, with(None))]) {
        if !actions.is_empty() {
            print(format_args!("{name}: {}", actions.join(" ")))?;
        }
    }
    Ok(())
}

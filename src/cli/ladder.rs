//! `petteia ladder`: rates the checkpoints of runs and other agents together.
//!
//! The command lists and loads the agents, plays their games, and prints a table or JSON.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use super::arena::{OpeningArgs, PlayingArgs, load};
use super::counter::Counter;
use super::progress::fault_line;
use super::table::{Column, Table};
use super::text::{counted, paragraph, terminal_width};
use super::{AGENTS, catch_interrupts, interrupted, print, use_threads};
use crate::any::{AnyGame, Opened};
use crate::arena::contestant::Contestant;
use crate::arena::elo::{bounds, signed};
use crate::arena::journal::Journal;
use crate::arena::ladder::{Ladder, LadderResult};
use crate::arena::pairing::Pairing;
use crate::arena::spec::{AgentSpec, DEFAULT_SIMULATIONS};
use crate::checkpoint::{self, Checkpoint};
use crate::config::game_settings;
use crate::error::{Error, Result, quoted};
use crate::game::{GameIdentity, Settings};
use crate::registry::Catalog;
use crate::replay::store;

/// The default agents that the checkpoints of a run are compared with.
const ANCHORS: &str = "rollout:100,rollout:400,rollout:1600";
/// The default number of games per agent.
const GAMES: usize = 40;

/// Rate all checkpoints of runs and other agents together.
#[derive(Args)]
#[command(after_help = format!("\
{AGENTS}
  ugi:COMMAND    another program for the same game that speaks UGI

The rating of each agent is its Elo difference from the agent rated 0, with 95 % bounds, from a Bradley-Terry fit of \
all games together; a draw is half a win. Games are paired as in `petteia arena`, and repeated games get less weight. \
\"or more\" means that the games set no upper limit to a rating, because no agent with an upper limit scored against \
this agent. The last column has the difference between neighbors in the table. The bounds of a difference are \
computed for the difference itself and cannot be derived from the bounds of the two agents.

--pairing adaptive chooses the pairs of agents whose games are expected to tell the most about all differences; \
round-robin plays each agent against every other in turn; gauntlet plays the agent named by --zero against each of the \
others. The same seed gives the same games for any number of threads.

Ctrl-C, SIGTERM, and SIGHUP end the ladder; with --save, the finished pairs are kept.

Examples:
  petteia ladder runs/phage --save phage-ladder.jsonl
  petteia ladder runs/a runs/b --agents shipped --every 5 --games 1000
  petteia ladder --agents runs/a:100 runs/a:400 runs/b:100 --pairing round-robin"))]
pub(super) struct LadderCommand {
    /// Run folders; all of their checkpoints are rated
    #[arg(value_name = "RUN")]
    runs: Vec<PathBuf>,
    /// More agents, see below
    #[arg(long, value_name = "AGENT", num_args = 1..)]
    agents: Vec<OsString>,
    /// Agents to compare the checkpoints with, separated by commas, or `none`; the first one is rated 0 [default:
    /// rollout:100,rollout:400,rollout:1600 if there are runs]
    #[arg(long, value_name = "AGENT,...")]
    anchors: Option<String>,
    /// The agent to rate 0, by its name in the table [default: the first anchor or agent]
    #[arg(long, value_name = "NAME")]
    zero: Option<String>,
    /// How to choose opponents
    #[arg(long, value_name = "KIND", value_enum, default_value_t = PairingKind::Adaptive)]
    pairing: PairingKind,
    /// Total number of games, which must be even [default: 40 per agent]
    #[arg(long, value_name = "N")]
    games: Option<usize>,
    /// Simulations per action for the checkpoints of runs
    #[arg(long, value_name = "N", default_value_t = DEFAULT_SIMULATIONS)]
    simulations: usize,
    /// Rate only every Nth generation of a run, and the last one
    #[arg(long, value_name = "N", default_value_t = 1)]
    every: usize,
    #[command(flatten)]
    openings: OpeningArgs,
    /// Game id; needed only if no agent is trained
    #[arg(long, value_name = "ID")]
    game: Option<String>,
    /// Game option, e.g. game.start=blocks, with --game; may be repeated
    #[arg(long, value_name = "KEY=VALUE", requires = "game")]
    set: Vec<String>,
    #[command(flatten)]
    playing: PlayingArgs,
}

/// `--pairing`
#[derive(Clone, Copy, ValueEnum)]
enum PairingKind {
    /// The pairs whose games are expected to give the most information
    Adaptive,
    /// Each agent against every other
    RoundRobin,
    /// The agent named by --zero against each of the others
    Gauntlet,
}

/// An agent of the ladder before it is loaded.
struct ListedAgent {
    name: String,
    spec: AgentSpec,
}

/// A ladder of known agents.
struct NamedLadder {
    command: LadderCommand,
    listed: Vec<ListedAgent>,
    zero: usize,
}

impl LadderCommand {
    /// Finds the agents and their game, and plays the ladder.
    pub(super) fn run(mut self, games: Catalog) -> Result<()> {
        // the game may come first, as for `arena`
        let is_game =
            |word: &PathBuf| !word.is_dir() && games.names().iter().any(|name| *word == Path::new(name));
        if self.game.is_none() && self.runs.first().is_some_and(is_game) {
            self.game = Some(self.runs.remove(0).to_string_lossy().into_owned());
        }
        let listed = self.listed()?;
        let zero = self.zero(&listed)?;
        let (id, options) = self.game(&listed)?;
        NamedLadder { command: self, listed, zero }.on(games.open(&id, &options)?)
    }

    /// Lists the agents: anchors, other agents, checkpoints. The first games are between neighbors in this list.
    fn listed(&self) -> Result<Vec<ListedAgent>> {
        let anchors = match self.anchors.as_deref() {
            None if self.runs.is_empty() => "",
            None => ANCHORS,
            Some("none") => "",
            Some(anchors) => anchors,
        };
        let anchors = anchors.split(',').filter(|text| !text.is_empty()).map(OsStr::new);
        let mut listed = Vec::new();
        for text in anchors.chain(self.agents.iter().map(OsString::as_os_str)) {
            listed.push(ListedAgent {
                name: text.to_string_lossy().into_owned(),
                spec: AgentSpec::parse(text)?,
            });
        }
        for run in &self.runs {
            listed.extend(self.checkpoints(run)?);
        }
        let mut names: Vec<&str> = listed.iter().map(|agent| agent.name.as_str()).collect();
        names.sort_unstable();
        match names.windows(2).find(|two| two[0] == two[1]) {
            None => Ok(listed),
            Some(two) => Err(Error::Config(format!("{} is given twice", quoted(two[0])))),
        }
    }

    /// Lists those checkpoints of a run that the ladder rates.
    fn checkpoints(&self, run: &Path) -> Result<Vec<ListedAgent>> {
        let place = run.display();
        let paths = checkpoint::list(run)?;
        if paths.is_empty() {
            return Err(Error::Missing(format!(
                "{place} has no checkpoints; give run folders with at least one finished generation, and name other \
                 agents with --agents"
            )));
        }
        if self.every == 0 {
            return Err(Error::Config("--every 0: must be at least 1".into()));
        }
        let last = paths.len() - 1;
        let mut listed = Vec::new();
        for (at, path) in paths.into_iter().enumerate() {
            let generation = store::generation_of(&path).unwrap_or_default();
            if generation.is_multiple_of(self.every) || at == last {
                let prefix = if self.runs.len() > 1 { format!("{place} ") } else { String::new() };
                let name = format!("{prefix}generation {generation}");
                let text = format!("{}:{}", path.display(), self.simulations);
                // checks the number of simulations, and that the path still exists
                AgentSpec::parse(text)?;
                listed.push(ListedAgent { name, spec: AgentSpec::Trained(path, self.simulations, None) });
            }
        }
        Ok(listed)
    }

    fn zero(&self, listed: &[ListedAgent]) -> Result<usize> {
        let Some(name) = &self.zero else { return Ok(0) };
        listed.iter().position(|agent| agent.name == *name).ok_or_else(|| {
            let names: Vec<&str> = listed.iter().map(|agent| agent.name.as_str()).collect();
            Error::Config(format!("--zero {}: the agents are {}", quoted(name), names.join(", ")))
        })
    }

    /// Returns the id and options of the game: those of the first trained agent, unless they are given.
    fn game(&self, listed: &[ListedAgent]) -> Result<(String, Settings)> {
        if let Some(id) = &self.game {
            return Ok((id.clone(), game_settings(&self.set)?));
        }
        for agent in listed {
            if let AgentSpec::Trained(path, ..) = agent.spec.clone().searching() {
                let game = Checkpoint::find(&path)?.manifest.game;
                return Ok((game.id, game.options));
            }
        }
        Err(Error::Config(if listed.is_empty() {
            "give a run folder, or agents with --agents".into()
        } else {
            "none of these agents is trained for a game; name the game with --game ID".into()
        }))
    }

    fn plan(&self, rules: &Opened, agents: usize, zero: usize) -> Result<Ladder> {
        let pairing = match self.pairing {
            PairingKind::Adaptive => Pairing::Adaptive,
            PairingKind::RoundRobin => Pairing::RoundRobin,
            PairingKind::Gauntlet => Pairing::Gauntlet(zero),
        };
        let games = self.games.unwrap_or(GAMES * agents);
        let OpeningArgs { seed, opening_plies, .. } = self.openings;
        Ok(Ladder { games, seed, opening_plies, book: self.openings.book(rules)?, pairing })
    }
}

impl NamedLadder {
    /// Plays the ladder.
    pub(crate) fn on(self, rules: Opened) -> Result<()> {
        let (game, command) = (&rules.game, &self.command);
        let plan = command.plan(&rules, self.listed.len(), self.zero)?;
        plan.check(game, self.listed.len())?;
        catch_interrupts();
        let terms = command.playing.terms()?;
        let processor = command.playing.device.processor()?;
        let loaded: Vec<Contestant<AnyGame>> = self
            .listed
            .iter()
            .map(|agent| load(&rules, &agent.spec, &terms, &processor))
            .collect::<Result<_>>()?;
        let agents: Vec<&Contestant<AnyGame>> = loaded.iter().collect();
        use_threads(command.playing.threads)?;
        let open = |path| Journal::open_ladder(path, &rules, &plan, &agents);
        let journal = command.playing.save.as_deref().map(open).transpose()?;
        let counter = Counter::of_match(game, plan.games, plan.opening_plies);
        let played = game.play_ladder(&plan, &agents, journal, &|progress| {
            counter.show_match(progress, "");
            !interrupted()
        });
        drop(counter);
        let (result, complete) = played?;
        self.show(&plan, &rules.identity, &result)?;
        command.playing.end(complete, "ladder")
    }
}

impl NamedLadder {
    fn show(&self, plan: &Ladder, game: &GameIdentity, result: &LadderResult) -> Result<()> {
        if self.command.playing.json { print(self.json(plan, game, result)) } else { self.print(result) }
    }

    fn name(&self, agent: usize) -> &str {
        &self.listed[agent].name
    }

    /// Returns the number of games of an agent, and its share of the points.
    fn played(&self, result: &LadderResult, agent: usize) -> (usize, f64) {
        let (mut games, mut points) = (0, 0.0);
        for met in &result.met {
            let [first, second] = met.agents;
            let wins = if agent == first { met.wins } else { met.losses };
            if agent == first || agent == second {
                games += met.wins + met.draws + met.losses;
                points += wins as f64 + met.draws as f64 / 2.0;
            }
        }
        (games, points / games.max(1) as f64)
    }

    fn print(&self, result: &LadderResult) -> Result<()> {
        let ranking = result.ratings.ranking(self.zero);
        let mut rows = Vec::new();
        for (place, &agent) in ranking.iter().enumerate() {
            let above = |other: usize| result.ratings.difference(agent, other);
            let (games, score) = self.played(result, agent);
            let own = above(self.zero).filter(|_| agent != self.zero);
            let next = ranking.get(place + 1).and_then(|next| above(*next));
            rows.push([
                self.name(agent).to_string(),
                own.map_or("0".into(), |own| signed(own.elo)),
                own.map_or(String::new(), |own| bounds(own.low, own.high)),
                games.to_string(),
                format!("{:.0} %", 100.0 * score),
                next.map_or(String::new(), |next| {
                    format!("{} ({})", signed(next.elo), bounds(next.low, next.high))
                }),
            ]);
        }
        let width = |column: usize| rows.iter().map(|row| row[column].len()).max().unwrap_or(0);
        let columns = vec![
            Column::text("agent", width(0), 0),
            Column::number("Elo", width(1), 0),
            Column::text("95 %", width(2), 0),
            Column::number("games", width(3), 2),
            Column::number("score", width(4), 3),
            Column::text("above the next", width(5), 1),
        ];
        let table = Table::new(columns, terminal_width());
        print(table.head())?;
        rows.iter().try_for_each(|row| print(table.line(row)))?;
        self.notes(result, &ranking)
    }

    /// Prints the notes below the table.
    fn notes(&self, result: &LadderResult, ranking: &[usize]) -> Result<()> {
        let zero = self.name(self.zero);
        let agents = counted(ranking.len(), "agent", "agents");
        print(paragraph(&format!(
            "{agents}, {}; {zero} is rated 0; bounds are 95 %",
            counted(result.games, "game", "games")
        )))?;
        let others: Vec<&str> = (0..self.listed.len())
            .filter(|agent| !ranking.contains(agent))
            .map(|agent| self.name(agent))
            .collect();
        if !others.is_empty() {
            print(paragraph(&format!(
                "not rated, because no chain of games connects them to {zero} yet: {}",
                others.join(", ")
            )))?;
        }
        if result.cut_short > 0 {
            print(paragraph(&format!(
                "WARNING: {} cut short by the action limit and count as draws",
                counted(result.cut_short, "game was", "games were")
            )))?;
        }
        let faults = result.faults.iter().enumerate().filter(|(_, faults)| faults.total() > 0);
        faults.map(|(agent, faults)| fault_line(self.name(agent), faults)).try_for_each(print)
    }

    fn json(&self, plan: &Ladder, game: &GameIdentity, result: &LadderResult) -> Value {
        let agents = self.listed.iter().enumerate().map(|(agent, listed)| {
            let (games, score) = self.played(result, agent);
            json!({
                "agent": listed.name, "spec": listed.spec.to_string(), "games": games, "score": score,
                "rating": result.ratings.difference(agent, self.zero), "faults": result.faults[agent],
            })
        });
        let matches = result.met.iter().map(|met| {
            let [first, second] = met.agents;
            json!({
                "agents": [self.name(first), self.name(second)], "wins": met.wins, "draws": met.draws,
                "losses": met.losses, "pairs": met.pairs, "distinct_games": met.distinct_games,
                "effective_games": met.effective_games,
                "expected_score": result.ratings.expected(first, second),
            })
        });
        json!({
            "game": game.id, "options": game.options, "games": result.games, "seed": plan.seed,
            "opening_plies": plan.opening_plies, "pairing": plan.pairing, "zero": self.name(self.zero),
            "spread": result.ratings.spread(), "cut_short": result.cut_short,
            "agents": agents.collect::<Vec<_>>(), "matches": matches.collect::<Vec<_>>(),
        })
    }
}

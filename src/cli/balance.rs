//! `petteia balance`: measures whether a game is balanced for competent players.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use clap::{Args, Command, FromArgMatches};
use serde_json::json;

use super::counter::Counter;
use super::flags::Device;
use super::report::{refuse_other_pages, write_page};
use super::subject::{is_shipped, named, tell_slow_rules};
use super::text::{counted, paragraph};
#[cfg(feature = "train")]
use super::train::within::{WantedAgent, train_within};
use super::{AGENTS, catch_interrupts, interrupted, print, use_threads};
use crate::any::Opened;
use crate::arena::contestant::Contestant;
use crate::arena::levels::{is_proved, shipped_agent};
use crate::arena::perfect::is_at_hand;
use crate::arena::spec::{AgentSpec, SHIPPED};
use crate::balance::page::{Measured, page, unmeasured};
use crate::balance::proof::USUAL;
use crate::balance::words::{answer, in_short};
use crate::balance::{BalanceProgress, Level, Plan, measure};
use crate::checkpoint;
use crate::config::game_settings;
use crate::config::limits::MAX_SIMULATIONS;
use crate::error::{Error, Result};
use crate::game::{Game, Settings};
use crate::registry::Catalog;
use crate::replay::store;
use crate::run;

/// The end of the page's default file name, which begins with the id of the game.
const PAGE: &str = "balance.html";
/// The simulations of the two weakest levels if there is a trained agent; these levels use random playouts.
const BEGINNERS: [usize; 2] = [20, 100];
/// The simulations of each level if there is no trained agent.
const UNTRAINED: [usize; 4] = [20, 80, 320, 1280];
/// The default and the maximum number of generations of a run that are used as levels.
const GENERATIONS: usize = 4;
const MOST_GENERATIONS: usize = 1000;
/// The strongest level has this many times as many simulations as the level below it.
const LONGER: usize = 4;
/// The maximum number of games of a level.
const MOST_GAMES: usize = 100_000;

/// Measure whether a game is balanced for players of increasing strength.
#[derive(Args)]
#[command(after_help = format!("\
Players of increasing strength (levels) play against themselves and against the level below. For the run of a trained \
agent, the levels are tree search with 20 and 100 random playouts, generations of the run, and the last generation \
with a longer search. For a trained agent that is not a run, levels with increasing numbers of simulations replace \
the generations. Without a trained agent, all levels are tree search with random playouts. The page answers these \
questions: Who has the advantage, among beginners and among experts? Does skill count? Would a swap rule make the \
game fair? The page also defines every metric and names its source.

First, a solver tries to prove the value of the game, which works for small games. Then experts play until it is known \
whether the game is fair to within --within points or favors one side, but at most --most-games games. Games begin \
with openings that cost nothing (no action in them loses value), chosen by --seed alone. If GAME is a run, its agent \
plays the run's own game. The variants of --compare, which can also be runs, use the agents of --agent in the same \
order. A variant for which no agent is left uses runs/ID if that run exists, and otherwise the shipped agent. An \
option with several values, separated by commas, makes a variant for each value.

{AGENTS}

Examples:
  petteia balance phage
  petteia balance cage-6 --compare cage-8
  petteia balance custodial-trap-intro --set game.start=quarters,blocks --train-minutes 20"))]
pub(super) struct BalanceCommand {
    /// Game id (see `petteia games`), or a run, checkpoint, or exported file of the game
    #[arg(value_name = "GAME")]
    game: String,
    /// Variants to compare GAME with
    #[arg(long, value_name = "GAME", num_args = 1..)]
    compare: Vec<String>,
    /// Game option, e.g. game.start=blocks, or several values, separated by commas; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Trained agents for the variants that are named by a game id, in the same order
    #[arg(long = "agent", value_name = "shipped|RUN-OR-CHECKPOINT", num_args = 1..)]
    agents: Vec<PathBuf>,
    /// Use these agents as the levels of all variants, the weakest first
    #[arg(long, value_name = "AGENT", num_args = 2.., conflicts_with = "agents")]
    levels: Vec<OsString>,
    /// Number of games of each level against itself, and against the level below
    #[arg(long, value_name = "N", default_value_t = 100)]
    games: usize,
    /// Maximum number of games of a level against itself; experts play on until the advantage is known
    #[arg(long, value_name = "N", default_value_t = 1000)]
    most_games: usize,
    /// How far the first player's score may be from 50 of 100 points for the game to count as fair
    #[arg(long, value_name = "POINTS", default_value_t = 3.0)]
    within: f64,
    /// Simulations per action of trained agents, in ascending order. Each number makes a level of the last generation;
    /// a single number also makes a level with four times as many simulations
    #[arg(long, value_name = "N,...", default_value = "50", value_delimiter = ',')]
    simulations: Vec<usize>,
    /// Number of generations of a run to use as levels, spread evenly from the first to the last
    #[arg(long, value_name = "N", default_value_t = GENERATIONS)]
    generations: usize,
    /// Train an agent for this many minutes for each variant without one, in runs/balance/VARIANT; after an
    /// interruption, the same command resumes the training
    #[cfg(feature = "train")]
    #[arg(long, value_name = "MINUTES", conflicts_with = "levels")]
    train_minutes: Option<f64>,
    /// Instead of openings that cost nothing, draw the actions of the first N plies of each game in proportion to their
    /// visits
    #[arg(long, value_name = "N")]
    varied_plies: Option<usize>,
    /// Number of legal actions that the solver may examine before the games, about 5 million per second; 0 to skip the
    /// solver
    #[arg(long, value_name = "N", default_value_t = USUAL)]
    solver: u64,
    /// Random seed, which determines every game
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// File to write [default: GAME-balance.html, with the id of the game]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Print the numbers as JSON instead of writing a page
    #[arg(long)]
    json: bool,
    /// Worker threads; the result does not depend on them [default: all cores]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    #[command(flatten)]
    device: Device,
}

/// A game with its options and its agent.
struct MeasuredVariant {
    id: String,
    options: Settings,
    name: String,
    agent: Option<PathBuf>,
}

impl BalanceCommand {
    /// Returns the command that writes the page of this game to `out`, with defaults for everything else.
    pub(super) fn usual(game: &Path, out: &Path) -> BalanceCommand {
        let command = BalanceCommand::augment_args(Command::new("balance"));
        let words: [&OsStr; 5] =
            ["balance".as_ref(), "--out".as_ref(), out.as_ref(), "--".as_ref(), game.as_ref()];
        BalanceCommand::from_arg_matches(&command.get_matches_from(words)).expect("these are its flags")
    }

    /// Measures every variant, and writes the page.
    pub(super) fn run(self, games: Catalog) -> Result<()> {
        let numbers =
            self.simulations.iter().map(|number| ("simulations", *number, MAX_SIMULATIONS / LONGER));
        let others = [
            ("games", self.games, MOST_GAMES),
            ("most-games", self.most_games, MOST_GAMES),
            ("generations", self.generations, MOST_GENERATIONS),
        ];
        for (name, value, most) in numbers.chain(others) {
            if !(1..=most).contains(&value) {
                return Err(Error::Config(format!("--{name} {value}: must be from 1 to {most}")));
            }
        }
        if !self.simulations.is_sorted_by(|a, b| a < b) {
            let listed: Vec<String> = self.simulations.iter().map(usize::to_string).collect();
            return Err(Error::Config(format!(
                "--simulations {}: the numbers must be in ascending order",
                listed.join(",")
            )));
        }
        #[cfg(feature = "train")]
        if let Some(minutes) = self.train_minutes.filter(|minutes| !(0.1..=10_000.0).contains(minutes)) {
            return Err(Error::Config(format!("--train-minutes {minutes}: must be from 0.1 to 10000")));
        }
        if !(0.0..=50.0).contains(&self.within) {
            return Err(Error::Config(format!("--within {}: must be from 0 to 50 points", self.within)));
        }
        use_threads(self.threads)?;
        #[cfg_attr(not(feature = "train"), expect(unused_mut))]
        let mut variants = self.variants(games)?;
        let first = games.open(&variants[0].id, &variants[0].options)?;
        tell_slow_rules(&first);
        let about = first.game.about();
        let usual = || PathBuf::from(format!("{}-{PAGE}", variants[0].id));
        let out = self.out.clone().unwrap_or_else(usual);
        if !self.json {
            let names: Vec<&str> = variants.iter().map(|variant| &*variant.name).collect();
            refuse_other_pages(&out, &unmeasured(&about.title, &names))?;
        }
        // if something cannot be measured, the command fails now, not after an hour of games
        for variant in &variants {
            self.loaded(&games.open(&variant.id, &variant.options)?, variant)?;
        }
        catch_interrupts();
        #[cfg(feature = "train")]
        if let Some(minutes) = self.train_minutes {
            self.train(&mut variants, minutes, games)?;
        }
        let mut measured = Vec::new();
        for variant in &variants {
            measured.push(self.measured(&games.open(&variant.id, &variant.options)?, variant)?);
        }
        if self.json {
            let numbers: Vec<_> =
                measured.iter().map(|one| json!({"name": one.name, "balance": one.balance})).collect();
            return print(json!(numbers));
        }
        if let Some(short) = in_short(&measured) {
            print(paragraph(&short))?;
        }
        for one in &measured {
            let name = if measured.len() > 1 { format!("{}: ", one.name) } else { String::new() };
            answer(&one.balance).map_or(Ok(()), |answer| print(paragraph(&format!("{name}{answer}"))))?;
        }
        write_page(&out, &page(&about.title, &about.byline(), &measured))
    }

    fn measured(&self, rules: &Opened, variant: &MeasuredVariant) -> Result<Measured> {
        let levels = self.loaded(rules, variant)?;
        let BalanceCommand { games, varied_plies, seed, solver, .. } = *self;
        let (most, within) = (self.most_games, self.within / 100.0);
        let plan = Plan { games, most, within, varied_plies, solver, seed };
        let counters: Mutex<Option<(BalanceProgress, Counter)>> = Mutex::default();
        let tick = |progress: BalanceProgress| {
            let mut current = counters.lock().expect("nobody panicked");
            let fits = |(before, _): &(BalanceProgress, _)| {
                (before.what, before.all) == (progress.what, progress.all)
            };
            if !current.as_ref().is_some_and(fits) {
                // the old bar disappears before a new one is drawn
                *current = None;
                *current = Some((progress, Counter::new(progress.all as u64, progress.what)));
            }
            let (_, counter) = current.as_ref().expect("there is one now");
            counter.show(progress.done as u64, &format!(", {}", variant.name));
            !interrupted()
        };
        let balance = measure(rules, &levels, &plan, &tick)?;
        drop(counters);
        Ok(Measured::new(rules, variant.name.clone(), balance))
    }

    /// Trains an agent for each variant without one. Each agent begins with the weights of the previous agent, if they
    /// fit.
    #[cfg(feature = "train")]
    fn train(&self, variants: &mut [MeasuredVariant], minutes: f64, games: Catalog) -> Result<()> {
        let mut without = Vec::new();
        for variant in variants.iter_mut() {
            if Self::agent(&games.open(&variant.id, &variant.options)?, variant).is_none() {
                without.push(variant);
            }
        }
        if without.is_empty() {
            super::note("every variant already has an agent, so no agent is trained");
            return Ok(());
        }
        let folder = |name: &str| {
            let plain = |letter: char| {
                if letter.is_ascii_alphanumeric() || "-_.=".contains(letter) { letter } else { '-' }
            };
            Path::new(checkpoint::RUNS).join("balance").join(name.chars().map(plain).collect::<String>())
        };
        super::note(format!(
            "training {} for about {minutes} min each: {}",
            counted(without.len(), "agent", "agents"),
            without
                .iter()
                .map(|variant| folder(&variant.name).display().to_string())
                .collect::<Vec<_>>()
                .join(", ")
        ));
        let mut from: Option<PathBuf> = None;
        for variant in without {
            let run = folder(&variant.name);
            let sets = variant.options.iter().map(|(key, value)| format!("game.{key}={value}")).collect();
            train_within(
                &WantedAgent { id: &variant.id, sets, folder: &run, from: from.as_deref(), minutes },
                games,
            )?;
            if interrupted() {
                return Err(Error::Interrupted);
            }
            variant.agent = Some(run.clone());
            from = Some(run);
        }
        Ok(())
    }

    /// Returns the variants, each with its agent.
    fn variants(&self, games: Catalog) -> Result<Vec<MeasuredVariant>> {
        let mut variants = Vec::new();
        for word in std::iter::once(&self.game).chain(&self.compare) {
            let (id, own, agent) = named(word, games)?;
            for sets in expanded(&self.set) {
                let mut options = own.clone();
                options.extend(game_settings(&sets)?);
                let name = std::iter::once(id.clone()).chain(sets).collect::<Vec<_>>().join(" ");
                let agent = agent.clone().map(PathBuf::from);
                variants.push(MeasuredVariant { id: id.clone(), options, name, agent });
            }
        }
        let is_alone = variants.len() == 1;
        let mut without: Vec<_> = variants.iter_mut().filter(|variant| variant.agent.is_none()).collect();
        if self.agents.len() > without.len() {
            let agents = counted(self.agents.len(), "agent", "agents");
            return Err(Error::Config(match without.len() {
                0 => format!(
                    "--agent: {agents} given, but {} in place of GAME is already the agent; omit --agent, or name the \
                     game by its id",
                    self.game
                ),
                count => format!(
                    "--agent: {agents} given for {} without an agent: {}",
                    counted(count, "variant", "variants"),
                    without.iter().map(|variant| &*variant.name).collect::<Vec<_>>().join(", ")
                ),
            }));
        }
        for (index, variant) in without.iter_mut().enumerate() {
            let usual = Path::new(checkpoint::RUNS).join(&variant.id);
            let is_usual = !is_alone && variant.options.is_empty() && run::is_run(&usual);
            variant.agent = self.agents.get(index).cloned().or(is_usual.then_some(usual));
        }
        Ok(variants)
    }

    /// Loads the levels of a variant.
    fn loaded(&self, rules: &Opened, variant: &MeasuredVariant) -> Result<Vec<Level>> {
        let processor = self.device.processor()?;
        let load = |(name, text): (String, OsString)| {
            let spec = AgentSpec::parse(&text)?;
            let contestant = Contestant::on(rules, &spec, &processor)?;
            let is_trained = matches!(spec.searching(), AgentSpec::Trained(..) | AgentSpec::Shipped(..));
            Ok(Level { name, is_expert: is_trained && contestant.searches(), contestant })
        };
        let mut levels = self.levels(rules, variant)?;
        if self.levels.is_empty() && is_at_hand(&rules.game) {
            levels.push(("perfect play".into(), "perfect".into()));
        }
        levels.into_iter().map(load).collect()
    }

    /// Returns the agent from which the levels are made: the variant's own agent or the shipped agent, but never a
    /// shipped agent that is perfect play.
    fn agent(rules: &Opened, variant: &MeasuredVariant) -> Option<PathBuf> {
        let named =
            variant.agent.clone().filter(|agent| !(is_shipped(agent.as_os_str()) && is_proved(rules)));
        named.or_else(|| shipped_agent(rules).ok().map(|_| SHIPPED.into()))
    }

    /// Returns the names of a variant's levels, each with the text that specifies the agent.
    fn levels(&self, rules: &Opened, variant: &MeasuredVariant) -> Result<Vec<(String, OsString)>> {
        if !self.levels.is_empty() {
            return Ok(self
                .levels
                .iter()
                .map(|text| (text.to_string_lossy().into_owned(), text.clone()))
                .collect());
        }
        let named = |text: String| (text.clone(), OsString::from(text));
        let rollouts = |numbers: &[usize]| {
            numbers.iter().map(|number| named(format!("rollout:{number}"))).collect::<Vec<_>>()
        };
        let Some(agent) = &Self::agent(rules, variant) else { return Ok(rollouts(&UNTRAINED)) };
        let mut levels = rollouts(&BEGINNERS);
        let has_generations = !is_shipped(agent.as_os_str()) && run::is_run(agent);
        let all = if has_generations { checkpoint::list(agent)? } else { Vec::new() };
        let (usual, more) = (self.simulations[0], &self.simulations[1..]);
        let mut players: Vec<(&Path, usize)> = match all.len() {
            0 | 1 => fewer(usual).into_iter().map(|simulations| (agent.as_path(), simulations)).collect(),
            count => spread(count, self.generations).into_iter().map(|at| (&*all[at], usual)).collect(),
        };
        let longer = if more.is_empty() { &[usual * LONGER] } else { more };
        let strongest = all.last().unwrap_or(agent);
        players.extend(longer.iter().map(|simulations| (&**strongest, *simulations)));
        levels.extend(players.into_iter().map(|(path, simulations)| {
            let searching = counted(simulations, "simulation", "simulations");
            let name = match all.len() {
                0 | 1 => searching,
                _ => format!("generation {}, {searching}", generation_of(path)),
            };
            let mut text = path.as_os_str().to_os_string();
            text.push(format!(":{simulations}"));
            (name, text)
        }));
        Ok(levels)
    }
}

/// Returns increasing numbers of simulations, the last of which is `simulations`.
fn fewer(simulations: usize) -> Vec<usize> {
    let mut numbers = vec![(simulations / 12).max(1), (simulations / 3).max(2).min(simulations), simulations];
    numbers.dedup();
    numbers
}

/// Returns about `many` of the numbers from 0 to `all` - 1, evenly spread and including the first and the last. A
/// single number is the last one.
fn spread(all: usize, many: usize) -> Vec<usize> {
    let steps = many.min(all).saturating_sub(1);
    match steps {
        0 => vec![all - 1],
        _ => (0..=steps).map(|step| step * (all - 1) / steps).collect(),
    }
}

/// Returns the generation of a checkpoint as text.
fn generation_of(checkpoint: &Path) -> String {
    store::generation_of(checkpoint).map_or_else(String::new, |number| number.to_string())
}

/// Expands lists of values into one list of settings for each combination of values.
fn expanded(sets: &[String]) -> Vec<Vec<String>> {
    let mut all = vec![Vec::new()];
    for set in sets {
        let (key, values) = set.split_once('=').unwrap_or((set, ""));
        let values: Vec<String> = if values.starts_with(['[', '{', '"', '\'']) {
            vec![set.clone()]
        } else {
            values.split(',').map(|value| format!("{key}={value}")).collect()
        };
        all = all
            .iter()
            .flat_map(|before| values.iter().map(|value| [&before[..], std::slice::from_ref(value)].concat()))
            .collect();
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generations_are_spread_evenly() {
        assert_eq!(spread(8, 4), [0, 2, 4, 7]);
        assert_eq!(spread(34, 4), [0, 11, 22, 33]);
        assert_eq!([spread(3, 4), spread(3, 100), spread(3, 3)], [[0, 1, 2], [0, 1, 2], [0, 1, 2]]);
        assert_eq!([spread(5, 2), spread(2, 2)], [[0, 4], [0, 1]]);
        assert_eq!(spread(5, 1), [4]);
    }

    #[test]
    fn levels_ascend() {
        assert_eq!(
            [fewer(50), fewer(6), fewer(2), fewer(1)],
            [vec![4, 16, 50], vec![1, 2, 6], vec![1, 2], vec![1]]
        );
    }

    #[test]
    fn options_with_several_values_are_variants() {
        let sets = |texts: &[&str]| expanded(&texts.iter().map(|text| text.to_string()).collect::<Vec<_>>());
        assert_eq!(sets(&[]), vec![Vec::<String>::new()]);
        assert_eq!(sets(&["game.a=1,2", "game.b=x"]), [["game.a=1", "game.b=x"], ["game.a=2", "game.b=x"]]);
        assert_eq!(sets(&["game.a=[1,2]"]), [["game.a=[1,2]"]]);
    }
}

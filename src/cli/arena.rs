//! `petteia arena`: measures which of two agents is stronger.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;

use super::counter::Counter;
use super::flags::Device;
use super::progress::{fault_line, openings_decided, sprt_standing, sprt_verdict, verdict};
use super::signals::stop_flag;
use super::subject::Subject;
use super::{AGENTS, GameArgs, catch_interrupts, interrupted, note, own_command, print, use_threads};
use crate::any::{AnyGame, Opened};
use crate::arena::book::OpeningBook;
use crate::arena::contestant::Contestant;
use crate::arena::external::{ExternalProgram, Terms};
use crate::arena::journal::Journal;
use crate::arena::spec::AgentSpec;
use crate::arena::sprt::Sprt;
use crate::arena::{Match, MatchResult};
use crate::config::limits::MAX_MATCH_GAMES;
use crate::error::{Error, Result};
use crate::game::Game;
use crate::net::device::Processor;

/// Play a match between two agents: which is stronger?
#[derive(Args)]
#[command(after_help = format!("\
{AGENTS}
  ugi:COMMAND    another program for the same game that speaks UGI; it loses a
                 game in which it crashes, is too slow, gives an illegal answer,
                 or writes too much

If GAME is a run, the run is the first agent and plays its own game. If only one agent is given, its \
opponent is `shipped`, or rollout:400 in a game without a shipped agent.

Each opening is played twice, with sides swapped; Elo and its bounds are computed from the scores of the pairs. After \
a clean sweep, only the lower bound is known and printed (after a clean defeat, only the upper bound); bounds are also \
omitted if there are too few games to compute them. Deterministic agents repeat games. \"counted as 19\" means that \
the games carry as much information as 19 different games; the bounds and the test use this number. Random openings \
can decide short games; use --opening-plies 0 for very short games.

--sprt 0,10 ends the match as soon as it is clear whether the difference is 0 (H0) \
or 10 Elo (H1), by a generalized sequential probability ratio test on the pairs. \
If the test ends a match early, the Elo estimate is slightly too extreme.

Ctrl-C, SIGTERM, and SIGHUP end the match: with --save, the finished pairs are kept \
(exit code 0); without it, the command fails (exit code 1). External programs are \
always terminated together with the arena.

Examples:
  petteia arena runs/phage
  petteia arena phage runs/phage:100 rollout:400 --games 200
  petteia arena phage runs/a runs/b --sprt 0,20 --games 4000 --save a-b.jsonl
  petteia arena caissa runs/caissa 'ugi:./rival' --go 'movetime 50'
  petteia arena tic-tac-toe runs/tic-tac-toe perfect --opening-plies 0"))]
pub(super) struct Arena {
    #[command(flatten)]
    pub game: GameArgs,
    /// The agent whose results are reported, see below
    #[arg(value_name = "AGENT")]
    first: Option<OsString>,
    /// The opponent of the first agent
    #[arg(value_name = "AGENT")]
    second: Option<OsString>,
    /// Number of games, which must be even; with --sprt, the maximum
    #[arg(long, value_name = "N", default_value_t = 100)]
    games: usize,
    #[command(flatten)]
    openings: OpeningArgs,
    /// Test two Elo differences against each other and stop when one is accepted
    #[arg(long, value_name = "ELO0,ELO1", allow_hyphen_values = true)]
    sprt: Option<String>,
    /// Probability that the test accepts ELO1 although ELO0 is true
    #[arg(long, value_name = "P", default_value_t = 0.05, requires = "sprt")]
    alpha: f64,
    /// Probability that the test accepts ELO0 although ELO1 is true
    #[arg(long, value_name = "P", default_value_t = 0.05, requires = "sprt")]
    beta: f64,
    #[command(flatten)]
    playing: PlayingArgs,
}

/// How pairs of games begin.
#[derive(Args)]
pub(super) struct OpeningArgs {
    /// Random seed of openings and agents
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Random actions at the start of each pair of games
    #[arg(long, value_name = "N", default_value_t = 4)]
    pub opening_plies: usize,
    /// Take openings from this file instead of random actions. Each line has actions, a position, or `POSITION moves
    /// ACTIONS`; both games of a pair begin with the same opening
    #[arg(long, value_name = "FILE", conflicts_with = "opening_plies")]
    pub openings: Option<PathBuf>,
}

impl OpeningArgs {
    /// Reads the openings of the file, if there is one.
    pub(super) fn book(&self, rules: &Opened) -> Result<Option<OpeningBook>> {
        self.openings.as_ref().map(|path| OpeningBook::read(path, &rules.game)).transpose()
    }
}

/// How games are played, kept, and shown.
#[derive(Args)]
pub(super) struct PlayingArgs {
    /// Save the games in this file, one JSON line per pair; the same command resumes from this file
    #[arg(long, value_name = "FILE")]
    pub save: Option<PathBuf>,
    /// Search limit per action for programs (ugi:COMMAND): movetime MILLISECONDS, nodes N, or depth N
    #[arg(long, value_name = "LIMIT", default_value = "movetime 100")]
    go: String,
    /// How long to wait for a program's answer, in addition to its movetime
    #[arg(long, value_name = "SECONDS", default_value_t = 10.0)]
    engine_timeout: f64,
    /// Append the programs' standard error to this file
    #[arg(long, value_name = "FILE")]
    engine_log: Option<PathBuf>,
    /// Worker threads; the result does not depend on them [default: all cores]
    #[arg(long, value_name = "N")]
    pub threads: Option<usize>,
    #[command(flatten)]
    pub device: Device,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

impl PlayingArgs {
    /// Returns the terms under which external programs play until a signal ends the command.
    pub(super) fn terms(&self) -> Result<Arc<Terms>> {
        let terms = Terms::new(&self.go, self.engine_timeout, self.engine_log.as_deref())?;
        Ok(Arc::new(terms.until(stop_flag())))
    }

    /// Ends the command after it has shown the result. If the games are not `complete`, the command was interrupted,
    /// and this function says how to resume it.
    pub(super) fn end(&self, complete: bool, what: &str) -> Result<()> {
        match &self.save {
            _ if complete => Ok(()),
            // a program that reads JSON could mistake this line for the result
            Some(path) if !self.json => print(format_args!(
                "interrupted; the finished pairs are in {}; this command resumes the {what}: {}",
                path.display(),
                own_command()
            )),
            _ => Err(Error::Interrupted),
        }
    }
}

/// Loads an agent. External programs play under `terms`.
pub(super) fn load(
    rules: &Opened,
    spec: &AgentSpec,
    terms: &Arc<Terms>,
    processor: &Processor,
) -> Result<Contestant<AnyGame>> {
    match spec {
        AgentSpec::External(command) => {
            Ok(Contestant::external(&rules.game, ExternalProgram::start(command, terms)?))
        }
        spec => Contestant::on(rules, spec, processor),
    }
}

impl Arena {
    /// Plays the match.
    pub(super) fn on(self, subject: Subject) -> Result<()> {
        let names = self.agents(&subject)?;
        let rules = subject.rules;
        let game = &rules.game;
        let plan = self.plan(&rules)?;
        catch_interrupts();
        let terms = self.playing.terms()?;
        use_threads(self.playing.threads)?;
        let processor = self.playing.device.processor()?;
        // if there are more threads than games, each game gets an equal number of them for parallel searches
        let threads = (rayon::current_num_threads() / plan.games).max(1);
        let load = |text: &OsStr| {
            load(&rules, &AgentSpec::parse(text)?, &terms, &processor)
                .map(|loaded| loaded.with_threads(threads))
        };
        let agents = [&load(&names[0])?, &load(&names[1])?];
        let open = |path| Journal::open(path, &rules, &plan, agents);
        let journal = self.playing.save.as_deref().map(open).transpose()?;
        let counter = Counter::of_match(game, self.games, plan.opening_plies);
        let played = game.play_while(&plan, agents, journal, &|progress| {
            let test = progress.sprt.map(|sprt| format!(", {}", sprt_standing(&sprt)));
            counter.show_match(progress, &test.unwrap_or_default());
            !interrupted()
        });
        drop(counter);
        let (result, complete) = played?;
        self.show(&names, &result)?;
        self.playing.end(complete, "match")
    }
}

impl Arena {
    /// Returns the two agents. A run given in place of the game is the first agent. If no opponent is named, the
    /// default opponent plays.
    fn agents(&self, subject: &Subject) -> Result<[OsString; 2]> {
        let named = [&subject.agent, &self.first, &self.second].into_iter().flatten().cloned();
        match &named.collect::<Vec<_>>()[..] {
            [] => Err(Error::Config(
                "name two agents, or one agent to play against the default opponent, e.g. `petteia arena GAME RUN`"
                    .into(),
            )),
            [agent] => {
                let (opponent, remark) = subject.shipped_or_usual("the opponent");
                note(remark);
                Ok([agent.clone(), opponent])
            }
            [first, second] => Ok([first.clone(), second.clone()]),
            [run, ..] => Err(Error::Config(format!(
                "{} in place of GAME is the first agent, so only one more can be named; to match two other agents, \
                 name the game {}",
                run.display(),
                subject.rules.identity.id
            ))),
        }
    }

    /// Returns the requested match.
    fn plan(&self, rules: &Opened) -> Result<Match> {
        if !(2..=MAX_MATCH_GAMES).contains(&self.games) || !self.games.is_multiple_of(2) {
            return Err(Error::Config(format!(
                "--games {}: must be an even number from 2 to {MAX_MATCH_GAMES}; each opening is played twice",
                self.games
            )));
        }
        let OpeningArgs { seed, opening_plies, .. } = self.openings;
        let most = rules.game.max_plies();
        if opening_plies >= most {
            return Err(Error::Config(format!(
                "--opening-plies {opening_plies}: no game of {} is longer than {most} actions",
                rules.identity.id
            )));
        }
        let sprt = self.sprt.as_deref().map(|text| self.test(text)).transpose()?;
        Ok(Match { games: self.games, seed, opening_plies, book: self.openings.book(rules)?, sprt })
    }

    fn test(&self, text: &str) -> Result<Sprt> {
        let number = |text: &str| text.trim().parse::<f64>().ok();
        let (elo0, elo1) =
            text.split_once(',').and_then(|(elo0, elo1)| Some((number(elo0)?, number(elo1)?))).ok_or_else(
                || Error::Config(format!("--sprt {text}: give two Elo differences, e.g. --sprt 0,10")),
            )?;
        Sprt::new(elo0, elo1, self.alpha, self.beta)
    }

    /// Swaps the agents.
    pub(super) fn swapped(self) -> Arena {
        Arena { first: self.second, second: self.first, ..self }
    }

    fn show(&self, names: &[OsString; 2], result: &MatchResult) -> Result<()> {
        if self.playing.json {
            return print(serde_json::to_string(result).expect("results are valid JSON"));
        }
        let [first, second] = names;
        print(format_args!("{} against {}: {}", first.display(), second.display(), verdict(result)))?;
        if let Some(sprt) = &result.sprt {
            print(sprt_verdict(sprt, result.games))?;
        }
        if let Some(hint) = openings_decided(result).filter(|_| self.openings.opening_plies > 0) {
            print(hint)?;
        }
        let agents = names.iter().zip(&result.faults);
        agents
            .filter(|(_, faults)| faults.total() > 0)
            .try_for_each(|(agent, faults)| print(fault_line(&agent.to_string_lossy(), faults)))
    }
}

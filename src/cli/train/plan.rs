//! The run that `petteia train` is asked for: its settings, its folder, and what must be made before it is trained.
//!
//! Input: the flags. The settings come from a config, from the folder of the run itself, or from the run whose weights
//! it begins with.

use std::path::{Path, PathBuf};

use super::Train;
use super::source::ConfigSource;
use crate::any::Opened;
use crate::checkpoint::RUNS;
use crate::checkpoint::lineage::{Change, Lineage};
use crate::checkpoint::{self, Checkpoint};
use crate::cli::screen::Screen;
use crate::cli::subject::text_rules;
use crate::cli::text::counted;
use crate::config::{Config, GameConfig, NetConfig};
use crate::error::{Error, Input, Result};
use crate::options::TEXT;
use crate::registry::Catalog;
use crate::run::extend::{Extension, check_extension, extend};
use crate::run::fork::Fork;
use crate::run::start::{Games, Start, rate_after};
use crate::run::{self, GameNature, Observer, SETTINGS};
use crate::storage;

/// A planned training: its settings and its folder.
#[derive(Clone)]
pub(super) struct Plan {
    /// The settings.
    pub config: Config,
    /// The text of the settings, for messages.
    pub text: String,
    /// The origin of the settings, for messages.
    pub place: String,
    /// The run's folder.
    pub folder: PathBuf,
    /// Why this config or this run was chosen, if that is not obvious.
    pub note: Option<String>,
    /// Settings that override the text.
    sets: Vec<String>,
    /// Whether a config begins a new run; the settings that it does not name then follow from the game.
    is_new: bool,
    before: Before,
}

/// A step to be taken before the run is trained.
#[derive(Clone)]
enum Before {
    Nothing,
    /// The run in the folder may be extended.
    Extend,
    Start {
        source: PathBuf,
        with_window: bool,
        records: Option<PathBuf>,
        rate: StartRate,
    },
    Fork {
        source: PathBuf,
        generation: Option<usize>,
        accepts_missing: bool,
    },
}

/// The learning rate of a run that begins with weights.
#[derive(Clone, Copy)]
enum StartRate {
    /// The rate in the settings, because the user has named it or the weights are new.
    Full,
    /// The rate of an existing run.
    Kept(f64),
    /// A lower rate, because the weights are already trained.
    Gentle { full: f64, rate: f64 },
}

impl Before {
    /// Changes the settings that depend on this step.
    fn change(&self, config: &mut Config) {
        if let Before::Start { rate, .. } = self {
            // the network plays from the first generation on
            config.selfplay.bootstrap_games = 0;
            if let StartRate::Kept(rate) | StartRate::Gentle { rate, .. } = rate {
                config.train.learning_rate = *rate;
            }
        }
    }
}

impl StartRate {
    /// Returns the rate of a run in `folder` with these settings that begins with the weights at `source`.
    fn of(source: &Path, folder: &Path, config: &Config, sets: &[String]) -> Result<StartRate> {
        let is_named = |set: &String| set.split_once('=').is_some_and(|(key, _)| key.trim() == NAME_OF_RATE);
        if sets.iter().any(is_named) {
            return Ok(StartRate::Full);
        }
        if run::has_run(folder)? {
            return Ok(StartRate::Kept(run::settings_of(folder)?.train.learning_rate));
        }
        let full = config.train.learning_rate;
        // unreadable weights are refused later, with the reason
        let rate = Checkpoint::find(source).ok().and_then(|source| rate_after(&source, config));
        Ok(rate.filter(|rate| *rate < full).map_or(StartRate::Full, |rate| StartRate::Gentle { full, rate }))
    }
}

/// The setting of the highest learning rate.
const NAME_OF_RATE: &str = "train.learning_rate";

/// Returns the settings that put the text of a game into a config that only names the game: a file `NAME.game`,
/// relative to the config, or a text that comes with the program.
fn rules_of(game: &GameConfig, config: Option<&Path>, games: Catalog) -> Result<Vec<String>> {
    if game.options.contains_key(TEXT) {
        return Ok(Vec::new());
    }
    let folder = config.and_then(Path::parent).unwrap_or(Path::new(""));
    let (id, text) = match (text_rules(&folder.join(&game.id))?, games.text(&game.id)) {
        (Some((id, mut options)), _) => (id, options.remove(TEXT).unwrap_or("".into())),
        (None, Some(text)) if !games.ids().contains(&game.id) => (game.id.clone(), text.into()),
        _ => return Ok(Vec::new()),
    };
    Ok(vec![format!("game.id={id}"), format!("game.{TEXT}={text}")])
}

impl Plan {
    /// Makes the plan that the flags ask for.
    pub(super) fn of(flags: &Train, games: Catalog) -> Result<Plan> {
        let sets = flags.generations.map(|number| format!("train.generations={number}"));
        let device = flags.device.map(|device| format!("net.device={}", device.kind()));
        let sets: Vec<String> = flags.set.iter().cloned().chain(sets).chain(device).collect();
        if let Some(source) = &flags.fork {
            return Plan::fork(flags, source, &sets);
        }
        if let Some(source) = &flags.from {
            return Plan::begin(flags, source, &sets, games);
        }
        let Some(word) = &flags.config else {
            let folder = flags.run.clone().expect("clap asks for a config or a folder");
            return Plan::resume(folder, &sets, None);
        };
        if let Some(folder) =
            run::run_of(word).filter(|folder| flags.run.as_ref().is_none_or(|run| run == folder))
        {
            let (path, place) = (word.display(), folder.display());
            let note = format!("{path} belongs to the run in {place}, so that run is resumed");
            return Plan::resume(folder, &sets, Some(note));
        }
        let source = ConfigSource::of(word, games)?;
        let before = if flags.generations.is_some() { Before::Extend } else { Before::Nothing };
        let folder = flags.run.clone().unwrap_or_else(|| Path::new(RUNS).join(&source.name));
        let config = parsed(&source, &folder, &sets)?;
        let rules = rules_of(&config.game, source.file.as_deref(), games)?;
        let (sets, config) = if rules.is_empty() {
            (sets, config)
        } else {
            let sets = [sets, rules].concat();
            let config = parsed(&source, &folder, &sets)?;
            (sets, config)
        };
        let is_new = source.is_new_in(&folder)?;
        let ConfigSource { text, place, note, .. } = source;
        Ok(Plan { config, text, place, folder, note, sets, is_new, before })
    }

    /// Explains the learning rate, if it is not the one in the settings.
    pub(super) fn gentle(&self) -> Option<String> {
        match &self.before {
            Before::Start { rate: StartRate::Gentle { full, rate }, .. } => Some(format!(
                "the weights are already trained, so {NAME_OF_RATE} = {rate} instead of {full}, which would make the \
                 network forget at first; --set {NAME_OF_RATE}={full} uses the higher rate"
            )),
            _ => None,
        }
    }

    /// Replaces the settings.
    pub(super) fn with(self, config: Config) -> Plan {
        Plan { config, ..self }
    }

    /// Returns the settings, and a line that lists those derived from the game because a new run's config does not name
    /// them. An existing run keeps its own settings, and a config of format 1 has no derived settings.
    pub(super) fn suited(&self, rules: &Opened) -> Result<(Config, Option<String>)> {
        if !self.is_new || self.config.format() == 1 {
            return Ok((self.config.clone(), None));
        }
        let (below, GameNature { actions, plies, proven }) = self.below(rules)?;
        let mut config = below.parse_over(&self.place, &self.text, &self.sets)?;
        self.before.change(&mut config);
        let derived = self.config.differences(&config);
        let said = |of_network: bool| {
            let some = derived.iter().filter(|[key, ..]| key.starts_with("net.") == of_network);
            some.map(|[key, _, value]| format!("{key} = {value}")).collect::<Vec<_>>().join(", ")
        };
        let (of_game, of_network) = (said(false), said(true));
        let of_game = (!of_game.is_empty()).then(|| {
            format!(
                "games have {plies:.0} plies with {actions:.0} legal actions on average, and {:.0} % of positions can \
                 be proved with a few nodes, so {of_game}",
                100.0 * proven
            )
        });
        let of_network = (!of_network.is_empty()).then(|| match self.before {
            Before::Start { .. } => format!("the weights are of a network with {of_network}"),
            _ => format!("the run has more than {} generations, so {of_network}", run::SHORT),
        });
        let lines: Vec<String> = [of_game, of_network].into_iter().flatten().collect();
        Ok((config, (!lines.is_empty()).then(|| lines.join("\n"))))
    }

    /// Returns the settings that apply where the config does not set them: they follow from the game, from the length
    /// of the run, and from the weights that it begins with.
    fn below(&self, rules: &Opened) -> Result<(Config, GameNature)> {
        let (mut below, nature) = run::suited_in(self.config.format(), self.config.train.generations, rules);
        if let Before::Start { source, .. } = &self.before {
            let NetConfig {
                filters, blocks, value_planes, value_hidden, value_pooling, block_pooling, ..
            } = Checkpoint::find(source)?.manifest.net;
            let own = below.net;
            below.net = NetConfig {
                filters,
                blocks,
                value_planes,
                value_hidden,
                value_pooling,
                block_pooling,
                ..own
            };
        }
        Ok((below, nature))
    }

    /// Plans to resume the run in `folder`, with its own settings.
    fn resume(folder: PathBuf, sets: &[String], note: Option<String>) -> Result<Plan> {
        let (place, text) = own_settings(&folder)?;
        let config = Config::parse_kept(&place, &text, sets)?;
        Ok(Plan {
            config,
            text,
            place,
            folder,
            note,
            sets: sets.to_vec(),
            is_new: false,
            before: Before::Extend,
        })
    }

    fn fork(flags: &Train, source: &Path, sets: &[String]) -> Result<Plan> {
        let (place, text) = own_settings(source)?;
        let before = Before::Fork {
            source: source.to_path_buf(),
            generation: flags.at,
            accepts_missing: flags.accept_missing,
        };
        let Some(folder) = flags.run.clone().or_else(|| fork_folder(source)) else {
            let error = "--fork: name the folder of the new run with --run DIR";
            return Err(Error::Config(error.into()));
        };
        let config = Config::parse_kept(&place, &text, sets)?;
        let (sets, note) = (sets.to_vec(), None);
        Ok(Plan { config, text, place, folder, note, sets, is_new: false, before })
    }

    fn begin(flags: &Train, source: &Path, sets: &[String], games: Catalog) -> Result<Plan> {
        let own_config = flags.config.as_deref().map(|word| ConfigSource::of(word, games)).transpose()?;
        let folder = match (&flags.run, &own_config) {
            (Some(run), _) => run.clone(),
            (None, Some(config)) => Path::new(RUNS).join(&config.name),
            (None, None) => {
                let error = "--from without a CONFIG: name the folder of the new run with --run DIR";
                return Err(Error::Config(error.into()));
            }
        };
        let is_new = own_config.as_ref().map_or(Ok(false), |config| config.is_new_in(&folder))?;
        let (mut config, text, place, note) = match own_config {
            Some(own) => (parsed(&own, &folder, sets)?, own.text, own.place, own.note),
            None => {
                let checkpoint = Checkpoint::find(source)?;
                let (place, text) = (checkpoint.path.display().to_string(), checkpoint.manifest.config);
                (Config::parse_kept(&place, &text, sets)?, text, place, None)
            }
        };
        let before = Before::Start {
            source: source.to_path_buf(),
            with_window: flags.with_window,
            records: flags.with_records.clone(),
            rate: StartRate::of(source, &folder, &config, sets)?,
        };
        before.change(&mut config);
        Ok(Plan { config, text, place, folder, note, sets: sets.to_vec(), is_new, before })
    }

    /// Checks everything that could make training refuse the run, and returns the number of generations that are done.
    ///
    /// # Errors
    /// If the folder has a run with other settings or other files, or the run to begin with does not exist or does not
    /// fit.
    pub(super) fn done(&self, rules: &Opened) -> Result<usize> {
        let Plan { config, folder, .. } = self;
        let exists = run::has_run(folder)?;
        match &self.before {
            Before::Extend if exists => return check_extension(folder, config),
            Before::Start { source, .. } if exists => self.expect(Change::Started, source, None)?,
            Before::Fork { source, generation, .. } if exists => {
                self.expect(Change::Forked, source, *generation)?;
            }
            Before::Nothing | Before::Extend => {}
            Before::Start { source, with_window, records, .. } => {
                self.start(&Checkpoint::find(source)?, *with_window, records).check(rules)?;
            }
            Before::Fork { source, generation, accepts_missing } => {
                let fork = self.fork_of(source, *generation, *accepts_missing)?;
                return fork.check(rules).map(|_| fork.generation);
            }
        }
        run::check_folder(config, folder)?;
        newest(folder)
    }

    /// Returns the start of a run with the weights of a checkpoint.
    fn start<'a>(
        &'a self,
        source: &'a Checkpoint,
        with_window: bool,
        records: &'a Option<PathBuf>,
    ) -> Start<'a> {
        let games = match records {
            Some(path) => Games::Records(path),
            None if with_window => Games::Window,
            None => Games::Nothing,
        };
        Start { source, games, config: &self.config, folder: &self.folder }
    }

    /// Returns the copy of a run up to a generation, by default the newest.
    fn fork_of<'a>(
        &'a self,
        source: &'a Path,
        generation: Option<usize>,
        accepts_missing: bool,
    ) -> Result<Fork<'a>> {
        let generation = generation.map_or_else(|| newest(source), Ok)?;
        Ok(Fork { source, generation, config: &self.config, folder: &self.folder, accepts_missing })
    }

    /// Takes the step before training, unless an earlier session has taken it, and prints what was done.
    pub(super) fn prepare(&self, rules: &Opened, screen: &Screen) -> Result<()> {
        let Plan { config, folder, .. } = self;
        let exists = run::has_run(folder)?;
        let tick = &mut |done, all| {
            screen.copying(done, all);
            !screen.interrupted()
        };
        match &self.before {
            Before::Nothing => Ok(()),
            Before::Extend => {
                let extension =
                    if exists { extend(rules, folder, config, screen.accepts_missing())? } else { None };
                if let Some(extension) = &extension {
                    screen.say(&self.extended(extension));
                }
                Ok(())
            }
            Before::Start { source, .. } if exists => self.expect(Change::Started, source, None),
            Before::Fork { source, generation, .. } if exists => {
                self.expect(Change::Forked, source, *generation)
            }
            Before::Start { source, with_window, records, .. } => {
                let source = &Checkpoint::find(source)?;
                let new_layers = self.start(source, *with_window, records).make(rules, tick)?;
                let games = match records {
                    Some(records) => format!(" and the games of {}", records.display()),
                    None if *with_window => " and the window of its run".into(),
                    None => String::new(),
                };
                let game = &source.manifest.game.id;
                screen.say(&format!(
                    "{} begins with the weights of {}{}{}; they are generation 0",
                    folder.display(),
                    source.path.display(),
                    if *game == config.game.id { String::new() } else { format!(", trained for {game}") },
                    games
                ));
                if !new_layers.is_empty() {
                    screen.say(&format!("  layers with new weights: {}", new_layers.join(", ")));
                }
                Ok(())
            }
            Before::Fork { source, generation, accepts_missing } => {
                let fork = self.fork_of(source, *generation, *accepts_missing)?;
                fork.make(rules, tick)?;
                screen.say(&self.forked(source, fork.generation)?);
                Ok(())
            }
        }
    }

    /// Fails if the existing run was not forked or started in this way.
    fn expect(&self, change: Change, source: &Path, generation: Option<usize>) -> Result<()> {
        if Lineage::of(&self.folder)?.has(change, source, generation) {
            return Ok(());
        }
        let fault = match (change, generation) {
            (Change::Forked, Some(generation)) => {
                format!("is not a fork of {} at generation {generation}", source.display())
            }
            (Change::Forked, None) => format!("is not a fork of {}", source.display()),
            _ => format!("did not begin with the weights of {}", source.display()),
        };
        let error = format!("{} exists and {fault}; give another folder", self.folder.display());
        Err(Error::Config(error).about(Input::RunFolder))
    }

    /// Describes the changes of an extension.
    fn extended(&self, extension: &Extension) -> String {
        let Extension { done, generations: [before, now], learning_rates: [last, next, end], .. } = extension;
        let folder = self.folder.display();
        if before == now {
            return format!("{folder} continues with changed settings");
        }
        let rate = match (last == next, next == end) {
            (true, true) => String::new(),
            (true, false) => format!("; learning rate: from {next:.2e} to {end:.2e}"),
            _ => format!("; learning rate: from {next:.2e} (the last was {last:.2e}) to {end:.2e}"),
        };
        let generations = counted(*now, "generation", "generations");
        format!("{folder} now has {generations} instead of {before}, of which {done} are done{rate}")
    }

    fn forked(&self, source: &Path, generation: usize) -> Result<String> {
        let changes = run::settings_of(source)?.differences(&self.config);
        let changes: Vec<String> =
            changes.into_iter().map(|[key, there, here]| format!("{key} {there} -> {here}")).collect();
        let changes = if changes.is_empty() { "the same settings".into() } else { changes.join(", ") };
        Ok(format!(
            "{} is a copy of {} up to generation {generation}, with {changes}",
            self.folder.display(),
            source.display()
        ))
    }
}

/// Returns the newest generation of the run in `folder`; 0 if there is none yet.
fn newest(folder: &Path) -> Result<usize> {
    checkpoint::latest(folder).map(|newest| newest.map_or(0, |newest| newest.manifest.generation))
}

/// Returns the default folder of a fork: `runs/phage-fork` for `runs/phage`.
fn fork_folder(source: &Path) -> Option<PathBuf> {
    let mut name = source.file_name()?.to_os_string();
    name.push("-fork");
    Some(source.with_file_name(name))
}

/// Returns the settings of a config for the run in `folder`. An existing run keeps its own values of settings that the
/// config does not name.
fn parsed(source: &ConfigSource, folder: &Path, sets: &[String]) -> Result<Config> {
    let ConfigSource { place, text, .. } = source;
    if run::has_run(folder)? {
        return run::settings_of(folder)?.parse_over(place, text, sets);
    }
    match source.file.as_deref().and_then(run::run_of) {
        Some(_) => Config::parse_kept(place, text, sets),
        None => Config::parse(place, text, sets),
    }
}

/// Returns the path and the text of a run's settings.
fn own_settings(folder: &Path) -> Result<(String, String)> {
    run::settings_of(folder)?;
    let path = folder.join(SETTINGS);
    Ok((path.display().to_string(), storage::read_text(&path, "a config")?))
}

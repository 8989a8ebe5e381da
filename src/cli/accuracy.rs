//! `petteia accuracy`: measures how often agents err in positions whose value is known.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Value, json};

use super::counter::Counter;
use super::flags::Device;
use super::subject::{GameArgs, Subject};
use super::table::{Column, Table};
use super::text::terminal_width;
use super::{AGENTS, catch_interrupts, interrupted, note, print, use_threads};
use crate::any::{AnyGame, Opened};
use crate::arena::contestant::Contestant;
use crate::arena::levels::is_proved;
use crate::arena::spec::{AgentSpec, SHIPPED};
use crate::config::Precision;
use crate::config::limits::MAX_SIMULATIONS;
use crate::error::{Error, Result};
use crate::net::device::Processor;
use crate::registry::Catalog;
use crate::train::reliability::Bin;
use crate::truth::accuracy::{Accuracy, Budget, PLIES, Rate, Tally, measure};
use crate::truth::set::{self, Set};

/// Measure how often agents err in positions whose value is known.
#[derive(Args)]
#[command(after_help = format!("\
FILE is a set of solved positions. Petteia's sets are in the folder sets, and `petteia solve --out` makes more. A set \
can also be a text file in which each line is a JSON object, such as {{\"position\": \"4455\", \"value\": 1}}, or a \
position and a score, such as `4455 18`; a positive score means that the player to move wins. A position whose \
actions have no known values counts only in the columns sign and Brier. An error is an action that does not keep the \
value of the position: it turns a win into a draw or a loss, or a draw into a loss. The columns, in percent with 95 % \
bounds:
  errors  errors as a share of all positions, including positions in which no
          action is an error (as in AlphaZero.jl)
  slow    actions that are not the fastest win or the slowest loss; only if the
          set has scores
  sign    values of the agent that have the right sign, except in drawn
          positions
  Brier   mean squared error of the expected score; always predicting 0 gives
          0.25 in won and lost positions
A network is measured once without a search (it plays the action with the highest prior) and once for each number in \
--simulations. An agent that is given with SIMS is measured only with that number of simulations.

{AGENTS}

Examples:
  petteia accuracy phage --agent rollout:400 --set sets/phage.jsonl.zst
  petteia accuracy connect-four --set sets/connect-four.jsonl.zst
  petteia accuracy connect-four --agent runs/a --set sets/connect-four.jsonl.zst"))]
pub(super) struct AccuracyCommand {
    /// Game id (see `petteia games`), or a run, checkpoint, or exported file of the game
    #[arg(value_name = "GAME")]
    id: String,
    /// Agents, see below; may be repeated [default: the run given as GAME, or shipped, or rollout:400 if no agent is
    /// shipped]
    #[arg(long = "agent", value_name = "AGENT", num_args = 1..)]
    agents: Vec<OsString>,
    /// The set of solved positions; also accepts a game option, e.g. game.start=blocks
    #[arg(long, value_name = "FILE|KEY=VALUE", required = true)]
    set: Vec<String>,
    /// Simulations per action for networks given without SIMS; 0 means no search
    #[arg(long, value_name = "N,N...", value_delimiter = ',', default_value = "0,100,400,1600")]
    simulations: Vec<usize>,
    /// Random seed of the agents
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Worker threads; the result does not depend on them [default: all cores]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    #[command(flatten)]
    device: Device,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

impl AccuracyCommand {
    /// Measures the agents. An argument of `--set` that is not a game option is the set of positions.
    pub(super) fn run(mut self, games: Catalog) -> Result<()> {
        let is_option = |text: &String| text.starts_with("game.") && text.contains('=');
        let (options, mut files): (Vec<String>, Vec<String>) =
            std::mem::take(&mut self.set).into_iter().partition(is_option);
        let (Some(positions), true) = (files.pop().map(PathBuf::from), files.is_empty()) else {
            return Err(Error::Config(
                "give one set of solved positions with --set FILE; Petteia's sets are in the folder sets"
                    .into(),
            ));
        };
        let subject = GameArgs { id: self.id.clone(), set: options }.subject(games)?;
        if self.agents.is_empty() {
            let (agent, remark) = subject.agent_or(None, || subject.shipped_or_usual("the agent"));
            if let Some(remark) = remark {
                note(remark);
            }
            self.agents.push(agent);
        }
        let Subject { rules, .. } = subject;
        self.measure(&rules, &positions)
    }
}

impl AccuracyCommand {
    fn measure(self, rules: &Opened, positions: &Path) -> Result<()> {
        if let Some(simulations) = self.simulations.iter().find(|simulations| **simulations > MAX_SIMULATIONS)
        {
            return Err(Error::Config(format!(
                "--simulations {simulations}: must be at most {MAX_SIMULATIONS}"
            )));
        }
        let processor = self.device.processor()?;
        let loaded: Vec<(Contestant<AnyGame>, Vec<Budget>)> =
            self.agents.iter().map(|text| self.load(rules, text, &processor)).collect::<Result<_>>()?;
        use_threads(self.threads)?;
        let set = set::read(positions, rules)?;
        if !self.json {
            print(about(&set))?;
        }
        catch_interrupts();
        let turns: usize = loaded.iter().map(|(_, budgets)| budgets.len()).sum();
        let counter = Counter::new((turns * set.positions.len()) as u64, "positions");
        let (mut measured, mut before) = (Vec::new(), 0);
        for ((agent, budgets), text) in loaded.iter().zip(&self.agents) {
            for &budget in budgets {
                let name = named(&text.to_string_lossy(), budget);
                let tick = |done: usize| {
                    counter.show((before + done) as u64, &format!(", {name}"));
                    !interrupted()
                };
                let accuracy = measure(&rules.game, &set, agent, budget, self.seed, &tick)?;
                before += set.positions.len();
                if self.json {
                    measured.push(shown(&name, agent.identity(), budget, &accuracy))
                } else {
                    print_accuracy(&name, &accuracy)?
                }
            }
        }
        drop(counter);
        if self.json {
            print(json!({
                "game": rules.identity.id, "set": positions.display().to_string(), "sha256": set.sha256,
                "positions": set.positions.len(), "seed": self.seed, "agents": measured,
            }))
        } else {
            Ok(())
        }
    }

    /// Loads an agent, and determines the budgets that it is measured with.
    fn load(
        &self,
        rules: &Opened,
        text: &OsString,
        processor: &Processor,
    ) -> Result<(Contestant<AnyGame>, Vec<Budget>)> {
        let spec = AgentSpec::parse(text)?;
        let budget = |simulations: &usize| match simulations {
            0 => Budget::Policy,
            simulations => Budget::Simulations(*simulations),
        };
        let budgets = match &spec {
            AgentSpec::Trained(path, ..) if has_no_simulations(text, path.as_os_str()) => {
                self.simulations.iter().map(budget).collect()
            }
            AgentSpec::Shipped(..) if !is_proved(rules) && has_no_simulations(text, OsStr::new(SHIPPED)) => {
                self.simulations.iter().map(budget).collect()
            }
            _ => vec![Budget::Own],
        };
        Ok((Contestant::on(rules, &spec, processor)?, budgets))
    }
}

/// Whether `text` names the trained agent at `path` without SIMS; a precision may follow the path.
fn has_no_simulations(text: &OsStr, path: &OsStr) -> bool {
    let suffix = text.as_encoded_bytes().strip_prefix(path.as_encoded_bytes());
    let is_precision = |rest: &[u8]| {
        rest.strip_prefix(b":")
            .is_some_and(|name| Precision::NAMES.iter().any(|known| known.as_bytes() == name))
    };
    suffix.is_some_and(|rest| rest.is_empty() || is_precision(rest))
}

fn named(text: &str, budget: Budget) -> String {
    match budget {
        Budget::Own => text.to_string(),
        Budget::Policy => format!("{text}, policy alone"),
        Budget::Simulations(simulations) => format!("{text}, {simulations} simulations"),
    }
}

fn about(set: &Set) -> String {
    let header = &set.header;
    format!("{} positions of {}, made by: {}", set.positions.len(), header.game, header.made_by)
}

fn print_accuracy(name: &str, accuracy: &Accuracy) -> Result<()> {
    let columns = vec![
        Column::text("", 13, 0),
        Column::number("positions", 9, 0),
        Column::number("errors", 16, 0),
        Column::number("slow", 16, 2),
        Column::number("sign", 16, 1),
        Column::number("Brier", 5, 1),
    ];
    let table = Table::new(columns, terminal_width());
    let cell = |rate: Option<Rate>| rate.map_or("-".into(), rate_text);
    let line = |name: &str, tally: &Tally| {
        let brier = tally.brier().map_or("-".into(), |brier| format!("{brier:.3}"));
        let rates = [tally.error_rate(), tally.slow_rate(), tally.agreement()].map(cell);
        let [errors, slow, sign] = rates;
        table.line(&[name.to_string(), tally.positions.to_string(), errors, slow, sign, brier])
    };
    print("")?;
    print(name)?;
    print(table.head())?;
    print(line("all", &accuracy.all))?;
    for (class, tally) in &accuracy.classes {
        print(line(class, tally))?;
    }
    for (first, tally) in &accuracy.plies {
        print(line(&format!("plies {first}-{}", first + PLIES - 1), tally))?;
    }
    Ok(())
}

/// Formats a rate in percent, as `12.3 (10.9-13.8)`; a share that rounds to 100 gets no decimals, so that every cell
/// fits.
fn rate_text(rate: Rate) -> String {
    let percent = |share: f64| if share < 0.9995 { format!("{:.1}", 100.0 * share) } else { "100".into() };
    format!("{} ({}-{})", percent(rate.rate), percent(rate.low), percent(rate.high))
}

fn shown(name: &str, identity: &str, budget: Budget, accuracy: &Accuracy) -> Value {
    let group = |tally: &Tally| {
        json!({
            "positions": tally.positions, "judged": tally.judged, "choices": tally.choices, "errors": tally.errors,
            "error_rate": tally.error_rate(), "slow_rate": tally.slow_rate(), "sign": tally.agreement(),
            "brier": tally.brier(),
        })
    };
    let with = |key: &str, value: Value, tally: &Tally| {
        let mut group = group(tally);
        group[key] = value;
        group
    };
    let bin = |bin: &Bin| {
        json!({
            "from": bin.from, "to": bin.to, "positions": bin.positions, "expected": bin.expected, "found": bin.found,
        })
    };
    let simulations = match budget {
        Budget::Own => Value::Null,
        Budget::Policy => 0.into(),
        Budget::Simulations(simulations) => simulations.into(),
    };
    json!({
        "agent": name, "identity": identity, "simulations": simulations, "all": group(&accuracy.all),
        "classes": accuracy.classes.iter().map(|(class, tally)| with("class", class.as_str().into(),
            tally)).collect::<Value>(),
        "plies": accuracy.plies.iter().map(|(first, tally)| with("from", (*first).into(), tally)).collect::<Value>(),
        "reliability": accuracy.reliability.iter().map(bin).collect::<Value>(),
    })
}

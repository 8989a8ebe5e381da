//! `petteia play`: lets a person play against an agent in the terminal.

use std::cmp::Reverse;
use std::ffi::OsString;
use std::io::{BufRead, IsTerminal, Write};
use std::path::Path;

use clap::Args;
use rand::RngExt;

use super::board::{Marks, drawn, player_text};
use super::flags::Device;
use super::review::review;
use super::subject::Subject;
use super::text::{ACCENT, hanging, painted, paragraph, terminal_width, wrapped};
use super::{AGENTS, GameArgs, print, use_threads};
use crate::any::{AnyGame, AnyState, Opened};
use crate::arena::contestant::{Contestant, VARIED_PLIES};
use crate::arena::levels::LEVELS;
use crate::arena::spec::AgentSpec;
use crate::error::{Error, Result};
use crate::game::{Action, Game, Outcome, Player, line_text, outcome_text};
use crate::random::{Purpose, Random, stream};
use crate::session::{Session, illegal, meant, saved};
use crate::solve::Solver;
use crate::storage::{self, text};

const COMMANDS: &str = "Type an action, or: legal (all actions), hint, undo, board, help (more), quit";
const OVER: &str = "Type again (a new game with sides swapped), undo, review, moves, save FILE, or quit";
const HELP: &str = "  legal      list all your actions
  hint       show what the opponent at its best would play in your place
  undo       take back your last action and everything after it
  board      draw the board again
  again      start a new game with sides swapped
  moves      list the actions so far
  position   show the text of the position
  review     list the actions that lost the most, as judged by the opponent at its best
  save FILE  write the game to a file
  load FILE  continue a game from a file
  resign     give up and leave
  help       show a summary of the rules and these commands
  quit       leave the game";
/// The column in which the descriptions in [`HELP`] begin.
const HELP_COLUMN: usize = 13;
/// The number of legal actions shown in each turn.
const SHOWN_ACTIONS: usize = 12;
/// The number of actions shown with their visits in a hint.
const SHOWN_VISITS: usize = 5;
/// The number of actions that a review lists.
const REVIEWED: usize = 5;
/// The number of example actions in `help`.
const EXAMPLES: usize = 6;

/// Play against an agent in the terminal.
#[derive(Args)]
#[command(after_help = format!(
    "{AGENTS}\n\n\
    Examples:\n  \
      petteia play phage\n  \
      petteia play phage --level 3\n  \
      petteia play runs/phage --side second\n  \
      petteia play tic-tac-toe --opponent perfect\n  \
      petteia play phage --opponent runs/phage:200 --watch rollout:400"
))]
pub(super) struct Play {
    #[command(flatten)]
    pub game: GameArgs,
    /// Agent to play against, see below [default: the run given as GAME, or a level of the shipped agent, or
    /// rollout:400 if there is none]
    #[arg(long, value_name = "AGENT")]
    opponent: Option<OsString>,
    /// Level of the shipped agent, 1 to 9; each level wins about two of three games against the level below it
    /// [default: 5]
    #[arg(long, value_name = "LEVEL", conflicts_with = "opponent")]
    #[arg(value_parser = clap::value_parser!(u8).range(1..=LEVELS as i64))]
    level: Option<u8>,
    /// Let this agent play your side while you watch
    #[arg(long, value_name = "AGENT")]
    watch: Option<OsString>,
    /// Your side: first, second, or the player's name in this game
    #[arg(long, value_name = "SIDE", default_value = Player::First.id())]
    side: String,
    /// Position to start from [default: the initial position]
    #[arg(long, value_name = "TEXT")]
    position: Option<String>,
    /// Random seed of the agents; the same seed and actions give the same game [default: a different seed for each
    /// game]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Worker threads; the opponent plays the same with any number of threads [default: all cores]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    #[command(flatten)]
    device: Device,
}

/// A game between a person and an agent.
struct HumanGame<'a> {
    rules: &'a Opened,
    session: Session<AnyGame>,
    contestant: &'a Contestant<AnyGame>,
    /// The agent that gives hints and reviews games: the opponent at its best.
    adviser: &'a Contestant<AnyGame>,
    /// The agent that plays in the person's place, if there is one.
    other: Option<Contestant<AnyGame>>,
    person: Player,
    seed: u64,
}

impl Play {
    /// Plays the game.
    pub(super) fn on(self, subject: Subject) -> Result<()> {
        let (opponent, remark) = subject.opponent(self.opponent.as_ref(), self.level.map(usize::from))?;
        let rules = subject.rules;
        let game = &rules.game;
        let person = side(game, &self.side)?;
        let parse = |text: &OsString| Ok::<_, Error>(AgentSpec::parse(text)?.at_full_speed());
        let (opponent, other) = (parse(&opponent)?, self.watch.as_ref().map(parse).transpose()?);
        let adviser = opponent.clone().at_its_best(&rules);
        let adviser = (adviser != opponent).then(|| adviser.at_full_speed());
        use_threads(self.threads)?;
        let (processor, threads) = (self.device.processor()?, rayon::current_num_threads());
        let load = |spec| Ok::<_, Error>(Contestant::on(&rules, &spec, &processor)?.with_threads(threads));
        let (contestant, other) = (load(opponent)?, other.map(load).transpose()?);
        let adviser = adviser.map(load).transpose()?;
        let adviser = adviser.as_ref().unwrap_or(&contestant);
        let start = match &self.position {
            Some(text) => game.parse_state(text)?,
            None => game.initial(),
        };
        let session = Session::from(game.clone(), start);
        if let Some(remark) = remark {
            print_text(&remark)?;
        }
        if other.is_none() {
            print_text(&format!(
                "{} ({}). You are {}.",
                game.about().title,
                game.about().author,
                player_text(game, person)
            ))?;
            print_rules(game)?;
            print_text(COMMANDS)?;
        }
        let seed = self.seed.unwrap_or_else(|| rand::rng().random());
        HumanGame { rules: &rules, session, contestant: &contestant, adviser, other, person, seed }.play()
    }
}

/// Returns the player that `text` names.
fn side(game: &AnyGame, text: &str) -> Result<Player> {
    let names = |player: Player| [player.id(), game.about().player(player)];
    let is_named = |player: &Player| names(*player).iter().any(|name| name.eq_ignore_ascii_case(text));
    [Player::First, Player::Second].into_iter().find(is_named).ok_or_else(|| {
        let [first, second] = game.about().player_names();
        Error::Config(format!(
            "--side {text}: the sides of {} are first ({first}) and second ({second})",
            game.about().title
        ))
    })
}

impl HumanGame<'_> {
    fn play(&mut self) -> Result<()> {
        self.show_board(Vec::new())?;
        loop {
            let state = self.session.state().clone();
            if let Some(outcome) = self.game().outcome(&state) {
                print_text(&result_text(self.game(), outcome))?;
                if self.other.is_some() {
                    return Ok(());
                }
                print_text(OVER)?;
            } else if let Some(agent) = self.agent_for(self.game().to_move(&state)) {
                let action = self.reply(agent, &state)?;
                print_text(&format!(
                    "{} plays {}",
                    player_text(self.game(), self.game().to_move(&state)),
                    self.game().action_text(&state, action)
                ))?;
                self.session.play(action);
                self.show_board(Vec::new())?;
                continue;
            } else {
                self.show_legal(&state, SHOWN_ACTIONS)?;
            }
            if !self.ask(&state)? {
                return Ok(());
            }
        }
    }

    /// Reads and runs commands, and returns after the first command other than `legal`. Returns false if the person
    /// leaves the game.
    fn ask(&mut self, state: &AnyState) -> Result<bool> {
        while let Some(line) = read_line()? {
            let line = line.trim();
            if let Some((command @ ("save" | "load"), file)) = line.split_once(' ') {
                match command {
                    "save" => self.save(Path::new(file.trim()))?,
                    _ => self.load(Path::new(file.trim()))?,
                }
                return Ok(true);
            }
            match line.to_ascii_lowercase().as_str() {
                // this branch does not return, because the caller would list some of the actions again
                "legal" if self.game().outcome(state).is_none() => {
                    self.show_legal(state, usize::MAX)?;
                    continue;
                }
                "" => {}
                "quit" | "exit" => return Ok(false),
                "help" | "?" => self.help(state)?,
                "board" => self.show_board(Vec::new())?,
                "undo" => self.undo()?,
                "again" => self.again()?,
                "hint" => self.hint(state)?,
                "moves" => print_text(&self.session.texts().join(" "))?,
                "position" => print(self.game().state_text(state))?,
                "review" => self.review()?,
                "resign" if self.game().outcome(state).is_none() => {
                    let [loser, winner] =
                        [self.person, self.person.other()].map(|player| player_text(self.game(), player));
                    print_text(&format!("{loser} resigns: {winner} wins"))?;
                    return Ok(false);
                }
                _ => self.act(state, line)?,
            }
            return Ok(true);
        }
        Ok(false)
    }

    /// Plays the action that the person typed, or explains why it cannot be played.
    fn act(&mut self, state: &AnyState, text: &str) -> Result<()> {
        match meant(self.game(), state, text) {
            Some(action) => {
                self.session.play(action);
                self.show_board(Vec::new())
            }
            None if self.game().outcome(state).is_some() => print_text(&format!("the game is over. {OVER}")),
            None => print_text(&format!("{}. {COMMANDS}", illegal(self.game(), state, text))),
        }
    }

    /// Prints the actions of either side that lost the most expected score.
    fn review(&self) -> Result<()> {
        if !self.adviser.searches() && !self.adviser.is_perfect() {
            return print_text("this opponent does not search, so it cannot review the game");
        }
        let states: Vec<AnyState> = self.session.plies().map(|(state, _)| state).collect();
        review(self.game(), &states, self.session.actions(), self.adviser, REVIEWED)
    }

    fn save(&self, path: &Path) -> Result<()> {
        // a problem with a file must not end the game
        if path.exists() {
            return print_text(&format!("{} already exists; choose another name", path.display()));
        }
        let text = saved::text(&self.rules.identity, &self.session, None);
        match storage::write_whole(path, text.as_bytes()) {
            Ok(()) => print_text(&format!("saved in {}", path.display())),
            Err(error) => print_text(&error.to_string()),
        }
    }

    fn load(&mut self, path: &Path) -> Result<()> {
        let place = path.display().to_string();
        let read = storage::read_given(path, saved::LARGEST, "a saved game").and_then(|bytes| {
            let text = text::readable(&bytes).map_err(|why| Error::Data(format!("{place}: {why}")))?;
            saved::parse(self.rules, &text, &place)
        });
        match read {
            Ok((session, resigned)) => {
                self.session = session;
                self.show_board(Vec::new())?;
                match resigned {
                    Some(loser) => {
                        let loser = player_text(self.game(), loser);
                        print_text(&format!("{loser} resigned here; you can continue the game"))
                    }
                    None => Ok(()),
                }
            }
            Err(error) => print_text(&error.to_string()),
        }
    }

    fn game(&self) -> &AnyGame {
        self.session.game()
    }

    /// Returns the agent that acts for a player; `None` if the person does.
    fn agent_for(&self, player: Player) -> Option<&Contestant<AnyGame>> {
        if player == self.person { self.other.as_ref() } else { Some(self.contestant) }
    }

    /// Returns an agent's action, which varies in the first plies.
    fn reply(&self, agent: &Contestant<AnyGame>, state: &AnyState) -> Result<Action> {
        match agent.search_agent(self.stream()) {
            Some(mut agent) if self.session.actions().len() < VARIED_PLIES => {
                let analysis = agent.analyze(state)?;
                Ok(agent.varied(&analysis))
            }
            _ => agent.agent(self.stream()).choose(state),
        }
    }

    fn stream(&self) -> Random {
        stream(self.seed, Purpose::Agent, &[self.session.actions().len() as u64])
    }

    /// Starts a new game from the same position, with sides swapped.
    fn again(&mut self) -> Result<()> {
        self.session.restart(self.session.start().clone());
        (self.person, self.seed) = (self.person.other(), self.seed.wrapping_add(1));
        print_text(&format!("A new game. You are {}.", player_text(self.game(), self.person)))?;
        self.show_board(Vec::new())
    }

    /// Takes back actions up to and including the person's last one.
    fn undo(&mut self) -> Result<()> {
        let is_mine = |(state, _): &(AnyState, Action)| self.game().to_move(state) == self.person;
        let movers: Vec<bool> = self.session.plies().map(|ply| is_mine(&ply)).collect();
        let Some(ply) = movers.iter().rposition(|mine| *mine) else {
            return print_text("there is nothing to take back");
        };
        print_text(&format!("back at ply {ply}"))?;
        while self.session.actions().len() > ply {
            self.session.undo();
        }
        self.show_board(Vec::new())
    }

    /// Prints the rules, the notation of actions, and the commands.
    fn help(&self, state: &AnyState) -> Result<()> {
        print_rules(self.game())?;
        let legal = self.game().legal(state).into_iter().map(|action| self.game().action_text(state, action));
        let examples = one_of_each_form(legal).join(", ");
        if !examples.is_empty() {
            print_text(&format!("Type an action to play it, for example: {}", painted(examples, ACCENT)))?;
        }
        print(hanging(HELP, HELP_COLUMN, terminal_width()))
    }

    /// Shows what the opponent at its best would play in the person's place, as text and on the board.
    fn hint(&self, state: &AnyState) -> Result<()> {
        if self.game().outcome(state).is_some() {
            return print_text("the game is over");
        }
        let (action, why) = match (self.adviser.search_agent(self.stream()), self.adviser.solver()) {
            (Some(mut agent), _) => {
                let analysis = agent.analyze(state)?;
                let mut visits = analysis.visits;
                visits.retain(|(_, visits)| *visits > 0);
                visits.sort_by_key(|&(action, visits)| (action != analysis.action, Reverse(visits), action));
                let shown = visits.iter().take(SHOWN_VISITS);
                let shown: Vec<String> = shown
                    .map(|&(action, n)| format!("{} {n}", self.game().action_text(state, action)))
                    .collect();
                let line = line_text(self.game(), state, &analysis.principal_variation).join(" ");
                // the first simulation of a search visits no action, so there may be nothing to show
                let visits =
                    if shown.is_empty() { String::new() } else { format!("; visits: {}", shown.join(", ")) };
                (analysis.action, format!("value {:+.2} for you{visits}; line: {line}", analysis.value))
            }
            (None, Some(solver)) => self.perfect_hint(state, solver)?,
            (None, None) => return print_text("this opponent does not search, so it cannot give hints"),
        };
        let text = painted(self.game().action_text(state, action), ACCENT);
        self.show_board(self.game().touched(state, action))?;
        print_text(&format!("hint: {text} ({why})"))
    }

    /// Returns a best action, and the result with perfect play.
    fn perfect_hint(&self, state: &AnyState, mut solver: Solver<AnyGame>) -> Result<(Action, String)> {
        let best = solver.best_actions(state)?;
        let result = match solver.outcome(state)?.value_for(self.person) {
            1.0 => "you win",
            -1.0 => "you lose",
            _ => "a draw",
        };
        let others: Vec<String> =
            best[1..].iter().map(|&action| self.game().action_text(state, action)).collect();
        let others =
            if others.is_empty() { String::new() } else { format!("; equally good: {}", others.join(" ")) };
        Ok((best[0], format!("{result} with perfect play{others}")))
    }

    fn show_legal(&self, state: &AnyState, most: usize) -> Result<()> {
        let legal = self.game().legal(state);
        let texts: Vec<String> =
            legal.iter().take(most).map(|a| self.game().action_text(state, *a)).collect();
        let more = if legal.len() > most {
            format!(" ... ({} in all; type legal to list them)", legal.len())
        } else {
            String::new()
        };
        print_text(&format!("your actions: {}{more}", texts.join(" ")))
    }

    /// Draws the board and marks the squares of the last action and of a hint.
    fn show_board(&self, hint: Vec<(usize, usize)>) -> Result<()> {
        let marks = Marks { last: self.session.touched(), hint };
        let board = drawn(self.game(), self.session.state(), &marks, terminal_width());
        print(format_args!("\n{board}\n"))
    }
}

/// Reads the next line of standard input, with a prompt on a terminal; returns `None` at the end of the input.
fn read_line() -> Result<Option<String>> {
    let (mut line, mut out) = (Vec::new(), std::io::stdout());
    let prompts = std::io::stdin().is_terminal() && out.is_terminal();
    if prompts {
        write!(out, "> ").and_then(|()| out.flush()).map_err(Error::io("standard output"))?;
    }
    if std::io::stdin().lock().read_until(b'\n', &mut line).map_err(Error::io("standard input"))? > 0 {
        let text = text::readable(&line).map_err(|why| Error::Data(format!("standard input: {why}")))?;
        return Ok(Some(text.into_owned()));
    }
    // end the line, so that the shell's prompt begins on a new line
    if prompts { print("").map(|()| None) } else { Ok(None) }
}

/// Prints running text, wrapped on a terminal.
fn print_text(text: &str) -> Result<()> {
    print(wrapped(text, terminal_width()))
}

/// Prints the summary of the rules as a paragraph.
fn print_rules(game: &AnyGame) -> Result<()> {
    match &*game.about().summary {
        "" => Ok(()),
        summary => print(format_args!("\n{}\n", paragraph(summary))),
    }
}

/// Returns the first text of each form; texts that differ only in squares and numbers have the same form.
fn one_of_each_form(texts: impl Iterator<Item = String>) -> Vec<String> {
    let mut examples: Vec<(String, String)> = Vec::new();
    for text in texts {
        let mut form = String::new();
        let mut letters = text.chars().peekable();
        while let Some(letter) = letters.next() {
            match letter {
                '0'..='9' if form.ends_with('0') => {}
                '0'..='9' => form.push('0'),
                'a'..='z' if letters.peek().is_some_and(char::is_ascii_digit) => form.push('a'),
                _ => form.push(letter),
            }
        }
        if examples.len() < EXAMPLES && examples.iter().all(|(known, _)| *known != form) {
            examples.push((form, text));
        }
    }
    examples.into_iter().map(|(_, text)| text).collect()
}

/// Describes the result of a game.
pub(super) fn result_text(game: &AnyGame, outcome: Outcome) -> String {
    match outcome {
        Outcome::Draw if game.about().drawless => {
            format!(
                "a draw, although {} has no draws, because the limit of {} actions cut the game short",
                game.about().title,
                game.max_plies()
            )
        }
        outcome => outcome_text(game, outcome),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_differ_in_more_than_squares() {
        let forms = |texts: &[&str]| one_of_each_form(texts.iter().map(|text| text.to_string()));
        assert_eq!(
            forms(&["a1-b2", "c3-d10", "c3xc5", "b5xoff(a5)", "pass"]),
            ["a1-b2", "c3xc5", "b5xoff(a5)", "pass"]
        );
        assert_eq!(forms(&["1", "2", "11"]), ["1"]);
        assert_eq!(forms(&["W@c3", "B@c3", "first:w"]), ["W@c3", "B@c3", "first:w"]);
    }
}

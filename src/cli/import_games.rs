//! `petteia import-games`: turns files of games that people played into records.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use super::text::counted;
use super::{GameArgs, note, print, refuse_existing};
use crate::any::Opened;
use crate::config::limits::MAX_BATCH;
use crate::error::{Error, Result};
use crate::notation::{self, MOST_BYTES, Notation, Reason, Refused, Unread, Written, played};
use crate::replay::record::Record;
use crate::replay::store;
use crate::storage::{self, text};

/// Make records from files of games that people played.
#[derive(Args)]
#[command(after_help = "\
Notations (chosen by the extension of the file name, or with --notation):
  pdn    draughts with numbered squares (.pdn): tags, results, positions
         (FEN), no comments or variations; also PGN with named squares (.pgn),
         as for Othello, but not chess
  sgf    the Smart Game Format (.sgf) of Hex, Gomoku, Othello, and others, and
         the Generic Game Format of Othello (.ggf): the main line only
  lines  one game per line (any other file): its actions, and its result if
         the rules do not determine it: F5D6C3D3 33-31, or b2 a1 c3 first time.
         Forced passes may be omitted; a game can begin with a position and
         the word `moves`

Each game is replayed by the rules. A game that breaks the rules is counted and reported with its file, number, line, \
and action; the other games are imported. A game that does not end by the rules needs a result; the game counts as \
resigned if a player won, and as agreed if it was a draw, unless the file says that it ended on time or by \
adjudication. 1-0 is a win for the player who acts first.

In the records, the action played in a position is its policy, and the result of the game is its value. `train --from \
RUN --with-records` begins a run with imported games.

Examples:
  petteia import-games english-draughts games.pdn --out people.jsonl.zst
  petteia import-games hex --set size=13 *.sgf --out hex.jsonl.zst")]
pub(super) struct ImportGames {
    #[command(flatten)]
    pub game: GameArgs,
    /// Files with games
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Shard of records to write, which must not exist; its name must end with
    /// .jsonl.zst
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Notation of the games, see below
    #[arg(long, value_enum, hide_possible_values = true)]
    notation: Option<NotationName>,
    /// Stop at the first refused game and write nothing
    #[arg(long)]
    strict: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum NotationName {
    Pdn,
    Sgf,
    Lines,
}

impl From<NotationName> for Notation {
    fn from(name: NotationName) -> Notation {
        match name {
            NotationName::Pdn => Notation::Pdn,
            NotationName::Sgf => Notation::Sgf,
            NotationName::Lines => Notation::Lines,
        }
    }
}

/// The games that have been read so far.
#[derive(Default)]
struct Imported {
    records: Vec<Record>,
    games: usize,
    actions: usize,
    refused: BTreeMap<Reason, usize>,
}

impl ImportGames {
    /// Imports games of these rules.
    pub(super) fn on(self, rules: Opened) -> Result<()> {
        refuse_existing(&self.out)?;
        if !store::is_packed(&self.out) {
            return Err(Error::Config(format!(
                "--out {}: the name of a shard of records must end with .jsonl.zst",
                self.out.display()
            )));
        }
        let mut imported = Imported::default();
        for file in &self.files {
            self.read(file, &rules, &mut imported)?;
        }
        let Imported { records, games, actions, refused } = imported;
        let reasons: Vec<String> =
            refused.iter().map(|(reason, count)| format!("{count} {}", reason.words())).collect();
        let reasons = reasons.join(", ");
        if records.is_empty() {
            let why =
                if reasons.is_empty() { "the files have none".into() } else { format!("refused: {reasons}") };
            return Err(Error::Data(format!("no game could be imported: {why}")));
        }
        store::write_shard(&self.out, &records, None)?;
        let (imported, size) = (records.len(), storage::length(&self.out)?);
        print(format_args!(
            "{}: {imported} of {} of {}, {}, {size} bytes",
            self.out.display(),
            counted(games, "game", "games"),
            rules.identity.id,
            counted(actions, "action", "actions")
        ))?;
        if reasons.is_empty() { Ok(()) } else { print(format_args!("refused: {reasons}")) }
    }

    fn read(&self, file: &Path, rules: &Opened, imported: &mut Imported) -> Result<()> {
        let shown = file.display();
        let bytes = storage::read_given(file, MOST_BYTES, "a file of games")?;
        let content = text::readable(&bytes).map_err(|why| Error::Data(format!("{shown}: {why}")))?;
        let notation = self.notation.map_or_else(|| Notation::of(file), Notation::from);
        for (number, game) in notation::read(notation, &content).enumerate() {
            imported.games += 1;
            let (line, record) = record_of(rules, game, imported.records.len());
            match record {
                Ok(record) => {
                    if imported.records.len() == MAX_BATCH {
                        return Err(Error::Data(format!(
                            "{shown}: a shard has at most {MAX_BATCH} games; import fewer files at a time, or split \
                             this one"
                        )));
                    }
                    imported.actions += record.actions.len();
                    imported.records.push(record);
                }
                Err(Refused { reason, ply, what }) => {
                    let action = ply.map_or(String::new(), |ply| format!(", action {ply}"));
                    let what = format!("{shown}: game {} (line {line}){action}: {what}", number + 1);
                    if self.strict {
                        return Err(Error::Data(what));
                    }
                    note(format_args!("refused: {what}"));
                    *imported.refused.entry(reason).or_default() += 1;
                }
            }
        }
        Ok(())
    }
}

/// Makes the record of a game, which gets the number `index`. Also returns the number of the line where the game
/// begins.
fn record_of(
    rules: &Opened,
    game: std::result::Result<Written, Unread>,
    index: usize,
) -> (usize, std::result::Result<Record, Refused>) {
    let unread = |what: String| Refused { reason: Reason::Unread, ply: None, what };
    match game {
        Err(Unread { line, what }) => (line, Err(unread(what))),
        Ok(written) => {
            let record = played(&rules.game, &written)
                .and_then(|played| played.record(rules, index).map_err(|error| unread(error.to_string())));
            (written.line, record)
        }
    }
}

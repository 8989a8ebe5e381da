//! `petteia site`: writes a folder with a page for each game, for a web host.

use std::path::{Path, PathBuf};

use clap::Args;
use maud::{Markup, PreEscaped, html};

use super::balance::BalanceCommand;
use super::export::{Playable, playable};
use super::print;
use super::report::{PAGE as REPORT, refuse_other_files};
use super::text::counted;
use crate::error::{Error, Result};
use crate::export::html;
use crate::game::Game;
use crate::manual::brief;
use crate::page::listed::{rules_of, start_of};
use crate::registry::Catalog;
use crate::report::{self, page};
use crate::run;
use crate::storage;

/// The file name of the index, and the endings of the file names of a game's pages.
const INDEX: &str = "index.html";
const RULES: &str = "rules.html";
const BALANCE: &str = "balance.html";

/// Write a folder of pages with playable games, for a web host.
#[derive(Args)]
#[command(after_help = "\
The folder has an index and, for each game, a page to play it on (the output of `petteia export --format html`), its \
rules, and, for a run, its report. With --balance, it also has a page about the balance of each game, measured with \
the defaults of `petteia balance`. Measuring takes minutes to hours per game; an existing page ID-balance.html is \
kept and linked. Links are relative, and no page needs a server, so the folder works anywhere. Run the command again \
to update the folder.

Examples:
  petteia site public phage runs/cage my.game
  petteia site public phage --balance
  petteia balance phage --train-minutes 60 --out public/phage-balance.html")]
pub(super) struct Site {
    /// Folder to write to
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
    /// Games, files with rules, runs, checkpoints, or exported files, in the order of the index
    #[arg(value_name = "GAME|RUN", required = true)]
    sources: Vec<PathBuf>,
    /// Measure the balance of games that have no page about their balance yet
    #[arg(long)]
    balance: bool,
    /// Title of the index
    #[arg(long, value_name = "TEXT", default_value = "Games to play")]
    title: String,
}

/// A game of the site.
struct SiteGame {
    source: PathBuf,
    playable: Playable,
    /// The run that trained the agent, if a run was named.
    run: Option<PathBuf>,
}

impl Site {
    /// Writes the pages, and prints where the index is.
    pub(super) fn run(self, games: Catalog) -> Result<()> {
        let entries = self.sources.iter().map(|source| {
            let run = run::is_run(source).then(|| source.clone());
            Ok(SiteGame { source: source.clone(), playable: playable(source, games)?, run })
        });
        let entries: Vec<SiteGame> = entries.collect::<Result<_>>()?;
        for (index, entry) in entries.iter().enumerate() {
            let id = entry.id();
            if entries[..index].iter().any(|other| other.id() == id) {
                return Err(Error::Config(format!(
                    "{id} is given twice, but a site has one page for each game"
                )));
            }
        }
        self.refuse_other_folders()?;
        storage::create_folder(&self.folder)?;
        entries.iter().try_for_each(|entry| self.write_game(entry))?;
        self.write_index(&entries)?;
        for entry in entries.iter().filter(|entry| self.balance && !self.has_balance(entry.id())) {
            BalanceCommand::usual(&entry.source, &self.balance_page(entry.id())).run(games)?;
            self.write_index(&entries)?;
        }
        print(format_args!("{}: {}", self.path(INDEX).display(), counted(entries.len(), "game", "games")))
    }

    /// Refuses the folder of a run, because the user has then given the arguments in the wrong order, and a folder with
    /// files that are not part of a site.
    fn refuse_other_folders(&self) -> Result<()> {
        let folder = self.folder.display();
        if run::has_run(&self.folder)? {
            let fault = "is the folder of a run; give the folder of the site first, then the games and runs, e.g. \
                         `petteia site public phage runs/cage`";
            return Err(Error::Config(format!("{folder} {fault}")));
        }
        // in the folder of an existing site, there may also be files of the web host
        if storage::has(&self.path(INDEX)) {
            return refuse_other_files(&self.path(INDEX));
        }
        let is_hidden = |path: &Path| storage::name_of(path).is_some_and(|name| name.starts_with('.'));
        let existing =
            if storage::has_folder(&self.folder) { storage::list(&self.folder)? } else { Vec::new() };
        for path in existing.iter().filter(|path| !is_hidden(path)) {
            if storage::has_folder(path) || refuse_other_files(path).is_err() {
                return Err(Error::Config(format!(
                    "{folder} has other files, such as {}, and no index of a site; name a new folder",
                    path.display()
                )));
            }
        }
        Ok(())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    fn write(&self, name: &str, text: &str) -> Result<()> {
        let path = self.path(name);
        refuse_other_files(&path)?;
        storage::write_whole(&path, text.as_bytes())
    }

    fn write_game(&self, entry: &SiteGame) -> Result<()> {
        let (id, rules) = (entry.id(), &entry.playable.rules);
        let path = self.path(&format!("{id}.html"));
        refuse_other_files(&path)?;
        html::write(&entry.playable.page(), &path)?;
        let body = html! { (back()) (rules_of(rules)?) };
        self.write(
            &format!("{id}-{RULES}"),
            &page::page(&format!("Rules of {}", rules.game.about().title), &body),
        )?;
        if let Some(run) = &entry.run {
            let runs = report::read(std::slice::from_ref(run))?;
            self.write(&format!("{id}-{REPORT}"), &report::report(rules, &runs, None)?)?;
        }
        Ok(())
    }

    fn balance_page(&self, id: &str) -> PathBuf {
        self.path(&format!("{id}-{BALANCE}"))
    }

    fn has_balance(&self, id: &str) -> bool {
        storage::has(&self.balance_page(id))
    }

    fn write_index(&self, entries: &[SiteGame]) -> Result<()> {
        self.write(INDEX, &page::page(&self.title, &self.index(entries)))
    }

    fn index(&self, entries: &[SiteGame]) -> Markup {
        html! {
            h1 { (self.title) }
            div.cards {
                @for entry in entries { section { (self.card(entry)) } }
            }
        }
    }

    fn card(&self, entry: &SiteGame) -> Markup {
        let (id, rules) = (entry.id(), &entry.playable.rules);
        let about = rules.game.about();
        html! {
            figure { (PreEscaped(start_of(rules))) }
            div {
                h2 { a href=(format!("{id}.html")) { (about.title) } }
                p.facts { (about.byline()) "." }
                @if let Some(first) = brief(&rules.game).first() { p { (first) } }
                p {
                    a href=(format!("{id}.html")) { "Play" }
                    " · " a href=(format!("{id}-{RULES}")) { "Rules" }
                    @if self.has_balance(id) {
                        " · " a href=(format!("{id}-{BALANCE}")) { "Is it balanced?" }
                    }
                    @if entry.run.is_some() {
                        " · " a href=(format!("{id}-{REPORT}")) { "How its agent was trained" }
                    }
                }
            }
        }
    }
}

impl SiteGame {
    fn id(&self) -> &str {
        &self.playable.rules.identity.id
    }
}

fn back() -> Markup {
    html! { p { a href=(INDEX) { "All games" } } }
}

//! A page to play, watch, and compare agents in a browser: `petteia serve`.
//!
//! Input: HTTP requests from a page that this program serves itself, on 127.0.0.1 or, with a password, to other
//! devices. Output: positions with their drawings, the answers of agents, and the files of runs in readable form. The
//! page holds its game and sends the whole game with each request, so the server keeps nothing except loaded agents.
//! The server only reads files, unless somebody on this machine has it train a run. The only part of a request that can
//! name a folder is the id of a title (letters, digits, and hyphens). `api` has the requests and answers as types,
//! `guard` decides which requests are accepted, `password` is for pages served beyond this machine, `connection` limits
//! what a client can hold, `routes` maps requests to answers, `work` computes the answers on other threads, `table`
//! answers questions about a game, `players` names the agents, `agents` keeps the loaded agents, `runs` finds and
//! describes runs, `games` reads recorded games, `texts` has the games whose rules are a text, and `tasks` is work that
//! takes a minute.

mod api;
mod connection;
mod guard;
mod keys;
mod password;
mod routes;
mod runs;
mod tasks;
mod texts;
mod work;

use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use self::guard::Guard;
pub use self::password::Password;
use self::routes::SharedState;
use self::runs::ShownRuns;
use self::texts::KnownTexts;
use crate::error::{Error, Result};
pub use crate::page::Means;
use crate::registry::Catalog;

/// The default port.
pub const PORT: u16 = 7180;

/// The runs and agents that the page shows.
#[derive(Clone, Debug)]
pub struct Shown {
    /// Folders of runs and exported files. If there are none, the page shows all runs in `folder`, including later
    /// ones.
    pub sources: Vec<PathBuf>,
    /// A folder of runs.
    pub folder: PathBuf,
    /// Games whose rules are a text, as their ids and texts.
    pub texts: Vec<(String, String)>,
    /// The names by which the page may be opened, in addition to those of this machine.
    pub hosts: Vec<String>,
    /// The resources for the agents' searches.
    pub means: Means,
}

/// Serves the page until `stop` is set: to browsers on this machine, or to all browsers that reach the listener and
/// give the password.
///
/// # Errors
/// If a source is neither a run nor an exported file, if a text has the id of another game, or if the system refuses to
/// listen.
pub fn serve(
    games: Catalog,
    listener: TcpListener,
    shown: &Shown,
    password: Option<Password>,
    stop: &AtomicBool,
    ready: impl FnOnce() -> Result<()>,
) -> Result<()> {
    let io = || Error::io("the page's port");
    let runs = ShownRuns::new(shown)?;
    let texts = KnownTexts::new(games, &shown.texts)?;
    ready()?;
    let is_local = password.is_none();
    let guard = Guard::new(password, shown.hosts.clone());
    let site = Arc::new(SharedState::new(
        runs,
        texts,
        shown.means.clone(),
        guard.token().to_string(),
        games,
        is_local,
    ));
    listener.set_nonblocking(true).map_err(io())?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .max_blocking_threads(work::THREADS)
        .enable_io()
        .enable_time()
        .build()
        .map_err(io())?;
    let result = runtime.block_on(connection::listen(listener, routes::router(site.clone(), guard), stop));
    site.end_tasks();
    // ends searches whose clients have left
    runtime.shutdown_background();
    result
}

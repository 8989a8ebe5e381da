//! `petteia serve`: a page to play, watch and compare agents in a browser.

use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};

use clap::Args;

use super::flags::Device;
use super::signals::stop_flag;
use super::{catch_interrupts, own_name, print, use_threads, warn};
use crate::checkpoint::RUNS;
use crate::error::{Error, Result};
use crate::registry::Catalog;
use crate::web::{self, Means, PORT, Shown};

/// Serve a page to play, watch runs and compare agents in a browser.
#[derive(Args)]
#[command(after_help = "\
The page is for browsers on this machine only: it is served on 127.0.0.1, and requests \
of other sites are refused. It only reads: no run is changed. Without RUN it shows all \
runs in FOLDER, also those that begin later. The agents that come with this program \
are always there. Ctrl-C ends it.

Examples:
  petteia serve
  petteia serve runs/phage phage.safetensors --port 8000")]
pub struct Serve {
    /// Run folders, or exported files to play against
    #[arg(value_name = "RUN")]
    runs: Vec<PathBuf>,
    /// The folder of runs if none is named
    #[arg(long, value_name = "FOLDER", default_value = RUNS)]
    folder: PathBuf,
    /// The port; 0 for any that is free
    #[arg(long, value_name = "PORT", default_value_t = PORT)]
    port: u16,
    /// Threads of a search; agents play the same with any number [default: all cores]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    #[command(flatten)]
    device: Device,
}

impl Serve {
    /// Serves until it is interrupted.
    pub fn run(self, games: Catalog) -> Result<()> {
        use_threads(self.threads)?;
        let means = Means { processor: self.device.processor()?, threads: rayon::current_num_threads() };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, self.port)).map_err(|error| {
            let place = format!("port {} of 127.0.0.1", self.port);
            match error.kind() {
                std::io::ErrorKind::AddrInUse => Error::Config(format!(
                    "{place} is in use: choose another with --port, e.g. `{} serve --port 0`",
                    own_name()
                )),
                _ => Error::io(place)(error),
            }
        })?;
        let address = listener.local_addr().map_err(Error::io("the page's port"))?;
        if self.runs.is_empty() && self.folder != Path::new(RUNS) && !self.folder.is_dir() {
            let place = self.folder.display();
            warn(format_args!("{place} is not a folder; the page shows runs when there are some in it"));
        }
        let shown = Shown { sources: self.runs, folder: self.folder, means };
        catch_interrupts();
        let ready = || print(format_args!("http://{address}/  (Ctrl-C ends)"));
        web::serve(games, listener, &shown, &stop_flag(), ready)
    }
}

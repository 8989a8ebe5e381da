//! `petteia serve`: serves a page to play, watch runs, and compare agents in a browser.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, UdpSocket};
use std::path::{Path, PathBuf};

use clap::Args;

use super::flags::Device;
use super::signals::stop_flag;
use super::subject::text_rules;
use super::{catch_interrupts, own_name, print, use_threads, warn};
use crate::checkpoint::RUNS;
use crate::error::{Error, Result};
use crate::options::TEXT;
use crate::registry::Catalog;
use crate::storage;
use crate::web::{self, Means, PORT, Password, Shown};

/// Serve a page to play, watch runs, and compare agents in a browser.
#[derive(Args)]
#[command(after_help = "\
The page is only for browsers on this machine: it is served on 127.0.0.1, and requests \
from other sites are refused. Existing runs are never changed; the editor for rules as a text can \
train new runs in FOLDER. Without RUN, the page shows all runs in FOLDER, including those that \
begin later. The agents that come with this program \
are always available. Ctrl-C stops the server.

With --listen, other devices on your network can open the page with a password. Each start makes a new password and \
prints it once. Nothing is encrypted, so use --listen only on a network that you trust.

If a proxy or a tunnel passes on requests under its own host name, --host allows that name; the proxy may remove a \
prefix from the path. --listen 127.0.0.1 makes the page ask for a password.

Examples:
  petteia serve
  petteia serve my.game
  petteia serve runs/phage phage.safetensors --port 8000
  petteia serve --listen 0.0.0.0
  petteia serve --host my-box.local")]
pub(super) struct Serve {
    /// Run folders, exported files to play against, or files with the rules of games as text
    #[arg(value_name = "RUN")]
    runs: Vec<PathBuf>,
    /// Folder of the runs to show if no RUN is given
    #[arg(long, value_name = "FOLDER", default_value = RUNS)]
    folder: PathBuf,
    /// Port; 0 for any free port
    #[arg(long, value_name = "PORT", default_value_t = PORT)]
    port: u16,
    /// Also serve other devices, with a password, at this address of this machine; 0.0.0.0 means all of its addresses
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<IpAddr>,
    /// Also answer requests for this host name, which a proxy or tunnel uses for the page, such as my-box.local
    #[arg(long = "host", value_name = "NAME", value_parser = host_name)]
    hosts: Vec<String>,
    /// Number of threads for a search; agents play the same with any number of threads [default: all cores]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    #[command(flatten)]
    device: Device,
}

impl Serve {
    /// Serves until it is interrupted.
    pub(super) fn run(self, games: Catalog) -> Result<()> {
        use_threads(self.threads)?;
        let means = Means { processor: self.device.processor()?, threads: rayon::current_num_threads() };
        let listener = self.listener()?;
        let address = listener.local_addr().map_err(Error::io("the page's port"))?;
        let password = self.listen.map(|_| Password::new(address.port()));
        if self.runs.is_empty() && self.folder != Path::new(RUNS) && !storage::is_folder(&self.folder)? {
            let place = self.folder.display();
            warn(format_args!("{place} is not a folder yet; the page will show the runs that appear in it"));
        }
        let (mut sources, mut texts) = (Vec::new(), Vec::new());
        for source in self.runs {
            match text_rules(&source)? {
                Some((id, mut options)) => {
                    let text = options.remove(TEXT).and_then(|text| text.as_str().map(String::from));
                    texts.push((id, text.unwrap_or_default()));
                }
                None => sources.push(source),
            }
        }
        let shown = Shown { sources, folder: self.folder, texts, hosts: self.hosts, means };
        catch_interrupts();
        let place = match &password {
            None => format!("http://{address}/  (Ctrl-C to stop)"),
            Some(password) => {
                let reached = reached(address);
                let unknown = if reached.ip().is_unspecified() {
                    format!("\nreplace {} with this machine's address on the network", reached.ip())
                } else {
                    String::new()
                };
                let (path, text) = (password.path(), password.text());
                format!("http://{reached}{path}  (Ctrl-C to stop)\npassword: {text}{unknown}")
            }
        };
        web::serve(games, listener, &shown, password, &stop_flag(), || print(place))
    }

    fn listener(&self) -> Result<TcpListener> {
        let at = SocketAddr::new(self.listen.unwrap_or(Ipv4Addr::LOCALHOST.into()), self.port);
        TcpListener::bind(at).map_err(|error| {
            let place = format!("port {} of {}", at.port(), at.ip());
            match error.kind() {
                std::io::ErrorKind::AddrInUse => Error::Config(format!(
                    "{place} is in use; choose another port with --port, e.g. `{} serve --port 0`",
                    own_name()
                )),
                std::io::ErrorKind::AddrNotAvailable => Error::Config(format!(
                    "--listen {}: this machine does not have that address; 0.0.0.0 means all of its addresses",
                    at.ip()
                )),
                _ => Error::io(place)(error),
            }
        })
    }
}

/// Parses a host name without a scheme, port, or path.
fn host_name(text: &str) -> std::result::Result<String, String> {
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || "-._".contains(letter);
    if !text.is_empty() && text.chars().all(is_letter) {
        Ok(text.into())
    } else {
        Err("give only a host name, such as my-box.local, without http://, a port, or a path".into())
    }
}

/// Returns the address at which other devices reach this machine: the address that the server listens on or, if it
/// listens on all addresses, the address that the machine would send from. Finding the address sends nothing.
fn reached(listening: SocketAddr) -> SocketAddr {
    let (any, elsewhere): (IpAddr, IpAddr) = match listening {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED.into(), Ipv4Addr::new(192, 0, 2, 1).into()),
        SocketAddr::V6(_) => {
            (Ipv6Addr::UNSPECIFIED.into(), Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1).into())
        }
    };
    if listening.ip() != any {
        return listening;
    }
    let sending = UdpSocket::bind((any, 0)).and_then(|socket| {
        socket.connect((elsewhere, 9))?;
        socket.local_addr()
    });
    sending.map_or(listening, |address| SocketAddr::new(address.ip(), listening.port()))
}

//! Connections: how many there may be, and how long each may take.
//!
//! Each connection serves one request and is closed. A client that sends its request slowly, or not at all, is cut off
//! after [`PATIENCE`]; a client that does not read its answer is cut off after [`LIFETIME`]. Connections beyond
//! [`SOCKETS`] wait in the system's queue.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::Router;
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};

use crate::error::{Error, Result};

/// How long a client may take to send the head of a request, and then its body.
const PATIENCE: Duration = Duration::from_secs(2);
pub(super) const UPLOAD: Duration = Duration::from_secs(5);
/// How long a connection may last: longer than a search that waits for its agent and its turn, which takes at most
/// 115 s.
const LIFETIME: Duration = Duration::from_secs(120);
/// The maximum number of simultaneous connections.
const SOCKETS: usize = 256;
/// The largest number of bytes that a connection may buffer; also the longest head of a request.
const BUFFER: usize = 32 << 10;
/// The time between two checks of `stop`, and the wait if the system has no more sockets.
const PAUSE: Duration = Duration::from_millis(100);

/// The address of the device that sent a request, kept among the request's extensions.
#[derive(Clone, Copy, Debug)]
pub(super) struct Peer(pub(super) IpAddr);

/// Answers requests until `stop` is set.
pub(super) async fn listen(listener: std::net::TcpListener, router: Router, stop: &AtomicBool) -> Result<()> {
    let listener = TcpListener::from_std(listener).map_err(Error::io("the page's port"))?;
    let sockets = Arc::new(Semaphore::new(SOCKETS));
    while !stop.load(Ordering::Relaxed) {
        let Ok(permit) = timeout(PAUSE, sockets.clone().acquire_owned()).await else { continue };
        let (stream, peer) = match timeout(PAUSE, listener.accept()).await {
            Ok(Ok((stream, address))) => (stream, Peer(address.ip())),
            // the client has left, or too many files are open
            Ok(Err(_)) => {
                sleep(PAUSE).await;
                continue;
            }
            Err(_) => continue,
        };
        let routes = TowerToHyperService::new(router.clone());
        let service = service_fn(move |mut request: Request<Incoming>| {
            request.extensions_mut().insert(peer);
            routes.call(request)
        });
        tokio::spawn(async move {
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(PATIENCE)
                .keep_alive(false)
                .max_buf_size(BUFFER)
                .serve_connection(TokioIo::new(stream), service);
            // a failed connection affects only its client
            let _ = timeout(LIFETIME, connection).await;
            drop(permit);
        });
    }
    Ok(())
}

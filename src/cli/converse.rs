//! Holds a protocol conversation on the standard streams; a signal ends it cleanly.

use super::signals::on_interrupt;
use crate::error::Result;
use crate::protocol::Protocol;
use crate::protocol::conversation::{self, Interrupter, Streams};
use crate::protocol::thinker::Thinker;

/// Talks until the other side ends the conversation. The search thread first makes the `thinker`.
pub(super) fn converse<P: Protocol>(
    mut protocol: P,
    thinker: impl FnOnce() -> Result<Thinker> + Send,
) -> Result<()> {
    let streams = Streams {
        input: Box::new(|| Box::new(std::io::stdin().lock())),
        output: &mut std::io::stdout(),
        aside: &mut std::io::stderr(),
    };
    let interrupter = Box::new(|interrupter: Interrupter| on_interrupt(move || interrupter.interrupt()));
    conversation::converse(&mut protocol, streams, Box::new(thinker), interrupter)
}

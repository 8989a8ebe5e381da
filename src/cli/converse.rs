//! A conversation on the standard streams, which a signal ends cleanly.

use super::signals::tell_of_interrupts;
use crate::error::Result;
use crate::protocol::Protocol;
use crate::protocol::conversation::{self, Interrupter, Streams};
use crate::protocol::thinker::Thinker;

/// Talks until the other side ends the conversation. The searching thread first makes the `thinker`.
pub fn converse<P: Protocol>(
    mut protocol: P,
    thinker: impl FnOnce() -> Result<Thinker> + Send,
) -> Result<()> {
    let streams = Streams {
        input: Box::new(|| Box::new(std::io::stdin().lock())),
        output: &mut std::io::stdout(),
        aside: &mut std::io::stderr(),
    };
    let interrupter =
        Box::new(|interrupter: Interrupter| tell_of_interrupts(move || interrupter.interrupt()));
    conversation::converse(&mut protocol, streams, Box::new(thinker), interrupter)
}

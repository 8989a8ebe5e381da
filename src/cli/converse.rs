//! A conversation on the standard streams, which a signal ends in good order.

use super::signals::tell_of_interrupts;
use crate::error::Result;
use crate::game::Game;
use crate::protocol::Protocol;
use crate::protocol::conversation::{self, Streams};
use crate::protocol::thinker::Thinker;

/// Talks until the other side has enough. `thinker` is made first, on the searching thread.
pub fn converse<G: Game, P: Protocol<G>>(
    protocol: P,
    thinker: impl FnOnce() -> Result<Thinker<G>> + Send,
) -> Result<()> {
    let streams = Streams {
        input: || std::io::stdin().lock(),
        output: std::io::stdout(),
        aside: Box::new(std::io::stderr()),
    };
    conversation::converse(protocol, streams, thinker, |interrupter| {
        tell_of_interrupts(move || interrupter.interrupt());
    })
}

//! Who ends the programs of an arena that is gone: a small process that leads the group of one of them.
//!
//! It starts before the program, whose group is thus there and known before the program runs, and its number stays
//! taken until the guardian is reaped, so no other group is ever hit. It waits for the end of its input, a pipe
//! that only this process can write to and never does: however this process ends, by SIGKILL too, the system
//! closes the pipe, and the guardian kills its whole group, itself included. A program that leaves the group is
//! beyond it: one that begins a session or group of its own. (PR_SET_PDEATHSIG would reach the program alone, not
//! what it started, and also when the thread ends that started it.)

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

/// What asks the arena to end reaches everything that a service or a job consists of; the guardian stays until the arena
/// has ended.
const SCRIPT: &str = "trap '' HUP INT QUIT TERM; read -r end; kill -s KILL 0";

/// The leader of a process group, which ends with it.
pub(super) struct Guardian {
    child: Child,
}

impl Guardian {
    /// Starts the leader of a new group.
    pub(super) fn start() -> io::Result<Guardian> {
        // it keeps no folder busy, and nobody waits for it to close an output
        let mut command = Command::new("/bin/sh");
        command.args(["-c", SCRIPT]).current_dir("/").env_clear().process_group(0);
        let child = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let child = child.map_err(|error| io::Error::new(error.kind(), format!("/bin/sh: {error}")))?;
        Ok(Guardian { child })
    }

    /// Puts the process that `command` will start into the group.
    pub(super) fn take_in(&self, command: &mut Command) {
        command.process_group(self.group().as_raw());
    }

    /// Kills the group.
    pub(super) fn kill(&self) {
        // only who is gone cannot be killed
        let _ = killpg(self.group(), Signal::SIGKILL);
    }

    fn group(&self) -> Pid {
        Pid::from_raw(self.child.id() as i32)
    }
}

impl Drop for Guardian {
    fn drop(&mut self) {
        self.kill();
        let _ = self.child.wait();
    }
}

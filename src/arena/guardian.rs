//! Terminates an external program if the arena dies. The guardian is a small process that leads the program's process
//! group.
//!
//! The guardian starts before the program, so the group exists and is known before the program runs. The group's number
//! stays in use until the guardian is reaped, so no other group is ever killed. The guardian waits for the end of its
//! input, a pipe that only this process holds and never writes to. However this process ends, even by SIGKILL, the
//! system closes the pipe, and the guardian kills its whole group, including itself. The guardian cannot reach a
//! program that leaves the group by starting its own session or group. (PR_SET_PDEATHSIG would kill only the program
//! and not its children, and it would do so even when the thread that started the program ends.)

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

/// The guardian's script. Signals that ask the arena to stop may reach every process of a service or job; the guardian
/// ignores them and stays until the arena has ended.
const SCRIPT: &str = "trap '' HUP INT QUIT TERM; read -r end; kill -s KILL 0";

/// The leader of a process group; dropping it kills the group.
pub(super) struct Guardian {
    child: Child,
}

impl Guardian {
    /// Starts the leader of a new group.
    pub(super) fn start() -> io::Result<Guardian> {
        // the guardian must keep no folder in use and no output open
        let mut command = Command::new("/bin/sh");
        command.args(["-c", SCRIPT]).current_dir("/").env_clear().process_group(0);
        let child = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let child = child.map_err(|error| io::Error::new(error.kind(), format!("/bin/sh: {error}")))?;
        Ok(Guardian { child })
    }

    /// Makes the process that `command` will start a member of the group.
    pub(super) fn adopt(&self, command: &mut Command) {
        command.process_group(self.group().as_raw());
    }

    /// Kills the group.
    pub(super) fn kill(&self) {
        // this fails only if the group no longer exists
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

//! Distributes work over all cores. It takes plain function pointers, so this code is compiled once instead of once for
//! each game and closure.
//!
//! Only the work itself is generic, because it must be fast; code that distributes it over threads need not have a copy
//! for each type.

use std::time::Duration;

use rayon::prelude::*;

use crate::error::Result;

/// Calls `work` for 0, 1 ... `count` - 1, in no particular order, and stops early at the first error.
///
/// # Errors
/// The first error that `work` returns.
pub fn each(count: usize, work: &(dyn Fn(usize) -> Result<()> + Sync)) -> Result<()> {
    (0..count).into_par_iter().with_max_len(1).try_for_each(work)
}

/// Returns the results of `work` for 0, 1 ... `count` - 1, in this order, and stops early at the first error.
///
/// # Errors
/// The first error that `work` returns.
pub fn map<T: Send>(count: usize, work: &(dyn Fn(usize) -> Result<T> + Sync)) -> Result<Vec<T>> {
    (0..count).into_par_iter().with_max_len(1).map(work).collect()
}

/// Calls both functions, at the same time if a thread is free.
pub fn both(first: &mut (dyn FnMut() + Send), second: &mut (dyn FnMut() + Send)) {
    rayon::join(first, second);
}

/// Runs `work` on one of the pool's threads. Use it for work that is split into small parts: outside the pool, each
/// split would have to wait for a thread to wake up.
pub fn inside(work: &mut (dyn FnMut() + Send)) {
    rayon::scope(|_| work());
}

/// Returns the CPU time so far of the threads that work for the caller: the threads of its pool and, if it is not one
/// of them, the calling thread. Returns `None` if the system has no clock for threads.
///
/// Other work in the same pool counts, too. Call this function between pieces of work, because it waits until each
/// thread is free.
pub fn cpu_time() -> Option<Duration> {
    let own = match rayon::current_thread_index() {
        Some(_) => Duration::ZERO,
        None => of_this_thread()?,
    };
    rayon::broadcast(|_| of_this_thread()).into_iter().try_fold(own, |sum, time| Some(sum + time?))
}

/// Returns the CPU time of this process since it began, or `None` if the system has no clock for processes.
pub fn cpu_time_of_process() -> Option<Duration> {
    #[cfg(any(unix, windows))]
    {
        cpu_time::ProcessTime::try_now().ok().map(|time| time.as_duration())
    }
    #[cfg(not(any(unix, windows)))]
    {
        None
    }
}

fn of_this_thread() -> Option<Duration> {
    #[cfg(any(unix, windows))]
    {
        cpu_time::ThreadTime::try_now().ok().map(|time| time.as_duration())
    }
    #[cfg(not(any(unix, windows)))]
    {
        None
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::error::Error;

    #[test]
    fn everything_is_done_once() {
        let done: Vec<AtomicUsize> = (0..100).map(|_| AtomicUsize::new(0)).collect();
        each(100, &|index| {
            done[index].fetch_add(1, Ordering::Relaxed);
            Ok(())
        })
        .unwrap();
        assert!(done.iter().all(|times| times.load(Ordering::Relaxed) == 1));
        assert_eq!(map(100, &|index| Ok(index * index)).unwrap()[7..10], [49, 64, 81]);
    }

    #[test]
    #[cfg(unix)]
    fn time_of_all_threads_of_the_pool_counts_and_of_no_other() {
        let busy = |seconds: f64| {
            let began = cpu_time::ThreadTime::now();
            while began.elapsed().as_secs_f64() < seconds {}
        };
        let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        let other = std::thread::spawn(move || busy(0.5));
        let worked = pool.install(|| {
            let before = cpu_time().unwrap();
            rayon::broadcast(|_| busy(0.1));
            cpu_time().unwrap() - before
        });
        assert!((0.2..0.4).contains(&worked.as_secs_f64()), "{worked:?}");
        other.join().unwrap();
    }

    #[test]
    fn an_error_ends_the_work() {
        let fails = |index: usize| if index == 7 { Err(Error::Interrupted) } else { Ok(()) };
        assert!(matches!(each(100, &fails), Err(Error::Interrupted)));
        assert!(matches!(map(100, &fails), Err(Error::Interrupted)));
        let (mut first, mut second) = (0, 0);
        both(&mut || first += 1, &mut || second += 2);
        assert_eq!((first, second), (1, 2));
        let mut thread = None;
        inside(&mut || thread = rayon::current_thread_index());
        assert!(thread.is_some());
    }
}

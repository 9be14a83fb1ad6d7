//! Threads for what is parallel, of this process: a forked one has none of its parent's, and would
//! wait for them for ever.

use std::process;
use std::sync::{Arc, Mutex, PoisonError};

use rayon::{ThreadPool, ThreadPoolBuilder};

static POOL: Mutex<Option<(u32, Arc<ThreadPool>)>> = Mutex::new(None);

/// What `work` gives, whose parallel parts this process's threads share.
pub fn parallel<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    match pool() {
        Some(pool) => pool.install(work),
        // No thread can be made: rayon tries once more, and then does all in this one.
        None => work(),
    }
}

fn pool() -> Option<Arc<ThreadPool>> {
    let mut held = POOL.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, pool)) = held.as_ref().filter(|(of, _)| *of == process::id()) {
        return Some(Arc::clone(pool));
    }
    // To drop the parent's would wake its threads.
    std::mem::forget(held.take());
    let made = Arc::new(ThreadPoolBuilder::new().build().ok()?);
    *held = Some((process::id(), Arc::clone(&made)));
    Some(made)
}

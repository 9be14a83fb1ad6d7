//! Which vCPU executes, and how it hands over to the next one.
//!
//! The plugin API has neither: since QEMU 10, callbacks under `-icount` are given the vCPU for which
//! their block was translated, and no version lets a plugin end a vCPU's turn. QEMU itself has both,
//! as it loads modules that need them: `current_cpu`, `qemu_get_cpu()` and `cpu_exit()`
//! (include/hw/core/cpu.h, since 2013). A vCPU that is told to exit does so when its block ends, and
//! the one thread that executes all of them goes on with the next (accel/tcg/tcg-accel-ops-rr.c).

use std::ffi::{c_char, c_int, c_void, CStr};
use std::ptr;

extern "C" {
    fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
}

type GetCpu = unsafe extern "C" fn(c_int) -> *mut c_void;
type Exit = unsafe extern "C" fn(*mut c_void);

/// The vCPUs, for the thread that executes the guest.
pub struct Turns {
    exit: Exit,
    current: *const *mut c_void,
    vcpus: Vec<*mut c_void>,
}

/// What QEMU exports under a name.
pub fn symbol(name: &CStr) -> Option<*mut c_void> {
    // SAFETY: null is glibc's RTLD_DEFAULT, all that is loaded; the name is a C string.
    let found = unsafe { dlsym(ptr::null_mut(), name.as_ptr()) };
    (!found.is_null()).then_some(found)
}

/// What to say where `may_take_turns` is false.
pub const CANNOT: &str =
    "this QEMU does not let vCPUs take turns: use Debian's, or one that has modules";

/// Whether this QEMU lets vCPUs take turns.
pub fn may_take_turns() -> bool {
    [c"cpu_exit", c"qemu_get_cpu", c"current_cpu"]
        .into_iter()
        .all(|name| symbol(name).is_some())
}

impl Turns {
    /// For so many vCPUs; None where QEMU does not have what it takes. In the thread that executes
    /// the guest: `current_cpu` is that thread's own.
    pub fn new(vcpus: usize) -> Option<Turns> {
        let (exit, get) = (symbol(c"cpu_exit")?, symbol(c"qemu_get_cpu")?);
        let current = symbol(c"current_cpu")?.cast_const().cast();
        // SAFETY: these are the functions' signatures in all versions of QEMU with plugins.
        let (exit, get) = unsafe {
            (
                std::mem::transmute::<*mut c_void, Exit>(exit),
                std::mem::transmute::<*mut c_void, GetCpu>(get),
            )
        };
        // SAFETY: the function takes any number, and returns null for what is none.
        let vcpus: Vec<_> = (0..vcpus).map(|n| unsafe { get(n as c_int) }).collect();
        let all = vcpus.iter().all(|one| !one.is_null());
        all.then_some(Turns {
            exit,
            current,
            vcpus,
        })
    }

    /// The vCPU that executes; None for one that was added later.
    #[inline]
    pub fn current(&self) -> Option<usize> {
        // SAFETY: the variable is this thread's, and is set while a vCPU executes.
        let current = unsafe { *self.current };
        self.vcpus.iter().position(|one| *one == current)
    }

    /// The next vCPU goes on as soon as the block of this one ends.
    pub fn hand_over(&self) {
        // SAFETY: as above; the function sets flags of the vCPU that its own thread looks at.
        unsafe {
            let current = *self.current;
            if !current.is_null() {
                (self.exit)(current);
            }
        }
    }
}

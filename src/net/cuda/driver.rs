//! NVIDIA's GPU driver, found at run time. Input: the names of its library. Output: its functions, or a one-sentence
//! error.
//!
//! Nothing here trusts the library to be a driver: a function may be missing, return any number, or claim success and
//! write nothing. So every function is looked up before the first is called, results are plain numbers (in Rust, an
//! enum with an unknown value would be undefined behavior), pointers to the driver's texts are not followed, and a
//! handle that stays null is an error. The one thing that cannot be guarded against is a library that crashes by
//! itself.
//!
//! The signatures are declared once, here; a test compares them with those of the crate `cudarc`.

use std::ffi::{c_char, c_int, c_uint, c_ulonglong, c_void};
use std::sync::Arc;

#[cfg(not(target_family = "wasm"))]
use libloading::Library;

use crate::error::{Error, Result};

/// An opaque handle of the driver.
pub(super) type Handle = *mut c_void;
/// An address in the memory of the GPU.
pub(super) type Address = c_ulonglong;

/// The possible names of the driver's library; the first library that loads is used.
pub(super) const LIBRARIES: &[&str] =
    if cfg!(windows) { &["nvcuda.dll"] } else { &["libcuda.so.1", "libcuda.so"] };

/// A stand-in for a library on WebAssembly, which cannot load libraries.
#[cfg(target_family = "wasm")]
enum Library {}

#[cfg(target_family = "wasm")]
impl Library {
    unsafe fn new(_: &str) -> Result<Library, ()> {
        Err(())
    }

    unsafe fn get<T>(&self, _: &str) -> Result<&T, ()> {
        match *self {}
    }
}

macro_rules! functions {
    ($($name:ident($($argument:ty),*);)*) => {
        /// The driver's functions that this crate uses, by their names in the library.
        #[allow(non_snake_case)]
        pub(super) struct Driver {
            $(pub(super) $name: unsafe extern "C" fn($($argument),*) -> c_int,)*
        }

        impl Driver {
            fn of(library: &Library) -> Result<Driver, &'static str> {
                // SAFETY: the driver's function of this name has this signature, which a test checks.
                Ok(Driver { $($name: *unsafe { library.get(stringify!($name)) }.map_err(|_| stringify!($name))?,)* })
            }
        }

        /// Returns the names of the functions, each with the sizes of its arguments here and in `cudarc`.
        #[cfg(test)]
        fn signatures() -> Vec<(&'static str, Vec<usize>, Vec<usize>)> {
            use cudarc::driver::sys;
            macro_rules! any { ($any:ty) => { _ }; }
            vec![$((
                stringify!($name),
                vec![$(size_of::<$argument>()),*],
                tests::Sizes::sizes(sys::$name as unsafe fn($(any!($argument)),*) -> sys::CUresult),
            )),*]
        }
    };
}

functions! {
    cuInit(c_uint);
    cuDriverGetVersion(*mut c_int);
    cuDeviceGetCount(*mut c_int);
    cuDeviceGet(*mut c_int, c_int);
    cuDeviceGetName(*mut c_char, c_int, c_int);
    cuDeviceGetAttribute(*mut c_int, c_int, c_int);
    cuDevicePrimaryCtxRetain(*mut Handle, c_int);
    cuDevicePrimaryCtxRelease_v2(c_int);
    cuCtxSetCurrent(Handle);
    cuModuleLoadData(*mut Handle, *const c_void);
    cuModuleUnload(Handle);
    cuModuleGetFunction(*mut Handle, Handle, *const c_char);
    cuFuncSetAttribute(Handle, c_int, c_int);
    cuLaunchKernel(
        Handle, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, Handle, *mut *mut c_void, *mut *mut c_void
    );
    cuMemAlloc_v2(*mut Address, usize);
    cuMemFree_v2(Address);
    cuMemHostAlloc(*mut Handle, usize, c_uint);
    cuMemFreeHost(Handle);
    cuMemcpyHtoD_v2(Address, *const c_void, usize);
    cuMemcpyHtoDAsync_v2(Address, *const c_void, usize, Handle);
    cuMemcpyDtoHAsync_v2(*mut c_void, Address, usize, Handle);
    cuMemsetD32Async(Address, c_uint, usize, Handle);
    cuStreamCreate(*mut Handle, c_uint);
    cuStreamDestroy_v2(Handle);
    cuStreamSynchronize(Handle);
}

impl Driver {
    /// Loads the first of these libraries that exists, permanently: a driver is never unloaded, because its threads
    /// may be running.
    pub(super) fn load(libraries: &[&str]) -> Result<Arc<Driver>> {
        // SAFETY: loading a library runs its initializers; this library is the driver that the user installed.
        let library = libraries.iter().find_map(|name| unsafe { Library::new(*name) }.ok());
        let Some(library) = library else {
            let names = libraries.join(" or ");
            return Err(Error::Missing(format!("no NVIDIA driver was found: {names} cannot be loaded")));
        };
        let library: &'static Library = Box::leak(Box::new(library));
        let driver = Driver::of(library).map_err(|name| {
            Error::Missing(format!("the NVIDIA driver is too old or damaged: it lacks the function {name}"))
        })?;
        Ok(Arc::new(driver))
    }
}

/// Turns the driver's result of a call to `function` into an error if the call failed.
pub(super) fn check(function: &str, code: c_int) -> Result<()> {
    if code == 0 {
        return Ok(());
    }
    let meaning = match code {
        2 => "out of memory on the GPU",
        3 | 4 => "the driver is shutting down",
        34 => "the loaded library is a stub, not the driver",
        46 => "the GPU is unavailable; another program may be using it exclusively",
        100 => "there is no GPU",
        101 => "no such GPU",
        200 | 209 | 218..=222 => "the GPU program is not compatible with the driver or the GPU",
        700 => "an illegal memory access",
        701 => "the launch requires too many resources",
        702 => "the launch took too long",
        719 => "the program on the GPU failed",
        802 => "the system is not ready yet",
        803 => "the driver's components have different versions",
        804 => "the driver is too old for this GPU",
        _ => "see CUresult in NVIDIA's documentation",
    };
    Err(failure(&format!("{function} failed with error {code}: {meaning}")))
}

/// Returns a handle that the driver has written; fails if it is null.
pub(super) fn handle(function: &str, code: c_int, handle: Handle) -> Result<Handle> {
    check(function, code)?;
    if handle.is_null() {
        Err(failure(&format!("{function} reported success but returned nothing")))
    } else {
        Ok(handle)
    }
}

/// Returns an error for a failure of the GPU or the driver.
pub(super) fn failure(what: &str) -> Error {
    Error::io("the GPU")(std::io::Error::other(what))
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) trait Sizes {
        fn sizes(self) -> Vec<usize>;
    }

    macro_rules! sizes {
        ($($argument:ident)*) => {
            impl<R, $($argument),*> Sizes for unsafe fn($($argument),*) -> R {
                fn sizes(self) -> Vec<usize> {
                    vec![$(size_of::<$argument>()),*]
                }
            }
        };
    }

    sizes!(A);
    sizes!(A B);
    sizes!(A B C);
    sizes!(A B C D);
    sizes!(A B C D E F G H I J K);

    #[test]
    fn signatures_are_those_of_cudarc() {
        for (name, sizes, reference) in signatures() {
            assert_eq!(sizes, reference, "{name}");
        }
        assert_eq!(size_of::<cudarc::driver::sys::CUresult>(), size_of::<c_int>());
    }

    #[test]
    fn what_cannot_be_loaded_is_a_sentence() {
        let error = Driver::load(&["libno-such-driver.so"]).err().expect("there is none").to_string();
        assert_eq!(error, "no NVIDIA driver was found: libno-such-driver.so cannot be loaded");
    }
}

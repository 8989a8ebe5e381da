//! What the allocator does with the tensors of a step once they are freed.

#![allow(unsafe_code)]

/// Lets glibc keep freed memory for the next step. By default it hands large blocks back to the kernel, which
/// clears every page anew when the next step asks for them: a quarter of the time of a training step. It
/// holds for the whole process and for good, so a command asks for it, not the library.
pub fn keep_freed() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        /// The largest block that glibc lets be taken from its heaps.
        const LARGEST: libc::c_int = 32 << 20;
        // SAFETY: mallopt may be called at any time and from any thread; it only changes these two limits.
        unsafe {
            libc::mallopt(libc::M_MMAP_THRESHOLD, LARGEST);
            libc::mallopt(libc::M_TRIM_THRESHOLD, libc::c_int::MAX);
        }
    }
}

//! Configures how the allocator handles freed tensors.

#![allow(unsafe_code)]

/// Makes glibc keep freed memory for the next step. By default, glibc returns large blocks to the kernel, which must
/// clear every page again when the next step allocates them. Clearing the pages takes a quarter of the time of a
/// training step. The setting is permanent and affects the whole process, so only the command makes it, and the library
/// does not.
pub(super) fn keep_freed() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        /// The largest block size that glibc allows for its heaps.
        const LARGEST: libc::c_int = 32 << 20;
        /// The size of a heap of a thread other than the main one. A heap that has become empty is returned, whatever
        /// the other limits are, unless the one before it has less than this many bytes left.
        const HEAP: libc::c_int = 64 << 20;
        // SAFETY: mallopt may be called at any time and from any thread; these calls only change limits of the
        // allocator.
        unsafe {
            libc::mallopt(libc::M_MMAP_THRESHOLD, LARGEST);
            libc::mallopt(libc::M_TRIM_THRESHOLD, libc::c_int::MAX);
            libc::mallopt(libc::M_TOP_PAD, HEAP);
        }
    }
}

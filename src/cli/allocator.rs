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
        // SAFETY: mallopt may be called at any time and from any thread; these two calls only change two limits of the
        // allocator.
        unsafe {
            libc::mallopt(libc::M_MMAP_THRESHOLD, LARGEST);
            libc::mallopt(libc::M_TRIM_THRESHOLD, libc::c_int::MAX);
        }
    }
}

/* A library for LD_PRELOAD that makes one operation on files fail: the tests of faults build it (see shim.rs).
 *
 * Operations on paths below FAULT_BELOW whose kind is one of the letters in FAULT_KINDS are counted from 1; the one with the
 * number FAULT_AT meets FAULT_DO:
 *
 *   eio     it fails with EIO, and nothing was done
 *   enospc  it and all later ones that need room fail with ENOSPC
 *   short   half of it is written or read
 *   torn    half of it is written, then SIGKILL
 *   before  SIGKILL, and nothing was done
 *   after   it is done, then SIGKILL
 *
 * Kinds: O open for writing, w write, s sync, m rename, d mkdir, u unlink and rmdir, t truncate;
 * o open for reading, r read, l list a folder, p look at a path.
 * FAULT_LOG names a file that gets a line for each operation counted: number, kind, path. FAULT_PEAK names a
 * file that gets the peak of the process's resident memory in kB when it exits normally. Neither is below FAULT_BELOW.
 * Processes that it starts are not affected. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum action { NOTHING, FAIL, HALF, TEAR, KILL_AFTER };

static const char *below, *kinds, *how, *peak;
static long at;
static int log_file = -1;
static atomic_long count;
static DIR *(*real_opendir)(const char *);
static struct dirent64 *(*real_readdir64)(DIR *);

__attribute__((constructor)) static void begin(void) {
    const char *number = getenv("FAULT_AT"), *log = getenv("FAULT_LOG");
    below = getenv("FAULT_BELOW");
    kinds = getenv("FAULT_KINDS");
    how = getenv("FAULT_DO");
    peak = getenv("FAULT_PEAK");
    at = number ? atol(number) : 0;
    if (log)
        log_file = syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    unsetenv("LD_PRELOAD");
}

static void die(void) {
    raise(SIGKILL);
    for (;;)
        pause();
}

static void absolute(int folder, const char *path, char *out) {
    if (path && path[0] == '/') {
        snprintf(out, PATH_MAX, "%s", path);
        return;
    }
    char link[64], base[PATH_MAX] = "";
    if (folder == AT_FDCWD)
        snprintf(link, sizeof link, "/proc/self/cwd");
    else
        snprintf(link, sizeof link, "/proc/self/fd/%d", folder);
    ssize_t length = syscall(SYS_readlinkat, AT_FDCWD, link, base, sizeof base - 1);
    if (length < 0)
        length = 0;
    base[length] = 0;
    if (path && path[0])
        snprintf(out, PATH_MAX, "%.2000s/%.2000s", base, path);
    else
        snprintf(out, PATH_MAX, "%s", base);
}

static int needs_room(char kind, int creates) {
    return kind == 'w' || kind == 'd' || kind == 'm' || kind == 't' || (kind == 'O' && creates);
}

/* What happens to this operation; with FAIL errno is set. */
static enum action meet(char kind, int creates, int folder, const char *path) {
    if (!below || !kinds || !strchr(kinds, kind))
        return NOTHING;
    int before = errno;
    char place[PATH_MAX];
    absolute(folder, path, place);
    size_t length = strlen(below);
    if (strncmp(place, below, length) || (place[length] && place[length] != '/')) {
        errno = before;
        return NOTHING;
    }
    long number = atomic_fetch_add(&count, 1) + 1;
    if (log_file >= 0) {
        char line[PATH_MAX + 64];
        int written = snprintf(line, sizeof line, "%ld %c %s\n", number, kind, place);
        syscall(SYS_write, log_file, line, written);
    }
    errno = before;
    if (!how || !at)
        return NOTHING;
    if (!strcmp(how, "enospc")) {
        if (number < at || !needs_room(kind, creates))
            return NOTHING;
        errno = ENOSPC;
        return FAIL;
    }
    if (number != at)
        return NOTHING;
    if (!strcmp(how, "eio")) {
        errno = EIO;
        return FAIL;
    }
    if (!strcmp(how, "before"))
        die();
    if (!strcmp(how, "after"))
        return KILL_AFTER;
    if (!strcmp(how, "short"))
        return HALF;
    if (!strcmp(how, "torn"))
        return TEAR;
    return NOTHING;
}

/* Meets the fault, or makes the call, and dies after it if the fault says so. */
#define MEETS(kind, creates, folder, path, call)                                                                       \
    do {                                                                                                               \
        enum action action_ = meet(kind, creates, folder, path);                                                       \
        if (action_ == FAIL)                                                                                           \
            return -1;                                                                                                 \
        long result_ = (call);                                                                                         \
        if (action_ == KILL_AFTER)                                                                                     \
            die();                                                                                                     \
        return result_;                                                                                                \
    } while (0)

static int open_at(int folder, const char *path, int flags, mode_t mode) {
    int writes = (flags & O_ACCMODE) != O_RDONLY || (flags & O_CREAT);
    MEETS(writes ? 'O' : (flags & O_DIRECTORY) ? 'l' : 'o', flags & O_CREAT, folder, path,
          syscall(SYS_openat, folder, path, flags, mode));
}

#define MODE_OF(flags)                                                                                                 \
    mode_t mode = 0;                                                                                                   \
    if (flags & (O_CREAT | O_TMPFILE)) {                                                                               \
        va_list rest;                                                                                                  \
        va_start(rest, flags);                                                                                         \
        mode = va_arg(rest, int);                                                                                      \
        va_end(rest);                                                                                                  \
    }

int open(const char *path, int flags, ...) { MODE_OF(flags) return open_at(AT_FDCWD, path, flags, mode); }
int open64(const char *path, int flags, ...) { MODE_OF(flags) return open_at(AT_FDCWD, path, flags | O_LARGEFILE, mode); }
int openat(int folder, const char *path, int flags, ...) { MODE_OF(flags) return open_at(folder, path, flags, mode); }
int openat64(int folder, const char *path, int flags, ...) { MODE_OF(flags) return open_at(folder, path, flags | O_LARGEFILE, mode); }

static size_t part(enum action action, size_t length) {
    return (action == HALF || action == TEAR) && length > 1 ? length / 2 : length;
}

#define MEETS_PART(kind, file, length, call)                                                                           \
    do {                                                                                                               \
        enum action action_ = meet(kind, 0, file, NULL);                                                               \
        if (action_ == FAIL)                                                                                           \
            return -1;                                                                                                 \
        size_t some = part(action_, length);                                                                           \
        long result_ = (call);                                                                                         \
        if (action_ == TEAR || action_ == KILL_AFTER)                                                                  \
            die();                                                                                                     \
        return result_;                                                                                                \
    } while (0)

ssize_t write(int file, const void *bytes, size_t length) { MEETS_PART('w', file, length, syscall(SYS_write, file, bytes, some)); }
ssize_t pwrite(int file, const void *bytes, size_t length, off_t offset) { MEETS_PART('w', file, length, syscall(SYS_pwrite64, file, bytes, some, offset)); }
ssize_t pwrite64(int file, const void *bytes, size_t length, off64_t offset) { MEETS_PART('w', file, length, syscall(SYS_pwrite64, file, bytes, some, offset)); }
ssize_t writev(int file, const struct iovec *parts, int length) { MEETS('w', 0, file, NULL, syscall(SYS_writev, file, parts, length)); }
ssize_t read(int file, void *bytes, size_t length) { MEETS_PART('r', file, length, syscall(SYS_read, file, bytes, some)); }
ssize_t readv(int file, const struct iovec *parts, int length) { MEETS('r', 0, file, NULL, syscall(SYS_readv, file, parts, length)); }
int fsync(int file) { MEETS('s', 0, file, NULL, syscall(SYS_fsync, file)); }
int fdatasync(int file) { MEETS('s', 0, file, NULL, syscall(SYS_fdatasync, file)); }
int ftruncate(int file, off_t length) { MEETS('t', 0, file, NULL, syscall(SYS_ftruncate, file, length)); }
int ftruncate64(int file, off64_t length) { MEETS('t', 0, file, NULL, syscall(SYS_ftruncate, file, length)); }
int rename(const char *from, const char *to) { MEETS('m', 0, AT_FDCWD, to, syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0)); }
int mkdir(const char *path, mode_t mode) { MEETS('d', 0, AT_FDCWD, path, syscall(SYS_mkdirat, AT_FDCWD, path, mode)); }
int unlink(const char *path) { MEETS('u', 0, AT_FDCWD, path, syscall(SYS_unlinkat, AT_FDCWD, path, 0)); }
int rmdir(const char *path) { MEETS('u', 0, AT_FDCWD, path, syscall(SYS_unlinkat, AT_FDCWD, path, AT_REMOVEDIR)); }
int unlinkat(int folder, const char *path, int flags) { MEETS('u', 0, folder, path, syscall(SYS_unlinkat, folder, path, flags)); }

int statx(int folder, const char *restrict path, int flags, unsigned mask, struct statx *restrict out) {
    MEETS('p', 0, folder, path, syscall(SYS_statx, folder, path, flags, mask, out));
}

DIR *opendir(const char *path) {
    if (!real_opendir)
        real_opendir = (DIR * (*)(const char *)) dlsym(RTLD_NEXT, "opendir");
    if (meet('l', 0, AT_FDCWD, path) == FAIL)
        return NULL;
    return real_opendir(path);
}

struct dirent64 *readdir64(DIR *folder) {
    if (!real_readdir64)
        real_readdir64 = (struct dirent64 * (*)(DIR *)) dlsym(RTLD_NEXT, "readdir64");
    if (meet('l', 0, dirfd(folder), NULL) == FAIL)
        return NULL;
    return real_readdir64(folder);
}

/* The peak of this program alone: that of getrusage includes what the parent had before exec. */
__attribute__((destructor)) static void end(void) {
    char text[8192];
    if (!peak)
        return;
    int status = syscall(SYS_openat, AT_FDCWD, "/proc/self/status", O_RDONLY, 0);
    ssize_t length = syscall(SYS_read, status, text, sizeof text - 1);
    text[length > 0 ? length : 0] = 0;
    const char *line = strstr(text, "VmHWM:");
    int out = syscall(SYS_openat, AT_FDCWD, peak, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (line && out >= 0) {
        line += strlen("VmHWM:");
        line += strspn(line, " \t");
        syscall(SYS_write, out, line, strspn(line, "0123456789"));
    }
}

// Loaded with LD_PRELOAD into a Python process: the calls with which it touches files below a root, watched and, by
// rule, held, refused, or done and denied. In any other program (Spark's java) it does nothing.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "rules.h"

#define MOST_FILES 65536
#define REAL(name) ((__typeof__(&name))real(#name))
#define MODE_OF(flags, last) ((flags) & (O_CREAT | O_TMPFILE) ? mode_of(last) : 0)

static char ours[MOST_FILES]; // file descriptors of files below the root

static void *real(const char *name) { return dlsym(RTLD_NEXT, name); }

__attribute__((constructor)) static void begin(void) {
    char program[PATH_MAX] = "";
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    if (length > 0 && strncmp(basename(program), "python", 6) == 0)
        rules_begin();
    else
        unsetenv("LD_PRELOAD");
}

static void path_of(int fd, char *path) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, PATH_MAX - 1);
    path[length > 0 ? length : 0] = '\0';
}

// The absolute path that (folder, path) means.
static const char *meant(int folder, const char *path, char *buffer) {
    if (path[0] == '/' || folder == AT_FDCWD) return path;
    path_of(folder, buffer);
    size_t length = strlen(buffer);
    snprintf(buffer + length, PATH_MAX - length, "/%s", path);
    return buffer;
}

// Does a call under the rules: -1 and errno where it is refused or denied, else what it gives.
#define WATCHED(op, path, content, call)                                                                               \
    do {                                                                                                               \
        const char *below_ = rules_below(path);                                                                        \
        if (!below_) return call;                                                                                      \
        struct verdict verdict_ = rules_before(op, below_, content);                                                   \
        if (verdict_.refuse) return (errno = verdict_.error, -1);                                                      \
        __typeof__(call) result_ = call;                                                                               \
        int error_ = errno;                                                                                            \
        if (result_ >= 0) rules_after(op, below_, done);                                                               \
        errno = verdict_.deny ? verdict_.error : error_;                                                               \
        return verdict_.deny ? -1 : result_;                                                                           \
    } while (0)

static int watched_open(int folder, const char *path, int flags, mode_t mode) {
    const char *done = NULL;
    const char *op = flags & (O_CREAT | O_WRONLY | O_RDWR) ? "create" : "read";
    WATCHED(op, path, NULL, REAL(openat64)(folder, path, flags, mode));
}

static int noted_open(int folder, const char *path, int flags, mode_t mode) {
    char buffer[PATH_MAX];
    const char *whole = meant(folder, path, buffer);
    int fd = watched_open(folder, whole, flags, mode);
    if (fd >= 0 && fd < MOST_FILES) ours[fd] = rules_below(whole) != NULL;
    return fd;
}

static mode_t mode_of(va_list *last) { return va_arg(*last, mode_t); }

#define OPEN(flags, folder)                                                                                            \
    va_list last;                                                                                                      \
    va_start(last, flags);                                                                                             \
    mode_t mode = MODE_OF(flags, &last);                                                                               \
    va_end(last);                                                                                                      \
    return noted_open(folder, path, flags, mode)

int open(const char *path, int flags, ...) { OPEN(flags, AT_FDCWD); }
int open64(const char *path, int flags, ...) { OPEN(flags, AT_FDCWD); }
int openat(int folder, const char *path, int flags, ...) { OPEN(flags, folder); }
int openat64(int folder, const char *path, int flags, ...) { OPEN(flags, folder); }

#define ON_FILE(op, fd, call)                                                                                          \
    if (fd < 0 || fd >= MOST_FILES || !ours[fd]) return call;                                                          \
    char path[PATH_MAX];                                                                                               \
    path_of(fd, path);                                                                                                 \
    const char *done = path;                                                                                           \
    WATCHED(op, path, path, call)

ssize_t write(int fd, const void *data, size_t size) { ON_FILE("write", fd, REAL(write)(fd, data, size)); }
ssize_t writev(int fd, const struct iovec *data, int size) { ON_FILE("write", fd, REAL(writev)(fd, data, size)); }
ssize_t pwrite64(int fd, const void *data, size_t size, off64_t place) {
    ON_FILE("write", fd, REAL(pwrite64)(fd, data, size, place));
}
int fsync(int fd) { ON_FILE("fsync", fd, REAL(fsync)(fd)); }
int fdatasync(int fd) { ON_FILE("fsync", fd, REAL(fdatasync)(fd)); }

int close(int fd) {
    if (fd < 0 || fd >= MOST_FILES || !ours[fd]) return REAL(close)(fd);
    char path[PATH_MAX];
    path_of(fd, path);
    ours[fd] = 0; // before the number is free for another thread's file
    const char *below = rules_below(path);
    struct verdict verdict = below ? rules_before("close", below, path) : (struct verdict){0};
    int result = REAL(close)(fd); // Linux closes also what it reports as failed
    if (result == 0 && below) rules_after("close", below, path);
    return verdict.refuse || verdict.deny ? (errno = verdict.error, -1) : result;
}

static int watched_link(int from, const char *old, int to, const char *new, int flags) {
    char first[PATH_MAX], second[PATH_MAX];
    const char *content = meant(from, old, first), *done = meant(to, new, second);
    WATCHED("link", done, content, REAL(linkat)(from, old, to, new, flags));
}
int link(const char *old, const char *new) { return watched_link(AT_FDCWD, old, AT_FDCWD, new, 0); }
int linkat(int from, const char *old, int to, const char *new, int flags) {
    return watched_link(from, old, to, new, flags);
}

static int watched_rename(int from, const char *old, int to, const char *new, unsigned flags) {
    char first[PATH_MAX], second[PATH_MAX];
    const char *content = meant(from, old, first), *done = meant(to, new, second);
    WATCHED("rename", done, content, REAL(renameat2)(from, old, to, new, flags));
}
int rename(const char *old, const char *new) { return watched_rename(AT_FDCWD, old, AT_FDCWD, new, 0); }
int renameat(int from, const char *old, int to, const char *new) { return watched_rename(from, old, to, new, 0); }
int renameat2(int from, const char *old, int to, const char *new, unsigned flags) {
    return watched_rename(from, old, to, new, flags);
}

static int watched_unlink(int folder, const char *path, int flags) {
    char buffer[PATH_MAX];
    const char *done = NULL, *whole = meant(folder, path, buffer);
    WATCHED("unlink", whole, whole, REAL(unlinkat)(folder, path, flags));
}
int unlink(const char *path) { return watched_unlink(AT_FDCWD, path, 0); }
int unlinkat(int folder, const char *path, int flags) { return watched_unlink(folder, path, flags); }

static int watched_mkdir(int folder, const char *path, mode_t mode) {
    char buffer[PATH_MAX];
    const char *done = NULL, *whole = meant(folder, path, buffer);
    WATCHED("mkdir", whole, NULL, REAL(mkdirat)(folder, path, mode));
}
int mkdir(const char *path, mode_t mode) { return watched_mkdir(AT_FDCWD, path, mode); }
int mkdirat(int folder, const char *path, mode_t mode) { return watched_mkdir(folder, path, mode); }

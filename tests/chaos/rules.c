// The rule file: read again when it changes, held against each call, its markers kept beside it.

#define _GNU_SOURCE
#include "rules.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MOST_RULES 32
#define LINE 1024
#define MOST_CONTENT (8 << 20)

struct rule {
    char name[64], ops[128], patterns[512], after[64], text[256];
    int nth, error, hits;
    enum action action;
    bool always, struck;
};

static const char *ACTIONS[] = {"hold", "fail", "lie", "mark", "log"};
static char control[PATH_MAX], root[PATH_MAX];
static struct rule rules[MOST_RULES];
static int count;
static struct stat seen;
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;

// Raw system calls, so that what is done here meets none of our own wrappers.
static int raw_open(const char *path, int flags) { return (int)syscall(SYS_openat, AT_FDCWD, path, flags, 0666); }
static void raw_close(int fd) { syscall(SYS_close, fd); }

static void beside(char *path, const char *name, const char *kind) {
    snprintf(path, PATH_MAX, "%.3000s/%s.%s", control, name, kind);
}

static bool there(const char *name, const char *kind) {
    char path[PATH_MAX];
    beside(path, name, kind);
    return access(path, F_OK) == 0;
}

static void touch(const char *name, const char *kind) {
    char path[PATH_MAX];
    beside(path, name, kind);
    raw_close(raw_open(path, O_CREAT | O_WRONLY | O_CLOEXEC));
}

void rules_begin(void) {
    const char *where = getenv("FAULTS_CONTROL"), *what = getenv("FAULTS_ROOT");
    if (where && what) {
        snprintf(control, sizeof control, "%s", where);
        snprintf(root, sizeof root, "%s/", what);
    }
}

const char *rules_below(const char *path) {
    size_t length = strlen(root);
    return length && strncmp(path, root, length) == 0 ? path + length : NULL;
}

static bool parse(struct rule *rule, const char *line) {
    char action[16], span[16];
    memset(rule, 0, sizeof *rule);
    int found = sscanf(line, "%63[^\t]\t%127[^\t]\t%511[^\t]\t%63[^\t]\t%255[^\t]\t%d\t%15[^\t]\t%d\t%15[^\t\n]",
                       rule->name, rule->ops, rule->patterns, rule->after, rule->text, &rule->nth, action,
                       &rule->error, span);
    rule->always = strcmp(span, "always") == 0;
    for (int each = HOLD; found == 9 && each <= LOG; each++)
        if (strcmp(action, ACTIONS[each]) == 0) {
            rule->action = each;
            return true;
        }
    fprintf(stderr, "faults: no rule: %s", line);
    return false;
}

static void reload(void) {
    char path[PATH_MAX], line[LINE];
    struct stat now;
    snprintf(path, sizeof path, "%.4000s/rules", control);
    if (stat(path, &now) != 0 ||
        (now.st_mtim.tv_sec == seen.st_mtim.tv_sec && now.st_mtim.tv_nsec == seen.st_mtim.tv_nsec &&
         now.st_size == seen.st_size && now.st_ino == seen.st_ino))
        return;
    seen = now;
    FILE *file = fopen(path, "re");
    for (count = 0; file && count < MOST_RULES && fgets(line, sizeof line, file);) count += parse(&rules[count], line);
    if (file) fclose(file);
}

static bool listed(const char *list, const char *one, bool pattern) {
    char copy[512], *rest = copy, *each;
    snprintf(copy, sizeof copy, "%s", list);
    while ((each = strsep(&rest, ",")))
        if (pattern ? fnmatch(each, one, 0) == 0 : strcmp(each, "*") == 0 || strcmp(each, one) == 0) return true;
    return false;
}

static bool contains(const char *path, const char *text) {
    static char content[MOST_CONTENT]; // the caller holds the turn
    int fd = path ? raw_open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0) return false;
    ssize_t length = 0, more;
    while ((more = syscall(SYS_read, fd, content + length, MOST_CONTENT - length)) > 0) length += more;
    raw_close(fd);
    return memmem(content, length, text, strlen(text)) != NULL;
}

static bool armed(const struct rule *rule) {
    if (strcmp(rule->after, "-") == 0) return true;
    for (int each = 0; each < count; each++)
        if (strcmp(rules[each].name, rule->after) == 0) return rules[each].struck;
    return false;
}

// Counts the call; whether the rule strikes now.
static bool strikes(struct rule *rule, const char *op, const char *below, const char *content) {
    if (!listed(rule->ops, op, false) || !listed(rule->patterns, below, true) || !armed(rule)) return false;
    if (strcmp(rule->text, "-") != 0 && !contains(content, rule->text)) return false;
    rule->hits++;
    if (rule->always ? rule->hits < rule->nth || there(rule->name, "over") : rule->hits != rule->nth) return false;
    return true;
}

static void tell(const struct rule *rule, const char *op, const char *below) {
    char path[PATH_MAX], line[PATH_MAX];
    beside(path, rule->name, "log");
    int length = snprintf(line, sizeof line, "%s\t%.4000s\n", op, below);
    int fd = raw_open(path, O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC);
    syscall(SYS_write, fd, line, length);
    raw_close(fd);
}

// The rule of one kind that strikes first, or NULL; `active` rules act before a call, the others after it.
static const struct rule *find(bool active, const char *op, const char *below, const char *content) {
    const struct rule *found = NULL;
    for (int each = 0; each < count && !found; each++) {
        struct rule *rule = &rules[each];
        if ((rule->action < MARK) != active || !strikes(rule, op, below, content)) continue;
        if (active) found = rule;
        if (rule->action == LOG) tell(rule, op, below);
        if (!rule->struck && rule->action != LOG) touch(rule->name, "reached");
        rule->struck = true;
    }
    return found;
}

static void wait_for_go(const char *name) {
    const struct timespec pause = {.tv_nsec = 5 * 1000 * 1000};
    while (!there(name, "go")) nanosleep(&pause, NULL);
}

struct verdict rules_before(const char *op, const char *below, const char *content) {
    struct rule rule = {.action = MARK};
    pthread_mutex_lock(&turn);
    reload();
    const struct rule *found = find(true, op, below, content);
    if (found) rule = *found;
    pthread_mutex_unlock(&turn);
    if (rule.action == HOLD) wait_for_go(rule.name);
    return (struct verdict){.refuse = rule.action == FAIL, .deny = rule.action == LIE, .error = rule.error};
}

void rules_after(const char *op, const char *below, const char *content) {
    pthread_mutex_lock(&turn);
    find(false, op, below, content);
    pthread_mutex_unlock(&turn);
}

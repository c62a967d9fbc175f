// What a rule says, and how a call is held against it. See rules.py for the file's format.

#pragma once
#include <stdbool.h>

enum action { HOLD, FAIL, LIE, MARK, LOG };

// What is to become of a call: done, refused, or done and denied.
struct verdict {
    bool refuse, deny;
    int error;
};

// Reads FAULTS_CONTROL and FAULTS_ROOT once; without both nothing is ever watched.
void rules_begin(void);

// The path below the root, or NULL where it is none of ours.
const char *rules_below(const char *path);

// Before the call: may wait, and says whether to refuse or to deny it. `content` is a file whose text counts, or NULL.
struct verdict rules_before(const char *op, const char *below, const char *content);

// After a call that was done: marks and logs.
void rules_after(const char *op, const char *below, const char *content);

/** <crunloop_kit/token.h>: identifies the members of a port set or a deadline heap. */
#ifndef CRUNLOOP_KIT_TOKEN_H
#define CRUNLOOP_KIT_TOKEN_H

#include <crunloop/base.h>

RLC_BEGIN_DECLS

/**
 * Identifies a member of a port set or of a deadline heap. Its bits are generation << 32 | slot; 0 is no valid token.
 *
 * A token is a plain value, which may be copied and compared. When the member is removed, the token becomes stale.
 * Functions return -ENOENT for a stale token, even if another member uses the slot by then [RLC-TOKEN-1].
 */
typedef struct rlc_token {
    uint64_t bits;
} rlc_token;

RLC_END_DECLS
#endif

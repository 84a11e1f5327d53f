/** Exit codes: 64 and 78 are EX_USAGE and EX_CONFIG of sysexits.h; a command that cannot be started ends as in a shell. */
export const EXIT = { ok: 0, failure: 1, usage: 64, config: 78 } as const

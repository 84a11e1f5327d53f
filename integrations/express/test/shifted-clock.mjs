/** Loaded ahead of a program: sets the clock of its process off by this many minutes. */
const offMs = Number(process.env.CLOCK_OFF_MINUTES) * 60_000
const now = Date.now
Date.now = () => now() + offMs

/** Loaded before a program: its machine's clock is off by `CLOCK_OFF_MS`. */
const { now } = Date
const offMs = Number(process.env.CLOCK_OFF_MS)
Date.now = () => now() + offMs

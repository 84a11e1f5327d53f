/** Loaded before a program: its machine's clock is off by `CLOCK_OFF_MS`, and goes an hour ahead at SIGUSR2. */
const { now } = Date
let offMs = Number(process.env.CLOCK_OFF_MS)
Date.now = () => now() + offMs
process.on('SIGUSR2', () => {
  offMs += 3_600_000
})

/** Runs a computation that can be done in parts all at once, and returns its result. */
export function runToEnd<T>(parts: Generator<void, T>): T {
  for (;;) {
    const { done, value } = parts.next()
    if (done) return value
  }
}

/** The result of a computation that can be done in parts, done in one. */
export function runToEnd<T>(parts: Generator<void, T>): T {
  for (;;) {
    const { done, value } = parts.next()
    if (done) return value
  }
}

/** Runs a computation in parts, with a pause between them, and returns its result. */
export async function inParts<T>(parts: Generator<void, T>, pause: () => Promise<void>): Promise<T> {
  for (;;) {
    const { done, value } = parts.next()
    if (done) return value
    await pause()
  }
}

/** The result of a computation that is done in parts, with a pause between them. */
export async function inParts<T>(parts: Generator<void, T>, pause: () => Promise<void>): Promise<T> {
  for (;;) {
    const { done, value } = parts.next()
    if (done) return value
    await pause()
  }
}

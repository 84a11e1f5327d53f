/** Looks again and again until `probe` finds something; after the deadline it fails and says what was waited for. */
export async function until<T>(
  what: string,
  probe: () => T | undefined | Promise<T | undefined>,
  deadlineMs = 30_000,
): Promise<T> {
  const end = performance.now() + deadlineMs
  for (;;) {
    const found = await probe()
    if (found !== undefined) return found
    if (performance.now() > end) throw new Error(`Not within ${deadlineMs} ms: ${what}.`)
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

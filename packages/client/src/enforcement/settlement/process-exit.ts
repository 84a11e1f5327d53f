/** What a runtime like Node tells a process that has nothing left to do; others have no such thing. */
interface IdleProcess {
  on(event: 'beforeExit', listener: () => void): void
  off(event: 'beforeExit', listener: () => void): void
}

/**
 * Runs `work` when the process has nothing else to do and would end; it ends after that, whatever came of it. Not called by
 * `process.exit()` or a signal. Returns what takes it back.
 */
export function whenProcessIsIdle(work: () => Promise<void>): () => void {
  const here = globalThis.process as unknown as Partial<IdleProcess> | undefined
  if (typeof here?.on !== 'function' || typeof here.off !== 'function') return () => undefined
  const listener = (): void => void work()
  here.on('beforeExit', listener)
  return () => here.off?.('beforeExit', listener)
}

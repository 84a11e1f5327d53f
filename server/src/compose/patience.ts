/** The patience of a start with its store: it waits for a machine that is starved of disk or network. */
import { setTimeout as pause } from 'node:timers/promises'
import type { Config } from '../config.js'
import type { Log } from '../ports/log.js'
import { DamagedRecordError, StoreUnavailableError } from '../ports/store/errors.js'
import { WAITS } from '../waits.js'

const TRY_AGAIN_MS = 500

export interface Patience {
  /**
   * Runs a step of the start without a time limit, and repeats it while waiting can help. Repeating the step must be
   * harmless.
   *
   * @param what describes what the step waits for: `the store to open`
   * @throws errors of the step that waiting does not fix
   */
  until<T>(what: string, step: () => Promise<T>): Promise<T>
}

/** How a store fails, and how the operator can react. */
interface StoreTrouble {
  /** Whether the failure may be gone when the step is repeated. */
  mayPass(error: unknown): boolean
  /** Returns a sentence without credentials. */
  reasonOf(error: unknown): string
  readonly advice: string
}

/** @param isOpen whether the store was reached before */
export async function patienceWith({ mongodbUrl, dataDir }: Config, log: Log, isOpen: boolean): Promise<Patience> {
  const trouble = mongodbUrl === null ? diskTrouble(dataDir) : await mongodbTrouble(mongodbUrl, isOpen)
  return { until: (what, step) => wait(trouble, log, what, step) }
}

async function wait<T>(trouble: StoreTrouble, log: Log, what: string, step: () => Promise<T>): Promise<T> {
  const started = performance.now()
  let reason: string | undefined
  const report = setInterval(() => {
    const waited_s = Math.round((performance.now() - started) / 1000)
    log.warn(
      { waiting_for: what, waited_s, reason },
      `the server is not ready yet: it waits for ${what}, for ${waited_s} s so far, and continues by itself. ${trouble.advice}`,
    )
  }, WAITS.reportEveryMs)
  try {
    for (;;) {
      try {
        return await step()
      } catch (error) {
        if (!trouble.mayPass(error)) throw error
        // An error without a cause repeats the one before it.
        if (reason === undefined || (error as Error).cause !== undefined) reason = trouble.reasonOf(error)
      }
      await pause(TRY_AGAIN_MS)
    }
  } finally {
    clearInterval(report)
  }
}

/** The embedded store fails permanently, or is slow. */
function diskTrouble(dataDir: string): StoreTrouble {
  return {
    mayPass: () => false,
    reasonOf: String,
    advice: `Check the disk of DATA_DIR ${dataDir}, which is slow or busy, and the load of this machine.`,
  }
}

async function mongodbTrouble(url: string, isOpen: boolean): Promise<StoreTrouble> {
  // Loaded only when used, like the driver.
  const { isLate, mongoFailure } = await import('../stores/mongodb/connection/failure.js')
  return {
    // An address that was never reached may be wrong.
    mayPass: (error) =>
      error instanceof StoreUnavailableError && !(error instanceof DamagedRecordError) && (isOpen || isLate(error)),
    reasonOf: (error) => mongoFailure(url, error),
    advice: 'Check that MongoDB runs, its load and its disk, and the network between it and this machine.',
  }
}

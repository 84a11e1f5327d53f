import { setTimeout as pause } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { bootstrapKeyPath, hasBootstrapKey } from '../adapters/bootstrap-key-file.js'
import { jsonLog } from '../adapters/json-log.js'
import { systemClock } from '../adapters/system-clock.js'
import { type Config, ConfigError, exportOfSpans, readConfig } from '../config.js'
import type { Log } from '../ports/log.js'
import { type Started, StoreNotClosedError, start } from '../start.js'
import { addressOf } from '../stores/mongodb/connection/url.js'
import { banner } from './banner.js'
import { EXIT, fail } from './exit.js'
import { startFailure } from './start-failure.js'

/** Two signals within this time count as one. */
const SAME_SIGNAL_MS = 500
/** How long a start may continue after a signal to stop. Otherwise it waits for the store. */
const START_GRACE_MS = 2_000

/** Runs the server until a signal stops it. Resolves with the exit code. */
export async function serve({ acceptLoss = false }: { readonly acceptLoss?: boolean }): Promise<number> {
  const isTerminal = process.stdout.isTTY === true
  let config: Config
  try {
    config = readConfig(process.env)
  } catch (error) {
    if (error instanceof ConfigError) return fail(error, EXIT.config)
    throw error
  }
  // At a terminal a person reads the banner, so only problems are logged unless LOG_LEVEL says otherwise.
  const log = jsonLog(isTerminal && !process.env.LOG_LEVEL ? 'warn' : config.logLevel)
  if (process.env.MONGODB_URL === '')
    log.warn({ data_dir: config.dataDir }, 'MONGODB_URL is empty: the embedded store in DATA_DIR is used')
  const stopSignal = untilSignal(log)
  let started: Started | null
  try {
    const starting = start(config, { clock: systemClock(), log, acceptsLoss: acceptLoss, feedInThread: true })
    started = await Promise.race([starting, stopSignal.then(() => pause(START_GRACE_MS, null, { ref: false }))])
  } catch (error) {
    return startFailure(error, config)
  }
  if (started === null) {
    log.info(
      {},
      'stopped before the server was ready: it waited for its store. The next start continues from what is stored',
    )
    // The wait for the store would keep the process alive. No request was answered.
    process.exit(EXIT.ok)
  }
  await reportReady(started, config, isTerminal, log)
  collectYoungAlone()
  await stopSignal
  try {
    await started.stop()
  } catch (error) {
    // The parts that did not stop would keep the process alive.
    process.exit(isCleanedUpLater(error, config) ? warnNotClosed(error, log) : fail(error as Error, EXIT.failure))
  }
  log.info({}, 'stopped')
  // An export in progress would keep the process alive for as long as its collector may take.
  if (exportOfSpans(config).url !== null) process.exit(EXIT.ok)
  return EXIT.ok
}

/**
 * Lets each thread collect its young garbage without the helper threads of V8. They have a few hundred kilobytes to look at,
 * less work than waking them is, and the thread would wait until each of them gets a CPU. A start is over before: other
 * flags than those of Node's own compiled code make it compile that code again.
 */
function collectYoungAlone(): void {
  setFlagsFromString('--no-parallel-scavenge')
}

/** A shared store is cleaned up by the other servers, or by the next start. */
function isCleanedUpLater(error: unknown, { mongodbUrl }: Config): boolean {
  return mongodbUrl !== null && error instanceof StoreNotClosedError
}

function warnNotClosed(err: unknown, log: Log): number {
  log.warn(
    { err },
    'stopped while the store was unavailable; other servers or the next start will finish the remaining work',
  )
  return EXIT.ok
}

/** Resolves at the first signal to stop, even if the server is still starting. */
function untilSignal(log: Log): Promise<void> {
  let signalledAt: number | null = null
  return new Promise((resolve) => {
    const onSignal = (signal: NodeJS.Signals): void => {
      // A second signal ends the process now. npm repeats the Ctrl-C of the terminal, which is not a second one.
      if (signalledAt !== null && performance.now() - signalledAt > SAME_SIGNAL_MS) process.exit(EXIT.failure)
      if (signalledAt !== null) return
      signalledAt = performance.now()
      log.info({ signal }, 'stopping')
      resolve()
    }
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, onSignal)
  })
}

async function reportReady({ url, composed }: Started, config: Config, isTerminal: boolean, log: Log): Promise<void> {
  const { dataDir } = config
  const readyMs = Math.round(performance.now())
  const { policyCount, bootstrap } = composed
  const store = storeOf(config)
  const keyFile = (await hasBootstrapKey(dataDir)) ? bootstrapKeyPath(dataDir) : null
  if (isTerminal)
    process.stdout.write(
      banner({
        url,
        signInLink: signInLink(url, composed.signInCode()),
        store: `${store.store}, ${store.path}`,
        policyCount,
        readyMs,
        firstKey: bootstrap?.text ?? null,
        keyFile,
      }),
    )
  else
    log.info(
      {
        url,
        ...store,
        policies: policyCount,
        ready_ms: readyMs,
        ...(bootstrap !== null && { bootstrap_key_file: bootstrap.path }),
      },
      policyCount === 0 ? 'ready; 0 policies, so every request is denied' : 'ready',
    )
}

/** The code follows the `#`, so no log and no proxy ever sees it. */
function signInLink(url: string, code: string | null): string | null {
  if (code === null) return null
  // A browser on this machine reaches a server that listens on every address, and may sign in over plain HTTP.
  const here = url.replace(/^http:\/\/(0\.0\.0\.0|\[::\])(?=:)/, 'http://127.0.0.1')
  return `${here}/sign-in#${code}`
}

/** The kind of store and its location, without the credentials that its URL may contain. */
function storeOf({ dataDir, mongodbUrl }: Config): { readonly store: string; readonly path: string } {
  if (mongodbUrl === null) return { store: 'embedded', path: dataDir }
  return { store: 'MongoDB', path: addressOf(mongodbUrl) }
}

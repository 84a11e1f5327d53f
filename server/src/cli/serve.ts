import { addressOf } from '@countersign/store-mongodb/connection/url'
import { StoreUnavailableError } from '@countersign/store-port/store'
import { bootstrapKeyPath, hasBootstrapKey } from '../adapters/bootstrap-key-file.js'
import { systemClock } from '../adapters/system-clock.js'
import { type Config, ConfigError, readConfig } from '../config.js'
import type { Log } from '../ports/log.js'
import { type Started, StoreNotClosedError, start } from '../start.js'
import { banner } from './banner.js'
import { EXIT, fail } from './exit.js'
import { jsonLog } from './log.js'

/** Signals that come closer together than this are one. */
const ASKED_TWICE_MS = 500

/** Runs the server until it is told to stop. Resolves with the exit code. */
export async function serve({ acceptLoss = false }: { readonly acceptLoss?: boolean }): Promise<number> {
  const isTerminal = process.stdout.isTTY === true
  let config: Config
  try {
    config = readConfig(process.env)
  } catch (error) {
    if (error instanceof ConfigError) return fail(error, EXIT.config)
    throw error
  }
  // A person reads the banner; at a terminal only what is wrong is logged, unless asked otherwise.
  const log = jsonLog(isTerminal && !process.env.LOG_LEVEL ? 'warn' : config.logLevel)
  if (process.env.MONGODB_URL === '')
    log.warn({ data_dir: config.dataDir }, 'MONGODB_URL is empty: the embedded store in DATA_DIR is used')
  const asked = untilAsked(log)
  let started: Started
  try {
    started = await start(config, { clock: systemClock(), log, acceptsLoss: acceptLoss })
  } catch (error) {
    return refuse(error, config)
  }
  await announce(started, config, isTerminal, log)
  await asked
  try {
    await started.stop()
  } catch (error) {
    // What did not stop would keep the process alive.
    process.exit(isLeftToOthers(error, config) ? leave(error, log) : fail(error as Error, EXIT.failure))
  }
  log.info({}, 'stopped')
  return EXIT.ok
}

/** A store that others share is put in order by them. */
function isLeftToOthers(error: unknown, { mongodbUrl }: Config): boolean {
  return mongodbUrl !== null && error instanceof StoreNotClosedError
}

function leave(err: unknown, log: Log): number {
  log.warn({ err }, 'stopped while the store was away; other servers, or the next start, finish what is left')
  return EXIT.ok
}

/** Resolves at the first signal to stop, also one that comes while the server still starts. */
function untilAsked(log: Log): Promise<void> {
  let askedAt: number | null = null
  return new Promise((resolve) => {
    const onSignal = (signal: NodeJS.Signals): void => {
      // Whoever asks twice does not want to wait. npm hands on the Ctrl-C that the terminal sent already: that is once.
      if (askedAt !== null && performance.now() - askedAt > ASKED_TWICE_MS) process.exit(EXIT.failure)
      if (askedAt !== null) return
      askedAt = performance.now()
      log.info({ signal }, 'stopping')
      resolve()
    }
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, onSignal)
  })
}

async function announce({ url, composed }: Started, config: Config, isTerminal: boolean, log: Log): Promise<void> {
  const { dataDir } = config
  const readyMs = Math.round(performance.now())
  const { policyCount, bootstrap } = composed
  const store = storeOf(config)
  const keyFile = (await hasBootstrapKey(dataDir)) ? bootstrapKeyPath(dataDir) : null
  if (isTerminal)
    process.stdout.write(
      banner({
        url,
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

/** Which store it is, and where; never with the credentials that its URL may hold. */
function storeOf({ dataDir, mongodbUrl }: Config): { readonly store: string; readonly path: string } {
  if (mongodbUrl === null) return { store: 'embedded', path: dataDir }
  return { store: 'MongoDB', path: addressOf(mongodbUrl) }
}

/** Tells what to do about the errors that an operator meets. A setting that cannot be used is a fault of the configuration. */
async function refuse(error: unknown, config: Config): Promise<number> {
  const { host, port, dataDir } = config
  const { code, syscall } = error as NodeJS.ErrnoException
  if (code === 'EADDRINUSE') {
    const message = `Port ${port} on ${host} is in use. Is Countersign running already? Else set PORT to another one.`
    return fail(new Error(message), EXIT.failure)
  }
  if (code === 'EACCES' && syscall === 'listen')
    return fail(new Error(`This user may not use port ${port} on ${host}.`), EXIT.failure)
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND')
    return fail(new Error(`HOST ${host} is no address of this machine.`), EXIT.failure)
  if (config.mongodbUrl !== null && error instanceof StoreUnavailableError) {
    const { mongoFailure } = await import('@countersign/store-mongodb/connection/failure')
    const told = mongoFailure(config.mongodbUrl, error)
    return fail(new Error(`${told} Is it running, and is MONGODB_URL right?`, { cause: error }), EXIT.failure)
  }
  if (syscall === 'mkdir')
    return fail(new Error(`DATA_DIR ${dataDir} cannot be made a directory (${code}).`), EXIT.config)
  return fail(error instanceof Error ? error : new Error(String(error)), EXIT.failure)
}

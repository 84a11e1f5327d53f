import { thisMoment } from '../../concurrency/moment.js'
import { type Config, ConfigError, readConfig } from '../../config.js'
import { EXIT } from '../exit.js'
import { checkAuditLog } from './audit-log.js'
import { checkClock } from './clock.js'
import { checkDataDirectory, checkFiles, checkSpace } from './data-directory.js'
import { type Finding, fine, lineOf, problem } from './finding.js'
import { checkPort } from './port.js'
import { checkSigningKeys } from './signing-keys.js'
import { checkStore } from './store.js'
import { checkTraces } from './traces.js'

const MINIMUM_FREE_BYTES = 256 * 2 ** 20

/** Prints one line for each requirement of a server with these settings. Exit code 1 for a problem. Changes nothing. */
export async function doctor({ deep = false }: { readonly deep?: boolean }): Promise<number> {
  const findings = await examine(deep)
  for (const [subject, finding] of findings) process.stdout.write(`${lineOf(subject, finding)}\n`)
  return findings.every(([, { fix }]) => fix === null) ? EXIT.ok : EXIT.failure
}

async function examine(isDeep: boolean): Promise<readonly (readonly [string, Finding])[]> {
  let config: Config
  try {
    config = readConfig(process.env)
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return error.problems.map((text) => ['configuration', problem(text, 'correct it, or unset it to use the default.')])
  }
  const begin = thisMoment()
  const { dataDir } = config
  const directory = checkDataDirectory(dataDir)
  const valid = ['configuration', fine('Valid.')] as const
  // Without write access there, the other checks would fail, or leave files that the server cannot open.
  if (directory.fix !== null) return [valid, ['data directory', directory]]
  const files = checkFiles(dataDir)
  const store = await checkStore(config, isDeep)
  const keys = await checkSigningKeys(dataDir, store.newestEntryAt !== null)
  return [
    valid,
    ['port', await checkPort({ ...config, activeKid: keys.activeKid })],
    ['data directory', directory],
    ['files', files],
    ['disk space', checkSpace(dataDir, MINIMUM_FREE_BYTES)],
    ['store', store.finding],
    ['audit log', store.isReadable ? await checkAuditLog(config, isDeep) : fine('It was not read.')],
    ['clock', checkClock(begin, thisMoment(), store.newestEntryAt)],
    ['signing keys', keys.finding],
    ['traces', await checkTraces(config)],
  ]
}

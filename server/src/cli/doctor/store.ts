import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from '../../config.js'
import { DamagedRecordError } from '../../ports/store/errors.js'
import { assertSoundThroughout, assertStartable, inspectSqliteStore } from '../../stores/sqlite/inspect.js'
import { type Finding, fine, problem } from './finding.js'

export interface StoreFinding {
  readonly finding: Finding
  /** Whether its content can be read, regardless of other problems. */
  readonly isReadable: boolean
  /** Milliseconds since 1970; null without an entry, or when the store could not be read. */
  readonly newestEntryAt: number | null
}

/**
 * Whether the store can be reached, passes a quick check, and has a schema that this release can use.
 *
 * @param isDeep whether to read an embedded store to its end and compare each audit entry with its hash
 */
export async function checkStore(config: Config, isDeep: boolean): Promise<StoreFinding> {
  const { dataDir, mongodbUrl } = config
  try {
    return mongodbUrl === null ? await checkEmbedded(dataDir, isDeep) : await checkMongodb(mongodbUrl)
  } catch (error) {
    const { name, message } = error as Error
    if (error instanceof DamagedRecordError)
      return { finding: problem(message, DAMAGED_RECORD_FIX), isReadable: true, newestEntryAt: null }
    const otherwise = mongodbUrl === null ? EMBEDDED_FIX : MONGODB_FIX
    return { finding: problem(message, FIXES[name] ?? otherwise), isReadable: false, newestEntryAt: null }
  }
}

async function checkEmbedded(dataDir: string, isDeep: boolean): Promise<StoreFinding> {
  const path = join(dataDir, 'countersign.db')
  if (!existsSync(path) && !existsSync(`${path}-wal`))
    return { finding: fine('There is none yet. The first start creates it.'), isReadable: true, newestEntryAt: null }
  await (isDeep ? assertSoundThroughout(path) : assertStartable(path))
  const { schema, knownSchema, newestEntryAt } = inspectSqliteStore(path)
  const read = isDeep ? 'was read completely' : 'can be read'
  return { finding: fine(`${path} ${read}, ${versionText(schema, knownSchema)}.`), isReadable: true, newestEntryAt }
}

function versionText(schema: number, knownSchema: number): string {
  const version = `schema version ${schema}`
  return schema === knownSchema ? version : `${version}; the next start migrates it to ${knownSchema}`
}

const DAMAGED_RECORD_FIX = 'undo the edit, or restore a backup: countersign restore <file>.'

const FIXES: Readonly<Record<string, string>> = {
  NewerSchemaError: 'start the release that wrote it, or a newer release.',
  FolderInPlaceError: 'move it away, and restore a backup: countersign restore <file>.',
  ForeignDatabaseError: 'set DATA_DIR to another directory.',
  DamagedStoreError: 'move the data directory away and restore a backup: countersign restore <file>.',
  MovedStoreError: 'complete the move or undo it (countersign migrate), or use the store that has the data.',
  UnfitDatabaseError: 'use a MongoDB, or unset MONGODB_URL to use the embedded store.',
  UncheckedStoreError: 'fix what prevented the read, then run doctor --deep again.',
}

async function checkMongodb(url: string): Promise<StoreFinding> {
  const { inspectMongoStore } = await import('../../stores/mongodb/inspect.js')
  const { address, version, isReplicated, schema, knownSchema, newestEntryAt } = await inspectMongoStore(url)
  const state = schema === null ? 'unused; the first start creates its collections' : versionText(schema, knownSchema)
  const text = `MongoDB ${version} at ${address} answers, ${state}`
  const fix = 'make it a replica set of at least one node: rs.initiate().'
  const finding = isReplicated
    ? fine(`${text}.`)
    : problem(`${text}, but is not a replica set: when it is down, no decision is made.`, fix)
  return { finding, isReadable: true, newestEntryAt }
}

const EMBEDDED_FIX = 'find out why this user cannot read it.'
const MONGODB_FIX = 'start it, and check the hosts, the user and the password in MONGODB_URL.'

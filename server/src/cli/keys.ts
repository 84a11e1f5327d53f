import { KeyCreateSchema, validate } from '@countersign/contract'
import { generateKeyText, secretOf } from '../api-key-text.js'
import type { Config } from '../config.js'
import type { CommandResult, CreateKeyCommand } from '../ports/admin-command.js'
import { Changes } from '../state/changes.js'
import { Keys } from '../state/keys.js'
import { createKeyByCommand } from '../use-cases/keys/create-by-command.js'
import { EXIT, failure, usageError } from './exit.js'
import { sendAdminCommand } from './send-admin-command.js'
import { serverData } from './server-data.js'
import { withStore } from './with-store.js'

export interface KeysCreateOptions {
  readonly name: string
  readonly scope: readonly string[]
  readonly agent?: readonly string[]
  readonly expires?: string
}

const DEADLINE_MS = 10_000
/** A running server polls its admin commands twice a second. */
const RESULT_MS = 1_500

/** Creates an API key on the server's machine, whether the server runs or not, and prints only its text. */
export async function keysCreate(options: KeysCreateOptions): Promise<number> {
  const checked = validate(KeyCreateSchema, {
    name: options.name,
    scopes: options.scope,
    agents: options.agent ?? null,
    expires_at: options.expires ?? null,
  })
  if (!checked.ok) {
    const faults = checked.errors.map(({ pointer, detail }) => `${pointer.slice(1)} ${detail}`)
    throw usageError(`The key is not valid: ${faults.join('; ')}.`)
  }
  const text = generateKeyText()
  const result = await create(serverData(), { key: checked.value, secret: secretOf(text) })
  if (result === null) throw failure('The running server did not create the key in time. Its log says why.')
  if ('refused' in result) throw failure(`The key was not created: ${result.refused}`)
  process.stdout.write(`${text}\n`)
  return EXIT.ok
}

/**
 * Either a server, which takes admin commands, or another command, which soon releases it, holds the data directory.
 * Repeated attempts create only one key.
 */
async function create(config: Config, command: CreateKeyCommand): Promise<CommandResult | null> {
  const end = performance.now() + DEADLINE_MS
  for (;;) {
    const result =
      (await createInStore(config, command)) ?? (await sendAdminCommand(config.dataDir, command, RESULT_MS))
    if (result !== null || performance.now() > end) return result
  }
}

function createInStore(config: Config, command: CreateKeyCommand): Promise<CommandResult | null> {
  return withStore(config, async ({ store, writer, clock, ids }) => {
    const keys = new Keys(await store.keys.load(), new Map())
    const changes = new Changes({ reload: async () => keys.load(await store.keys.load()) })
    return createKeyByCommand({ clock, ids, keys, writer, changes }, command)
  })
}

import { findKeyring } from '../../adapters/keyring/keyring.js'
import { areForeign, knownKeysFile } from '../../adapters/keyring/known-keys.js'
import { systemClock } from '../../adapters/system-clock.js'
import { type Finding, fine, problem } from './finding.js'

/** Whether the keys exist, are intact and private; and which one signs. */
export async function checkSigningKeys(
  dataDir: string,
  isStoreUsed: boolean,
): Promise<{ readonly finding: Finding; readonly activeKid: string | null }> {
  try {
    const keyring = await findKeyring({ dataDir, clock: systemClock() })
    const active = keyring?.list().find(({ state }) => state === 'active')
    const kids = keyring?.list().map(({ kid }) => kid) ?? []
    if (active !== undefined && (await areForeign(dataDir, kids)))
      return { finding: foreign(active.kid, knownKeysFile(dataDir)), activeKid: active.kid }
    if (active !== undefined) return { finding: fine(`${active.kid} signs.`), activeKid: active.kid }
    const finding = isStoreUsed ? MISSING : fine('There are none yet. The first start creates them.')
    return { finding, activeKid: null }
  } catch (error) {
    const finding = problem((error as Error).message, `restore ${dataDir}/signing-keys.json with mode 0600.`)
    return { finding, activeKid: null }
  }
}

function foreign(kid: string, file: string): Finding {
  return problem(
    `${kid} signs, and this server has had other keys: signing-keys.json was removed or replaced.`,
    `restore it from your backup. If the keys were replaced on purpose, remove ${file}.`,
  )
}

const MISSING = problem(
  'signing-keys.json is missing, but the store has been used.',
  'restore it from your backup. Without it the next start creates new keys, and earlier permits no longer verify.',
)

import { findKeyring } from '../../adapters/keyring/keyring.js'
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
    if (active !== undefined) return { finding: fine(`${active.kid} signs.`), activeKid: active.kid }
    const finding = isStoreUsed ? MISSING : fine('There are none yet. The first start creates them.')
    return { finding, activeKid: null }
  } catch (error) {
    const finding = problem((error as Error).message, `restore ${dataDir}/signing-keys.json with mode 0600.`)
    return { finding, activeKid: null }
  }
}

const MISSING = problem(
  'signing-keys.json is missing, but the store has been used.',
  'restore it from your backup. Without it the next start creates new keys, and earlier permits no longer verify.',
)
